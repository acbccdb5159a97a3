package flow

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/printable"
)

// owners finds the processes that hold sockets. The kernel says of a socket
// only its inode, so all open files of all processes have to be read.
type owners struct {
	root     string // "/proc"
	next     time.Time
	finished time.Time
	complete bool // the last scan saw every process there is
	denied   int  // processes it might not look into
}

const (
	// scanShare is the part of a core that scans may take: after one of 30 ms
	// (10,000 sockets) the next is due in 6 s.
	scanShare = 0.005
	// stale is when even known owners are looked up again: a server may have
	// handed a connection to a child.
	stale = time.Minute
	// maxFiles bounds the open files of one scan.
	maxFiles = 4 << 20
)

// due says whether it is time to scan, given that there are sockets without a
// known owner or not.
func (o *owners) due(now time.Time, unknown bool) bool {
	return !now.Before(o.next) && (unknown || now.Sub(o.finished) > stale)
}

// scan calls found for every socket that a process holds, until the context
// ends.
func (o *owners) scan(ctx context.Context, wanted func(inode uint32) bool, found func(inode uint32, pid int, program string)) error {
	began := time.Now()
	defer func() {
		o.finished = time.Now()
		o.next = o.finished.Add(max(time.Second, time.Duration(float64(o.finished.Sub(began))/scanShare)))
	}()
	o.denied, o.complete = 0, false
	processes, err := os.ReadDir(o.root)
	if err != nil {
		return fmt.Errorf("list processes: %w", err)
	}
	files := 0
	buffer := make([]byte, 32<<10)
	for _, p := range processes {
		if ctx.Err() != nil || files > maxFiles {
			return ctx.Err()
		}
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue // not a process
		}
		program := ""
		err = sockets(filepath.Join(o.root, p.Name(), "fd"), buffer, &files, func(inode uint32) {
			if !wanted(inode) {
				return
			}
			if program == "" {
				program = o.program(p.Name())
			}
			found(inode, pid, program)
		})
		if os.IsPermission(err) {
			o.denied++
		}
	}
	o.complete = o.denied == 0 && os.Geteuid() == 0 && initialPIDs(o.root)
	return nil
}

// sockets calls each for every socket among the open files of a process.
func sockets(dir string, buffer []byte, files *int, each func(inode uint32)) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var link [64]byte
	names := make([]string, 0, 256)
	for {
		n, err := unix.ReadDirent(fd, buffer)
		if n <= 0 || err != nil {
			return err // it has ended, or all were read
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names[:0])
		*files += len(names)
		for _, name := range names {
			n, err := unix.Readlinkat(fd, name, link[:])
			if err != nil {
				continue // closed meanwhile
			}
			if inode, ok := socketInode(link[:n]); ok {
				each(inode)
			}
		}
		if *files > maxFiles {
			return nil
		}
	}
}

// socketInode reads what the link of an open socket says: "socket:[12345]".
func socketInode(link []byte) (uint32, bool) {
	digits, ok := bytes.CutPrefix(link, []byte("socket:["))
	if !ok || len(digits) < 2 || digits[len(digits)-1] != ']' {
		return 0, false
	}
	inode := uint64(0)
	for _, c := range digits[:len(digits)-1] {
		if c < '0' || c > '9' || inode > 1<<32 {
			return 0, false
		}
		inode = inode*10 + uint64(c-'0')
	}
	return uint32(inode), inode < 1<<32
}

// program is the name that a process goes by: of its program, unless it chose
// another. The kernel keeps 15 bytes of it.
func (o *owners) program(pid string) string {
	raw, err := os.ReadFile(filepath.Join(o.root, pid, "comm"))
	if err != nil {
		return ""
	}
	return printable.Line(string(bytes.TrimSuffix(raw, []byte("\n"))))
}

// initialPIDs says whether this process is in the machine's first PID namespace
// (PROC_PID_INIT_INO, include/linux/proc_ns.h). In another, such as a
// container's, sockets of processes outside cannot be distinguished from the kernel's.
func initialPIDs(root string) bool {
	link, err := os.Readlink(filepath.Join(root, "self/ns/pid"))
	return err == nil && link == "pid:[4026531836]"
}
