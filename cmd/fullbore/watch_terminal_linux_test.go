package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestWatchTerminal: however watching on a terminal ends, the terminal is then as
// it was.
func TestWatchTerminal(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(*terminal, *os.Process) error
	}{
		{"q", func(term *terminal, _ *os.Process) error { return term.types("q") }},
		{"Ctrl-C", func(term *terminal, _ *os.Process) error { return term.types("\x03") }},
		{"SIGTERM", func(_ *terminal, p *os.Process) error { return p.Signal(syscall.SIGTERM) }},
		{"SIGINT", func(_ *terminal, p *os.Process) error { return p.Signal(os.Interrupt) }},
		{"--count", func(*terminal, *os.Process) error { return nil }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			term := openTerminal(t, 80, 24)
			before := term.settings(t)
			args := []string{"watch", "--all", "--interval", "200ms"}
			if test.name == "--count" {
				args = append(args, "--count", "10")
			}
			command := term.start(t, args...)
			term.awaits(t, "FAR END")
			if err := unix.IoctlSetWinsize(int(term.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 100, Row: 30}); err != nil {
				t.Fatal(err)
			}
			term.awaits(t, "RESENT") // there is room for it now
			if err := test.end(term, command.Process); err != nil {
				t.Fatal(err)
			}
			if err := command.Wait(); err != nil {
				t.Errorf("%v: %q", err, term.text())
			}
			if d := cmp.Diff(before, term.settings(t)); d != "" {
				t.Errorf("the terminal's settings are not as they were: %s", d)
			}
			for _, way := range []struct{ says, there, back string }{
				{"the alternate screen", "\x1b[?1049h", "\x1b[?1049l"},
				{"a hidden cursor", "\x1b[?25l", "\x1b[?25h"},
			} {
				term.awaits(t, way.back) // what reads the terminal may lag behind the program
				if text := term.text(); strings.LastIndex(text, way.back) < strings.LastIndex(text, way.there) {
					t.Errorf("it leaves %s behind", way.says)
				}
			}
		})
	}
}

// TestWatchWithoutTerminal: lines for a log, documents for programs, and an end
// when nobody reads any more.
func TestWatchWithoutTerminal(t *testing.T) {
	port := ownFlow(t)

	t.Run("lines", func(t *testing.T) {
		t.Parallel()
		stdout, stderr, code := fullbore(t, "watch", "--interval", "100ms", "--count", "3", "--port", port, "--all")
		heads := regexp.MustCompile(`2 of \d+ flows`).FindAllString(stdout, -1) // this machine's other flows are counted too
		if code != exitDone || len(heads) != 3 || strings.Count(stdout, "127.0.0.1:"+port) != 6 {
			t.Errorf("exit code %d: %s%s", code, stdout, stderr)
		}
	})
	t.Run("a line a document", func(t *testing.T) {
		t.Parallel()
		stdout, stderr, code := fullbore(t, "watch", "--interval", "100ms", "--for", "1s", "--json", "--port", port, "--all")
		if lines := strings.Count(stdout, "\n"); code != exitDone || lines < 1 || lines > 10 || strings.Count(stdout, `{"schema":"fullbore/watch/1"`) != lines {
			t.Errorf("exit code %d: %s%s", code, stdout, stderr)
		}
	})
	t.Run("a process that is not there", func(t *testing.T) {
		t.Parallel()
		stdout, stderr, code := fullbore(t, "watch", "--once", "--process", "fulbore")
		if code != exitDone || !strings.Contains(stderr, `no flow is of the process "fulbore"; these have: `) || strings.Contains(stdout, "RTT") {
			t.Errorf("exit code %d: %s%s", code, stdout, stderr)
		}
	})
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), self(t), "watch", "--interval", "100ms")
			out, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := out.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			_ = command.Process.Signal(signal)
			if err := command.Wait(); err != nil {
				t.Errorf("after %v: %v", signal, err)
			}
		})
	}
	t.Run("a reader that goes", func(t *testing.T) {
		t.Parallel()
		command := exec.CommandContext(t.Context(), self(t), "watch", "--interval", "100ms", "--for", "30s")
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		command.Stdout = writer
		began := time.Now()
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		writer.Close()
		_, _ = reader.Read(make([]byte, 1))
		reader.Close()
		if err := command.Wait(); err == nil || time.Since(began) > 20*time.Second {
			t.Errorf("it went on for %v: %v", time.Since(began), err)
		}
	})
	t.Run("no room", func(t *testing.T) {
		t.Parallel()
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer full.Close()
		for _, flags := range [][]string{{"--json"}, {}, {"--once"}} {
			var stderr bytes.Buffer
			if code := run(append([]string{"watch", "--interval", "100ms"}, flags...), strings.NewReader(""), full, &stderr); code != exitFailed || !strings.Contains(stderr.String(), "no space left") {
				t.Errorf("%v: exit code %d: %s", flags, code, &stderr)
			}
		}
	})
}

// terminal is a terminal of the test's own: what is on its screen, and its keys.
type terminal struct {
	master, slave *os.File
	mu            sync.Mutex
	seen          []byte // all that was written
}

func openTerminal(t *testing.T, columns, rows uint16) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}); err != nil {
		t.Fatal(err)
	}
	term := &terminal{master: master, slave: slave}
	t.Cleanup(func() { master.Close(); slave.Close() })
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := master.Read(buffer)
			if err != nil {
				return
			}
			term.mu.Lock()
			term.seen = append(term.seen, buffer[:n]...)
			term.mu.Unlock()
		}
	}()
	return term
}

// start runs fullbore on the terminal.
func (term *terminal) start(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), self(t), args...)
	term.run(t, command)
	return command
}

// run starts a command on the terminal, in a session of its own.
func (term *terminal) run(t *testing.T, command *exec.Cmd) {
	t.Helper()
	command.Stdin, command.Stdout, command.Stderr = term.slave, term.slave, term.slave
	command.Env = append(os.Environ(), "TERM=xterm-256color")
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
}

// hangUp is what the kernel does when the other side of a terminal is gone.
func (term *terminal) hangUp(t *testing.T) {
	t.Helper()
	if err := unix.IoctlSetInt(int(term.slave.Fd()), unix.TIOCVHANGUP, 0); err != nil {
		t.Fatal(err)
	}
}

func (term *terminal) types(keys string) error {
	_, err := term.master.WriteString(keys)
	return err
}

func (term *terminal) text() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return string(term.seen)
}

func (term *terminal) awaits(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if strings.Contains(term.text(), text) {
			return
		}
	}
	t.Fatalf("nothing of %q within 20 s: %q", text, term.text())
}

// settings are those of the line: echo, line mode, signals.
func (term *terminal) settings(t *testing.T) unix.Termios {
	t.Helper()
	settings, err := unix.IoctlGetTermios(int(term.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *settings
}
