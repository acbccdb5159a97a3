package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// runCommands is a host without namespaces: a process that runs commands.
func runCommands() error {
	// As an agent does: commands would inherit that a signal is ignored, as SIGHUP is under nohup(1).
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP)
	listener, err := net.Listen("unix", os.Getenv("TEST_SOCKET"))
	if err != nil {
		return err
	}
	fmt.Println("listening")
	newRunner([]string{"FULLBORE_HOST=x", "FULLBORE_LAB=test"}).serve(listener)
	return nil
}

// commandsOf gives a host that only runs commands. It needs no privileges.
func commandsOf(t *testing.T) *Host {
	t.Helper()
	h := &Host{name: "x", agent: agent{socket: filepath.Join(t.TempDir(), "x")}}
	host := as("commands", "TEST_SOCKET="+h.socket)
	if line := firstLine(t, host); line != "listening" {
		t.Fatalf("the host says %q", line)
	}
	t.Cleanup(func() {
		_ = host.Process.Kill()
		_ = host.Wait() // "killed"
	})
	return h
}

// A command ends as a shell would say, and Wait says it to all who ask.
func TestCommandEnds(t *testing.T) {
	h := commandsOf(t)
	for line, want := range map[string]string{
		"exit 0":          "<nil>",
		"exit 7":          "exit status 7",
		"kill -TERM $$":   "ended by signal SIGTERM",
		"kill -KILL $$":   "ended by signal SIGKILL",
		"exit 255":        "exit status 255",
		"(exit 9) & wait": "<nil>",
	} {
		cmd := h.Command(bounded(t), "sh", "-c", line)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := cmd.Wait(); fmt.Sprint(err) != want {
				t.Errorf("%s: %v, want %s", line, err, want)
			}
		}
	}
	exit := new(ExitError)
	if err := h.Command(bounded(t), "sh", "-c", "kill -TERM $$").Run(); !errors.As(err, &exit) || exit.Code != 143 {
		t.Errorf("after SIGTERM: %+v, want 128 and 15", exit)
	}
}

// What cannot be started says why; and nothing that was opened for it stays open.
func TestCommandRefused(t *testing.T) {
	h := commandsOf(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plain"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	gone := &Host{name: "y", agent: agent{socket: filepath.Join(dir, "y")}}
	for _, test := range []struct {
		name string
		cmd  *Cmd
		want string
	}{
		{"not in PATH", &Cmd{Args: []string{"plain"}, Env: []string{"PATH=" + dir}}, `lab host x: run plain: not found in PATH "` + dir + `"`},
		{"no PATH", &Cmd{Args: []string{"sh"}, Env: []string{}}, `lab host x: run sh: not found in PATH ""`},
		{"a directory in PATH", &Cmd{Args: []string{filepath.Base(dir)}, Env: []string{"PATH=" + filepath.Dir(dir)}}, "not found in PATH"},
		{"not executable", &Cmd{Args: []string{filepath.Join(dir, "plain")}}, "permission denied"},
		{"no such directory", &Cmd{Args: []string{"true"}, Dir: filepath.Join(dir, "none")}, "no such file or directory"},
		{"nothing to run", &Cmd{}, "lab host x: no command given"},
		{"its context has ended", &Cmd{Args: []string{"true"}, ctx: ended}, "context canceled"},
		{"no host", &Cmd{Args: []string{"true"}, host: gone}, "start command on lab host y: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			read, write := io.Pipe()
			defer func() { _ = write.Close() }()
			c := test.cmd
			c.Stdin, c.Stdout = read, io.Discard
			if c.host == nil {
				c.host = h
			}
			if c.ctx == nil {
				c.ctx = bounded(t)
			}
			if err := c.Start(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if err := c.Wait(); err == nil || err.Error() != "wait for command: not started" {
				t.Errorf("wait: %v", err)
			}
			if err := c.Signal(unix.SIGTERM); err == nil || err.Error() != "signal command: not started" {
				t.Errorf("signal: %v", err)
			}
			for _, pipe := range c.pipes {
				if err := pipe.Close(); !errors.Is(err, os.ErrClosed) {
					t.Errorf("a pipe is still open: %v", err)
				}
			}
		})
	}
	again := h.Command(bounded(t), "true")
	if err := again.Run(); err != nil {
		t.Fatal(err)
	}
	if err := again.Start(); err == nil || err.Error() != "start command: already started" {
		t.Errorf("started again: %v", err)
	}
}

// A command has this process's directory and environment, unless it was given others,
// and what the host adds, each name once. It is found as a shell in its directory
// would find it.
func TestCommandSurroundings(t *testing.T) {
	h := commandsOf(t)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "own"), []byte("#!/bin/sh\necho own in $PWD\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FULLBORE_HOST", "another lab's")
	t.Setenv("TEST_MINE", "mine")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, dir string
		env, args []string
		want      string
	}{
		{"as here", "", nil, []string{"sh", "-c", "echo $FULLBORE_HOST $FULLBORE_LAB $TEST_MINE; env | grep -c ^FULLBORE_HOST=; pwd"}, "x test mine\n1\n" + here + "\n"},
		{"as given", dir, []string{"PATH=/bin:/usr/bin", "A=b"}, []string{"sh", "-c", "echo $A-$TEST_MINE; pwd"}, "b-\n" + dir + "\n"},
		{"a relative PATH", dir, []string{"PATH=/none:bin"}, []string{"own"}, "own in " + dir + "\n"},
		{"the last PATH of two", dir, []string{"PATH=/none", "PATH=bin"}, []string{"own"}, "own in " + dir + "\n"},
		{"with a slash, whatever PATH is", dir, []string{"PATH=/none"}, []string{"bin/own"}, "own in " + dir + "\n"},
	} {
		var out bytes.Buffer
		cmd := h.Command(bounded(t), test.args[0], test.args[1:]...)
		cmd.Dir, cmd.Env, cmd.Stdout = test.dir, test.env, &out
		if err := cmd.Run(); err != nil || out.String() != test.want {
			t.Errorf("%s: %q, %v, want %q", test.name, out.String(), err, test.want)
		}
	}
}

