package remote

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/fullbore/fullbore/printable"
)

// Variable names the environment's variable that says how to call ssh, if not as "ssh": a program and its
// arguments, with blanks between them.
const Variable = "FULLBORE_SSH"

// shell is a POSIX shell on another host.
type shell struct {
	target  Target
	mark    string
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	lines   chan string // of the standard output; closed at its end
	asked   chan struct{}
	said    tail // on standard error
	once    sync.Once
}

// mostNoise is how much login files may print before the first answer, in lines.
const mostNoise = 10_000

// open calls the host. That it is there shows with the first answer.
func open(t Target, stderr io.Writer) (*shell, error) {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails since Go 1.24
	s := &shell{target: t, mark: "fullbore-" + hex.EncodeToString(random[:]), lines: make(chan string), asked: make(chan struct{})}
	args := strings.Fields(os.Getenv(Variable))
	if len(args) == 0 {
		args = []string{"ssh"}
	}
	args = append(args, "-T", "-x", "-a", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3", "-o", "ConnectTimeout=15")
	if t.Port != "" {
		args = append(args, "-p", t.Port)
	}
	args = append(args, "--", t.Destination, "sh", "-s")
	if _, err := exec.LookPath(args[0]); err != nil {
		return nil, fmt.Errorf("ssh:// needs the program %s: %w", args[0], err)
	}
	s.command = steady(args)
	s.command.Stderr = &s.said
	if stderr != nil {
		s.command.Stderr = io.MultiWriter(&s.said, stderr)
	}
	s.command.WaitDelay = time.Second // a connection that others share (ControlPersist) keeps standard error open
	in, err := s.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("run %s: %w", args[0], err)
	}
	s.in, s.out = in, bufio.NewReaderSize(out, 64<<10)
	go s.read()
	return s, s.say(sayScript(s.mark))
}

// read gives lines to those who ask for them, one at a time: what comes after the last one that was asked
// for is left to [Remote.Copy]. Once nobody will ask it reads all that is left, or ssh may wait for that.
func (s *shell) read() {
	defer close(s.lines)
	for range s.asked {
		line, err := s.out.ReadString('\n')
		if err != nil {
			return
		}
		s.lines <- line
	}
	_, _ = io.Copy(io.Discard, s.out)
}

// line is the next one of the standard output.
func (s *shell) line(ctx context.Context, within time.Duration) (string, error) {
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case s.asked <- struct{}{}:
	case line, more := <-s.lines: // of one that was asked for before, and not waited for
		if !more {
			return "", s.gone()
		}
		return strings.TrimRight(line, "\r\n"), nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	select {
	case line, more := <-s.lines:
		if !more {
			return "", s.gone()
		}
		return strings.TrimRight(line, "\r\n"), nil
	case <-late.C:
		return "", fmt.Errorf("%s did not answer for %v", s.target.Destination, within)
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// marked is the next answer that begins with a word, without it.
func (s *shell) marked(ctx context.Context, word string, within time.Duration) (string, error) {
	for range mostNoise {
		line, err := s.line(ctx, within)
		if err != nil {
			return "", err
		}
		said, ok := strings.CutPrefix(line, s.mark+" ")
		if !ok {
			continue
		}
		said = printable.Line(said)
		if word == "" {
			return said, nil
		}
		if rest, ok := strings.CutPrefix(said, word); ok {
			return strings.TrimSpace(rest), nil
		}
		return "", fmt.Errorf("%s answers %q, and %q was expected: %s", s.target.Destination, said, word, s.said.last())
	}
	return "", fmt.Errorf("%s prints without an end, and does not answer", s.target.Destination)
}

// say has the shell do something.
func (s *shell) say(script string) error {
	if _, err := io.WriteString(s.in, script); err != nil {
		return s.gone()
	}
	return nil
}

// stall is how long nothing may go out.
const stall = time.Minute

// pour writes all there is.
func (s *shell) pour(ctx context.Context, from io.Reader) error {
	done := make(chan error, 1)
	progress := make(chan struct{}, 1)
	go func() {
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			if n > 0 {
				if _, err := s.in.Write(buffer[:n]); err != nil {
					done <- s.gone()
					return
				}
				select {
				case progress <- struct{}{}:
				default:
				}
			}
			if errors.Is(err, io.EOF) {
				err = nil
				done <- err
				return
			}
			if err != nil {
				done <- err
				return
			}
		}
	}()
	for {
		select {
		case err := <-done:
			return err
		case <-progress:
		case <-time.After(stall):
			return fmt.Errorf("nothing more goes to %s for %v", s.target.Destination, stall)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// gone says why there is no shell any more.
func (s *shell) gone() error {
	s.end()
	why := s.said.last()
	if why == "" {
		why = "it ended without a word"
	}
	return fmt.Errorf("%w: %s: %s", ErrUnreachable, s.target.Destination, why)
}

// end closes the shell's standard input, with which it ends, and waits for it.
func (s *shell) end() {
	s.once.Do(func() {
		_ = s.in.Close()
		kill := time.AfterFunc(endWithin, func() { _ = s.command.Process.Kill() })
		defer kill.Stop()
		close(s.asked)
		for range s.lines {
			continue
		}
		_ = s.command.Wait() // what it has to say it has said
	})
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const longestTail = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-longestTail):]
	return len(b), nil
}

// last is the last line that says something.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	return printable.Line(strings.TrimSpace(lines[len(lines)-1]))
}
