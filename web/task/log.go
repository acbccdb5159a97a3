package task

import (
	"errors"
	"os"
	"path/filepath"
)

// log is what a child writes for people. It is a file, as a pipe would break where this
// process is killed, and whoever writes to a broken stderr dies of SIGPIPE, before
// anything is put back.
type log struct {
	dir  string
	file *os.File
	at   int64
	tail tail
}

func newLog() (*log, error) {
	dir, err := os.MkdirTemp("", "fullbore") // for this user only
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, "stderr"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	_ = os.RemoveAll(dir) // where open files can be removed nothing is left behind
	return &log{dir: dir, file: file}, nil
}

func (l *log) close() { _ = errors.Join(l.file.Close(), os.RemoveAll(l.dir)) }

// mostLog is what the file may take, in bytes, before it is emptied.
const mostLog = 1 << 20

// read takes what is new; false: nothing.
func (l *log) read() bool {
	read := false
	for chunk := make([]byte, 32<<10); ; {
		n, err := l.file.ReadAt(chunk, l.at)
		l.at += int64(n)
		l.tail.add(chunk[:n])
		read = read || n > 0
		if err != nil || n == 0 {
			break
		}
	}
	if l.at > mostLog && l.file.Truncate(0) == nil {
		l.at = 0
	}
	return read
}

func (l *log) last() []string { return l.tail.last() }
