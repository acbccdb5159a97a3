package lab

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// runner starts the commands of a host and, being the first process of its
// namespace, also reaps whatever they leave behind.
type runner struct {
	environment []string // added to every command's

	lock    sync.Mutex // held from fork to registration, so that no exit is missed
	waiting map[int]chan syscall.WaitStatus
}

func newRunner(environment []string) *runner {
	r := &runner{environment: environment, waiting: map[int]chan syscall.WaitStatus{}}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD) // before there can be a child
	go r.reap(ended)
	return r
}

// reap collects every child's exit, and notifies who waits for it.
func (r *runner) reap(ended <-chan os.Signal) {
	for range ended {
		for {
			var status syscall.WaitStatus
			r.lock.Lock()
			pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
			waiter := r.waiting[pid]
			delete(r.waiting, pid)
			r.lock.Unlock()
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			if err != nil || pid == 0 {
				break // no more have ended
			}
			if waiter != nil {
				waiter <- status
			}
		}
	}
}

// serve runs the commands of everyone who calls.
func (r *runner) serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return // the agent is about to exit
		}
		if unixConn, ok := conn.(*net.UnixConn); ok {
			go r.answer(&peer{conn: unixConn})
		}
	}
}

// answer runs one command for one caller.
func (r *runner) answer(caller *peer) {
	defer func() { _ = caller.conn.Close() }()
	request, files, err := caller.receive()
	if err != nil || request.Run == nil || len(files) != maxFiles {
		closeAll(files)
		return
	}
	pid, ended, err := r.start(request.Run, files)
	closeAll(files)
	if err != nil {
		_ = caller.send(&message{Error: err.Error()}) // if this fails the caller has gone
		return
	}
	_ = caller.send(&message{Started: pid})

	over := make(chan struct{}) // the process has been reaped: its number may be another's
	go func() {
		for {
			request, _, err := caller.receive()
			select {
			case <-over:
				return
			default:
			}
			if err != nil {
				_ = unix.Kill(-pid, unix.SIGHUP) // as when a terminal closes
				return
			}
			_ = unix.Kill(-pid, request.Signal)
		}
	}()
	status := <-ended
	close(over)
	_ = caller.send(&message{Exit: exitOf(status)})
}

// start executes a command in a session of its own.
func (r *runner) start(c *command, files []*os.File) (pid int, ended chan syscall.WaitStatus, err error) {
	if len(c.Args) == 0 {
		return 0, nil, errors.New("no command given")
	}
	// Each name once: C and Go programs take the first of two, shells the last.
	env := (&exec.Cmd{Env: slices.Concat(c.Env, r.environment), Dir: c.Dir}).Environ()
	name, err := lookPath(c.Args[0], c.Dir, env)
	if err != nil {
		return 0, nil, err
	}
	attr := &syscall.ProcAttr{Dir: c.Dir, Env: env, Sys: &syscall.SysProcAttr{Setsid: true}}
	for _, file := range files {
		attr.Files = append(attr.Files, file.Fd())
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	pid, err = syscall.ForkExec(name, c.Args, attr)
	if err != nil {
		return 0, nil, fmt.Errorf("run %s: %w", c.Args[0], err)
	}
	ended = make(chan syscall.WaitStatus, 1)
	r.waiting[pid] = ended
	return pid, ended, nil
}

// lookPath finds a command as a shell in dir with that environment would.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := ""
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
		}
	}
	for _, place := range filepath.SplitList(path) {
		file := filepath.Join(place, name)
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && unix.Access(file, unix.X_OK) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("run %s: not found in PATH %q", name, path)
}

// exitOf says how a process ended as a shell would.
func exitOf(status syscall.WaitStatus) *ExitError {
	if status.Signaled() {
		return &ExitError{Code: 128 + int(status.Signal()), Signal: unix.SignalName(status.Signal())}
	}
	return &ExitError{Code: status.ExitStatus()}
}
