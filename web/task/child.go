package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fullbore/fullbore/record"
)

// EndsWithStdin is what tells a process, in its environment, that whoever started it, a page
// or another host, holds the other end of its stdin: when that closes, it is to end as with Ctrl-C.
const EndsWithStdin = "FULLBORE_ENDS_WITH_STDIN"

// EndsWithPage makes the context of a process that a page started, or somebody over ssh, end when
// they do, however that happens: a page that was killed leaves no tune behind that goes on
// unseen. For all other processes it changes nothing.
func EndsWithPage(ctx context.Context) context.Context {
	if os.Getenv(EndsWithStdin) == "" {
		return ctx
	}
	_ = os.Unsetenv(EndsWithStdin) // those that it starts have another stdin
	ctx, end := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // nothing comes, but the end
		end()
	}()
	return ctx
}

// command is that of a task.
func (t *Tasks) command(x *task, place string) (*exec.Cmd, error) {
	program := t.o.Program
	if program == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this program: %w", err)
		}
		program = self
	}
	command := exec.Command(program, x.Command...)
	kept := slices.DeleteFunc(os.Environ(), func(v string) bool {
		// A token of this process's own is for whoever it was given for, not for each
		// far end that somebody names.
		return strings.HasPrefix(v, tokenVariable+"=") || strings.HasPrefix(v, record.Variable+"=")
	})
	command.Env = append(append(kept, t.o.Env...), record.Variable+"="+place, EndsWithStdin+"=1")
	if x.token != "" {
		command.Env = append(command.Env, tokenVariable+"="+x.token)
	}
	return command, nil
}

// tokenVariable is how the command line takes a token without showing it to all who
// list processes.
const tokenVariable = "FULLBORE_TOKEN"

// child is the process of a task.
type child struct {
	mu      sync.Mutex
	process *os.Process // nil before it runs
	hold    *os.File    // the other end of its stdin
	stopped bool
	kill    *time.Timer
	over    bool
}

func newChild() *child { return &child{} }

// ending is how a process ended.
type ending struct {
	code   int
	killed bool   // by a signal
	signal string // which
}

// look is the time between two looks at what a child has written.
const look = 200 * time.Millisecond

// run starts the process and waits until it has ended; show is told its last lines
// whenever there are others.
func (c *child) run(command *exec.Cmd, show func([]string)) (ending, error) {
	log, err := newLog()
	if err != nil {
		return ending{}, err
	}
	defer log.close()
	stdin, hold, err := os.Pipe()
	if err != nil {
		return ending{}, err
	}
	defer hold.Close()
	command.Stdin, command.Stderr = stdin, log.file
	err = command.Start()
	_ = stdin.Close()
	if err != nil {
		return ending{}, err
	}
	c.begin(command.Process, hold)
	defer c.end()
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			if log.read() {
				show(log.last())
			}
			return endingOf(command.ProcessState, err)
		case <-ticker.C:
			if log.read() {
				show(log.last())
			}
		}
	}
}

// endingOf is how a process ended.
func endingOf(s *os.ProcessState, err error) (ending, error) {
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return ending{}, err
	}
	if s.ExitCode() < 0 {
		return ending{killed: true, signal: s.String()}, nil
	}
	return ending{code: s.ExitCode()}, nil
}

// begin makes it possible to stop it; it may have been asked to already.
func (c *child) begin(p *os.Process, hold *os.File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.process, c.hold = p, hold
	if c.stopped {
		c.interrupt()
	}
}

func (c *child) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.kill != nil {
		c.kill.Stop()
	}
}

// stop asks the process to end, and kills it if it has not after a time.
func (c *child) stop(patience time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return
	}
	c.stopped = true
	c.kill = time.AfterFunc(patience, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.process != nil && !c.over {
			_ = c.process.Kill() // it may just have ended
		}
	})
	if c.process != nil {
		c.interrupt()
	}
}

// interrupt is Ctrl-C, also where there are no signals.
func (c *child) interrupt() {
	_ = c.process.Signal(os.Interrupt)
	_ = c.hold.Close()
}
