package nfs

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Op is what a request does.
type Op int

// What a request can do.
const (
	Null    Op = iota // nothing: the network and the server's threads alone
	GetAttr           // look at the file: no disk, as a rule
	Read
	Write  // not to stay (UNSTABLE)
	Commit // what was written is to stay
)

var opNames = [...]string{"null", "getattr", "read", "write", "commit"}

func (o Op) String() string { return opNames[o] }

// ParseOp finds what a test can do by its name.
func ParseOp(name string) (Op, error) {
	for _, o := range []Op{Null, GetAttr, Read, Write} {
		if o.String() == name {
			return o, nil
		}
	}
	return Null, fmt.Errorf("a request %.50q: use null, getattr, read or write", name)
}

// Request is one of a file.
type Request struct {
	Op     Op
	Offset int64 // bytes
	Size   int   // bytes, of reads, writes and commits
}

// outcome is what an answer said.
type outcome struct {
	size  int           // bytes read or written
	again time.Duration // the server asked to be called again later than that
}

// page is what a client without read-ahead asks for at once, in bytes, of a program that
// reads through its cache.
const page = 4 << 10

// ReadsAhead makes the load that of a program that reads in order, for which the client reads
// so many bytes ahead, as Linux does it (mm/readahead.c): a request is one such stretch, or as
// large as a request may be; and as the next stretch is asked for when the program comes to
// the first page of the last one, two of them are on their way.
func (l *Load) ReadsAhead(bytes unit.Size) {
	l.ReadAhead, l.Random = &bytes, false
	if bytes == 0 {
		l.Size, l.Depth = page, 1
		return
	}
	l.Size = int(min(unit.Size(l.Size), bytes))
	const stretches = 2
	l.Depth = stretches * int((bytes+unit.Size(l.Size)-1)/unit.Size(l.Size))
}

// askAgain is how long a request rests that the server asked to be sent later: what
// Linux's client begins with (NFS4_POLL_RETRY_MIN, fs/nfs/nfs4_fs.h).
const askAgain = 100 * time.Millisecond

// Status is what a server answered instead of a result.
type Status struct {
	Op   string
	Code uint32
	Name string // as the protocol names it
}

func (s *Status) Error() string {
	name := s.Name
	if name == "" {
		name = fmt.Sprintf("status %d", s.Code)
	}
	if meaning := meanings[s.Name]; meaning != "" {
		name += ": " + meaning
	}
	return s.Op + ": " + name
}

// is says whether an error is that status.
func is(err error, names ...string) bool {
	var s *Status
	if !errors.As(err, &s) {
		return false
	}
	return slices.Contains(names, s.Name)
}

// meanings says what to do about those that people meet.
var meanings = map[string]string{
	"NOENT":               "there is no such file or export",
	"ACCES":               "the server does not let this user or host; see the export's options, and uid= and gid=",
	"PERM":                "the server does not let this user; root is often mapped to nobody (root_squash): see uid= and gid=",
	"ACCESS":              "the server does not let this user or host; see the export's options, and uid= and gid=",
	"NOTDIR":              "a part of the path is a file",
	"ISDIR":               "this is a folder: name a file in it",
	"ROFS":                "the export can only be read",
	"NOSPC":               "the server's file system is full",
	"DQUOT":               "the quota on the server is used up",
	"STALE":               "the file is gone, or the export",
	"WRONGSEC":            "the server asks for another kind of identity than AUTH_SYS, such as Kerberos",
	"CLID_INUSE":          "the server has a client of the same name",
	"RESOURCE":            "the server has too many clients",
	"SERVERFAULT":         "the server has an error of its own; see its log",
	"MINOR_VERS_MISMATCH": "the server does not have this version of NFS",
}
