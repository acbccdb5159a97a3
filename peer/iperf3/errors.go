package iperf3

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"syscall"
)

// What ends a test, in iperf3's words, for callers that branch on it with
// errors.Is.
var (
	ErrBusy             = errors.New("the server is busy running a test. try again later")
	ErrNoAnswer         = errors.New("the server closed the connection before the test began: it is busy, restarting, or not iperf3")
	ErrClosed           = errors.New("control socket has closed unexpectedly")
	ErrServerTerminated = errors.New("the server has terminated")
	ErrClientTerminated = errors.New("the client has terminated")
	ErrMessage          = errors.New("received an unknown control message (ensure other side is iperf3 and not iperf)")
)

// RemoteError is what a server says went wrong.
type RemoteError struct {
	Number Number
	Errno  int32 // of the server's system, 0: none or unknown
}

// Error is the text as iperf3's client shows it.
func (e *RemoteError) Error() string {
	text := "SERVER ERROR - " + e.Number.String()
	if e.Errno > 0 {
		text += ", errno: " + errnoText(e.Errno)
	}
	return text
}

// errnoText is for the numbers of Linux, which most servers run on; other systems
// have words of their own for them.
func errnoText(n int32) string {
	if runtime.GOOS != "linux" {
		return strconv.Itoa(int(n))
	}
	return syscall.Errno(n).Error()
}

// Refusal is why a server turns a test down.
type Refusal struct {
	Number Number // for the client, which knows only the numbers
	Says   string // a sentence for the log
}

func (r *Refusal) Error() string { return r.Says }

func refuse(n Number, format string, args ...any) *Refusal {
	return &Refusal{Number: n, Says: n.String() + ": " + fmt.Sprintf(format, args...)}
}
