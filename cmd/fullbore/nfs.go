package main

import (
	"cmp"
	"errors"
	"runtime"
	"time"

	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/unit"
)

// nfsCmd is what there is to do with NFS.
type nfsCmd struct {
	Diagnose nfsDiagnoseCmd `cmd:"" help:"Say what holds a file's requests back, with evidence; change nothing."`
	Tune     nfsTuneCmd     `cmd:"" help:"Raise windows, connections, requests in flight and server threads until nothing more is gained; keep what helped."`
	Test     nfsTestCmd     `cmd:"" help:"Read or write a file of a server with many requests in flight, and report their rate and latency."`
}

type nfsTestCmd struct {
	nfsFile
	farServer
	repeatFlags
	Time float64 `short:"t" default:"10" placeholder:"SECONDS" help:"Measured time (10)."`
	Omit float64 `short:"O" default:"1" placeholder:"SECONDS" help:"Do not measure the first seconds (1)."`
}

// nfsFile is which file the verbs are about, what to ask of it, and how to tell.
type nfsFile struct {
	nfsRequests
	recordFlags
	Target string `arg:"" optional:"" help:"File: nfs://HOST[:PORT]/EXPORT/FILE[?version=3|4.1|4.2&mountport=N&uid=N&gid=N]; for 'diagnose' and 'tune' also a file of an NFS mount of this host."`
	Lab    string `placeholder:"SCENARIO" help:"Use the two hosts of a scenario instead; host b is a server whose files need no disk."`
	JSON   bool   `short:"J" help:"One JSON document instead of text."`
}

// file gives the one that is named. Of a scenario it is nil: the verb has run there.
func (c *nfsFile) file(app *app, verb string) (*nfs.Target, error) {
	if err := c.checkTags(); err != nil {
		return nil, err
	}
	hint := "see fullbore nfs " + verb + " --help"
	if (c.Target == "") == (c.Lab == "") {
		return nil, &hinted{err: errors.New("name a file of a server, such as nfs://server/export/file, or a scenario with --lab"), hint: hint, code: exitUsage}
	}
	if c.Lab != "" {
		return nil, nfsInLab(app, c.Lab, verb)
	}
	target, err := nfs.ParseTarget(c.Target)
	if err != nil {
		return nil, &hinted{err: err, hint: hint, code: exitUsage}
	}
	return &target, nil
}

// interruptedNFS says so where that is why a verb of NFS ended.
func interruptedNFS(app *app, err error, left string) error {
	if err != nil && app.ctx.Err() != nil {
		return &hinted{err: errors.New("interrupted: " + left), code: exitFailed}
	}
	return err
}

// nfsRequests are what to do with a file, the same for every verb.
type nfsRequests struct {
	Connections int    `default:"1" placeholder:"N" help:"TCP connections (1), at most 64; those that 'tune' begins with."`
	Depth       *int   `placeholder:"N" xor:"flight" help:"Requests in flight, over all connections, at most 4096 ('test': 64; 'tune' begins with 1)."`
	ReadAhead   string `name:"readahead" placeholder:"SIZE" xor:"flight" help:"Ask as Linux's client does for a program that reads in order and for which it reads so much ahead (a mount's read_ahead_kb): two such stretches in flight, in requests of --size (1MiB) at most."`
	Size        string `placeholder:"SIZE" help:"Bytes of each request (4KiB)."`
	Random      bool   `xor:"order" help:"Offsets by chance (the default for requests of less than 64 KiB)."`
	Sequential  bool   `xor:"order" help:"One behind the other (the default for others)."`
	Read        bool   `xor:"op" help:"Read (the default)."`
	Write       bool   `xor:"op" help:"Write instead of reading. This destroys what the file has."`
	Mix         string `xor:"op" placeholder:"SHARE" help:"This share of the requests writes, such as 30%. This destroys what the file has."`
	GetAttr     bool   `name:"getattr" xor:"op" help:"Only look at the file: no data, and mostly no disk."`
	Discard     bool   `help:"Have the kernel drop what is read, without a copy (Linux, MSG_TRUNC), to see what the network and the server can do. Programs get a copy, and so do requests without this."`
	Coalesce    bool   `help:"Take answers several at a time, as a network card coalesces its interrupts (Linux): a request costs this host less, and takes up to a quarter longer."`
	Null        bool   `xor:"op" help:"Only call the server: the network and its threads alone."`
}

