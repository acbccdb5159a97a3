package bulk

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

func newSendPath(path SendPath, sock *socket, p *payload) (outlet, error) {
	if path == SendZeroCopy {
		return newZeroCopy(sock, p.bytes)
	}
	p.once.Do(func() { p.file, p.err = memoryFile(p.bytes) })
	if p.err != nil {
		return nil, p.err
	}
	return fileOut{sock, int(p.file.Fd())}, nil
}

// memoryFile is a file in memory that holds bytes (Linux 3.17).
func memoryFile(bytes []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("fullbore-payload", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), "fullbore-payload")
	if _, err := file.Write(bytes); err != nil {
		file.Close()
		return nil, fmt.Errorf("fill a file in memory: %w", err)
	}
	return file, nil
}

// fileOut sends from a file: the kernel refers to the pages of its cache.
type fileOut struct {
	sock *socket
	file int
}

func (f fileOut) write(n int) (int, error) {
	var from int64 // all streams have one file: its own offset is not used
	sent, err := unix.Sendfile(f.sock.fd, f.file, &from, n)
	if err != nil {
		return 0, ticked(err)
	}
	return sent, nil
}

func (fileOut) settle(*Stream) {}

func newRecvPath(path RecvPath, sock *socket, length int, sink bool) (inlet, error) {
	if path == RecvSplice {
		return newSpliceIn(sock, length)
	}
	if sink {
		length = max(length, truncateLength)
	}
	return truncateIn{sock, length}, nil
}

// truncateLength is how much a truncating receiver takes at once, so that one
// call does for all that is there: 1 ms at 34 Gb/s, after which it looks at the
// clock.
const truncateLength = 4 << 20

// truncateIn lets the kernel drop the bytes.
type truncateIn struct {
	sock   *socket
	length int
}

func (t truncateIn) read() (int, error) {
	// There is no buffer: should a kernel want to write to it, the call fails.
	call := unix.Syscall6
	if t.sock.own {
		call = unix.RawSyscall6
	}
	n, _, errno := call(unix.SYS_RECVFROM, uintptr(t.sock.fd), 0, uintptr(t.length), unix.MSG_TRUNC, 0, 0)
	switch {
	case errno != 0:
		return 0, ticked(errno)
	case n == 0:
		return 0, io.EOF
	}
	return int(n), nil
}

func (truncateIn) close() {}

// spliceIn moves the pages of what arrived to a pipe, and from there to where
// nothing is kept.
type spliceIn struct {
	sock    *socket
	length  int
	in, out int // the pipe's ends
	nowhere int
}

// pipeSize is what an unprivileged process may ask of a pipe by default
// (fs.pipe-max-size): room for 256 pages, where the usual 16 are used up by as
// many small packets.
const pipeSize = 1 << 20

func newSpliceIn(sock *socket, length int) (*spliceIn, error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	s := &spliceIn{sock: sock, length: length, out: ends[0], in: ends[1]}
	// Where it is refused, the usual size does too.
	unix.FcntlInt(uintptr(s.in), unix.F_SETPIPE_SZ, pipeSize) //nolint:errcheck
	var err error
	if s.nowhere, err = unix.Open(os.DevNull, unix.O_WRONLY|unix.O_CLOEXEC, 0); err != nil {
		unix.Close(s.in)
		unix.Close(s.out)
		return nil, fmt.Errorf("open %s: %w", os.DevNull, err)
	}
	return s, nil
}

func (s *spliceIn) read() (int, error) {
	n, err := unix.Splice(s.sock.fd, nil, s.in, nil, s.length, unix.SPLICE_F_MOVE)
	switch {
	case err != nil:
		return 0, ticked(err)
	case n == 0:
		return 0, io.EOF
	}
	for left := int(n); left > 0; {
		gone, err := unix.Splice(s.out, nil, s.nowhere, nil, left, unix.SPLICE_F_MOVE)
		if err != nil && !errors.Is(ticked(err), errTick) {
			return int(n), fmt.Errorf("empty the pipe: %w", err)
		}
		left -= int(max(0, gone))
	}
	return int(n), nil
}

func (s *spliceIn) close() {
	for _, fd := range []int{s.in, s.out, s.nowhere} {
		unix.Close(fd)
	}
}