// refusing is a writer that takes nothing.
type refusing struct{}

func (refusing) Write([]byte) (int, error) { return 0, errors.New("full") }

// unequal is a writer that cannot be compared.
type unequal struct{ parts []*bytes.Buffer }

func (u unequal) Write(p []byte) (int, error) { return u.parts[0].Write(p) }

// Input comes from a reader, a file or nothing; output goes to a writer, a file or
// nothing, and both outputs may be one, in the order in which they were written.
func TestCommandFiles(t *testing.T) {
	h := commandsOf(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("of a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	opened, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()
	run := func(line string, in io.Reader, out, errs io.Writer) {
		t.Helper()
		cmd := h.Command(bounded(t), "sh", "-c", line)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	var out, errs bytes.Buffer
	run("cat; echo told >&2", strings.NewReader("typed"), &out, &errs)
	run("cat", opened, &out, nil)
	run("cat; echo lost >&2", nil, &out, nil)
	if out.String() != "typedof a file" || errs.String() != "told\n" {
		t.Errorf("printed %q, and as errors %q", out.String(), errs.String())
	}
	out.Reset()
	run("for i in 1 2 3; do echo o$i; echo e$i >&2; done", nil, &out, &out)
	if want := "o1\ne1\no2\ne2\no3\ne3\n"; out.String() != want {
		t.Errorf("both at once: %q, want %q", out.String(), want)
	}
	out.Reset()
	both := unequal{[]*bytes.Buffer{&out}}
	run("echo once", nil, both, both)
	if out.String() != "once\n" {
		t.Errorf("to writers that cannot be compared: %q", out.String())
	}
	run("printf ' written' >&2; echo lost", nil, nil, opened)
	if text, err := os.ReadFile(file); err != nil || string(text) != "of a file written" {
		t.Errorf("in the file is %q, %v", text, err)
	}
	slowly := new(slow)
	run("head -c 300000 /dev/zero", nil, slowly, nil)
	if slowly.got != 300000 {
		t.Errorf("a slow writer got %d bytes", slowly.got)
	}
	// More than pipes hold, which nobody reads, or writes.
	run("head -c 1000000 /dev/zero; echo done", nil, refusing{}, nil)
	run("true", io.LimitReader(zeros{}, 1e6), nil, nil)
}

// slow is a writer that takes its time.
type slow struct{ got int }

func (s *slow) Write(p []byte) (int, error) {
	time.Sleep(5 * time.Millisecond)
	s.got += len(p)
	return len(p), nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// The signals for a command are for all that it runs; the end of its context kills
// it, and the end of its caller hangs up on it, as a terminal's does.
func TestCommandSignals(t *testing.T) {
	h := commandsOf(t)
	const traps = `trap 'echo hup; exit 3' HUP; trap 'echo int; exit 4' INT; echo ready; while :; do sleep 0.01; done`
	began := func(ctx context.Context, line string) (*Cmd, *os.File) {
		t.Helper()
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := h.Command(ctx, "sh", "-c", line)
		cmd.Stdout = write
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_ = write.Close()
		t.Cleanup(func() { _ = read.Close() })
		if err := read.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if line := next(t, read); line != "ready\n" {
			t.Fatalf("it says %q", line)
		}
		return cmd, read
	}

	cmd, _ := began(bounded(t), traps)
	if group, err := unix.Getpgid(cmd.PID()); err != nil || group != cmd.PID() || group == unix.Getpgrp() {
		t.Errorf("process %d is in group %d, %v, want one of its own", cmd.PID(), group, err)
	}
	if err := cmd.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); fmt.Sprint(err) != "exit status 4" {
		t.Errorf("after SIGINT: %v", err)
	}
	if err := cmd.Signal(other{}); err == nil {
		t.Error("what is no signal was sent")
	}

	child, said := began(bounded(t), "sleep 30 & echo ready; wait; wait; exit 5")
	if err := child.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); fmt.Sprint(err) != "ended by signal SIGTERM" {
		t.Errorf("after SIGTERM: %v", err)
	}
	if rest, err := io.ReadAll(said); len(rest) > 0 || err != nil { // its end is that of the last who could write
		t.Errorf("what it ran goes on: %q, %v", rest, err)
	}

	daemon, said := began(bounded(t), "(sleep 0.05; echo served) & echo ready")
	if err := daemon.Wait(); err != nil {
		t.Error(err)
	}
	if line := next(t, said); line != "served\n" { // it was not hung up on
		t.Errorf("what was left behind says %q", line)
	}

	ctx, cancel := context.WithCancel(bounded(t))
	killed, _ := began(ctx, `trap '' INT TERM HUP; echo ready; while :; do sleep 0.01; done`)
	cancel()
	if err := killed.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context: %v", err)
	}

	left, said := began(bounded(t), "sleep 30 & "+traps)
	_ = left.agent.conn.Close() // as when the caller's process ends
	if line := next(t, said); line != "hup\n" {
		t.Errorf("without a caller it says %q", line)
	}
	if rest, err := io.ReadAll(said); len(rest) > 0 || err != nil {
		t.Errorf("what it ran goes on: %q, %v", rest, err)
	}
	if err := left.Wait(); err == nil || !strings.Contains(err.Error(), "lab host x ended while sh ran") {
		t.Errorf("without a connection: %v", err)
	}
}

// other is a signal of no number.
type other struct{}

func (other) Signal()        {}
func (other) String() string { return "other" }

// next reads one line of what a command writes.
func next(t *testing.T, from io.Reader) string {
	t.Helper()
	var line []byte
	for one := make([]byte, 1); !bytes.HasSuffix(line, []byte("\n")); line = append(line, one[0]) {
		if _, err := from.Read(one); err != nil {
			t.Fatalf("after %q: %v", line, err)
		}
	}
	return string(line)
}

// signalling sends this process a signal once a command has begun.
type signalling struct {
	said   bytes.Buffer
	signal syscall.Signal
}

func (s *signalling) Write(p []byte) (int, error) {
	if s.said.Len() == 0 {
		_ = unix.Kill(os.Getpid(), s.signal)
	}
	return s.said.Write(p)
}

// A command in the foreground gets the signals that this process gets.
func TestForeground(t *testing.T) {
	h := commandsOf(t)
	for name, number := range map[string]syscall.Signal{
		"HUP": unix.SIGHUP, "INT": unix.SIGINT, "QUIT": unix.SIGQUIT, "TERM": unix.SIGTERM, "USR1": unix.SIGUSR1, "USR2": unix.SIGUSR2, "WINCH": unix.SIGWINCH,
	} {
		out := &signalling{signal: number}
		cmd := h.Command(bounded(t), "sh", "-c", "trap 'echo "+name+"; exit 4' "+name+"; echo ready; while :; do sleep 0.01; done")
		cmd.Stdout = out
		if err := cmd.RunForeground(); fmt.Sprint(err) != "exit status 4" || out.said.String() != "ready\n"+name+"\n" {
			t.Errorf("after SIG%s: %v, it says %q", name, err, out.said.String())
		}
	}
	if err := h.Command(bounded(t), "no-such-command").RunForeground(); err == nil {
		t.Error("ran what does not exist")
	}
}

// Whoever connects and asks for no command, or for one with other files than stdin,
// stdout and stderr, gets no answer, and the next one does.
func TestCommandAsked(t *testing.T) {
	h := commandsOf(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(m *message, files int) (*message, error) {
		t.Helper()
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: h.socket, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		caller := &peer{conn: conn}
		if err := caller.send(m, slices.Repeat([]*os.File{write}, files)...); err != nil {
			t.Fatal(err)
		}
		reply, _, err := caller.receive()
		return reply, err
	}
	run := &message{Run: &command{Args: []string{"/bin/true"}, Dir: "/"}}
	for files := range maxFiles {
		if reply, err := ask(run, files); err == nil {
			t.Errorf("with %d files: %+v", files, reply)
		}
	}
	if reply, err := ask(&message{Query: true}, maxFiles); err == nil {
		t.Errorf("without a command: %+v", reply)
	}
	if reply, err := ask(run, maxFiles); err != nil || reply.Started <= 0 {
		t.Errorf("with three files: %+v, %v", reply, err)
	}
	_ = write.Close()
	_ = read.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := read.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the host keeps what it was given: %v", err)
	}
}