// load is what the flags ask for.
func (c *nfsRequests) load(depth int) (nfs.Load, error) {
	if c.Depth != nil {
		depth = *c.Depth
	}
	l := nfs.Load{Op: nfs.Read, Depth: depth}
	size, err := unit.ParseSize(cmp.Or(c.Size, c.usualSize()))
	if err != nil {
		return l, usageError("--size: %w", err)
	}
	l.Size, l.Random = int(size), c.Random || !c.Sequential && size < nfs.InOrderFrom
	if c.ReadAhead != "" {
		if err := c.readAhead(&l); err != nil {
			return l, err
		}
		depth = l.Depth
	}
	switch {
	case c.ReadAhead != "" && (depth < c.Connections || depth > nfs.MaxDepth):
		return l, usageError("--readahead %s in requests of %v puts %d in flight: use so much that there are %d (one a connection) to %d", c.ReadAhead, unit.Size(l.Size), depth, c.Connections, nfs.MaxDepth)
	case c.Connections < 1 || c.Connections > nfs.MaxConnections:
		return l, usageError("--connections %d: use 1 to %d", c.Connections, nfs.MaxConnections)
	case depth < c.Connections || depth > nfs.MaxDepth:
		return l, usageError("--depth %d: use %d (one a connection) to %d", depth, c.Connections, nfs.MaxDepth)
	}
	if l.Discard = c.Discard; c.Discard && (runtime.GOOS != "linux" || c.Write || c.Mix != "" || c.GetAttr || c.Null) {
		return l, usageError("--discard: only what is read can be dropped by the kernel, and only Linux's does it")
	}
	if l.Coalesce = c.Coalesce; c.Coalesce && runtime.GOOS != "linux" {
		return l, usageError("--coalesce: only Linux lets a program sleep until several answers are there")
	}
	switch {
	case c.Write:
		l.Op = nfs.Write
	case c.GetAttr:
		l.Op = nfs.GetAttr
	case c.Null:
		l.Op = nfs.Null
	case c.Mix != "":
		if l.Writes, err = parseShare(c.Mix); err != nil {
			return l, usageError("--mix: %w", err)
		}
	}
	return l, nil
}

// usualSize of requests: small ones, or what Linux's client asks for at most.
func (c *nfsRequests) usualSize() string {
	if c.ReadAhead != "" {
		return "1MiB"
	}
	return "4KiB"
}

// mostReadAhead bounds what is read ahead: more than that no client is known to do.
const mostReadAhead = 1 << 30

// readAhead makes the load that of a program that reads in order.
func (c *nfsRequests) readAhead(l *nfs.Load) error {
	ahead, err := unit.ParseSize(c.ReadAhead)
	switch {
	case err != nil:
		return usageError("--readahead: %w", err)
	case ahead > mostReadAhead:
		return usageError("--readahead %s: use 0 (none) to 1GiB", c.ReadAhead)
	case c.Random || c.Write || c.Mix != "" || c.GetAttr || c.Null:
		return usageError("--readahead is for reads in order: leave --random, --write, --mix, --getattr and --null out")
	case l.Size < 1:
		return usageError("--size %s: use 1 or more", c.Size)
	}
	l.ReadsAhead(ahead)
	return nil
}

// timed is the load with its times.
func (c *nfsTestCmd) timed() (nfs.Load, error) {
	l, err := c.load(64)
	switch {
	case err != nil:
	case !(c.Time > 0 && c.Time <= maxNFSTime.Seconds()):
		err = usageError("--time %v: use more than 0 to %v seconds", c.Time, maxNFSTime.Seconds())
	case !(c.Omit >= 0 && c.Omit <= maxNFSTime.Seconds()):
		err = usageError("--omit %v: use 0 to %v seconds", c.Omit, maxNFSTime.Seconds())
	}
	l.Duration, l.Omit = seconds(c.Time), seconds(c.Omit)
	return l, err
}

// maxNFSTime bounds a test.
const maxNFSTime = time.Hour
