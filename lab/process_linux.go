package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// drain is how long after a command's end its output is still read, should
// something it left behind hold the pipe open.
const drain = 2 * time.Second

// process is the running side of a Cmd.
type process struct {
	agent   *peer
	pid     int
	copying sync.WaitGroup // of output
	pipes   []*os.File     // this end's
	exit    chan error     // what Wait returns
}

// Start starts the command. What goes wrong before it runs, such as a command
// that does not exist, is the error.
func (c *Cmd) Start() (err error) {
	if c.agent != nil {
		return errors.New("start command: already started")
	}
	if err := c.ctx.Err(); err != nil {
		return err
	}
	request := command{Args: c.Args, Env: c.Env, Dir: c.Dir}
	if request.Env == nil {
		request.Env = os.Environ()
	}
	if request.Dir == "" {
		if request.Dir, err = os.Getwd(); err != nil {
			return fmt.Errorf("start command: %w", err)
		}
	}
	files, theirs, err := c.files()
	defer func() {
		closeAll(theirs)
		if err != nil {
			closeAll(c.pipes)
		}
	}()
	if err != nil {
		return err
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: c.host.socket, Net: "unix"})
	if err != nil {
		return fmt.Errorf("start command on lab host %s: %w", c.host.name, err)
	}
	c.agent = &peer{conn: conn}
	err = c.agent.send(&message{Run: &request}, files...)
	var reply *message
	if err == nil {
		reply, _, err = c.agent.receive()
	}
	if err == nil && reply.Error != "" {
		err = errors.New(reply.Error)
	}
	if err != nil {
		_ = conn.Close()
		return fmt.Errorf("lab host %s: %w", c.host.name, err)
	}
	c.pid, c.exit = reply.Started, make(chan error, 1)
	go c.follow()
	return nil
}

// Wait waits for the command to end and its output to be copied. A command that
// failed gives an [*ExitError]; one that the context ended gives its error.
func (c *Cmd) Wait() error {
	if c.exit == nil {
		return errors.New("wait for command: not started")
	}
	err := <-c.exit
	c.exit <- err // for the next one who asks
	return err
}

// Signal sends a signal to the command and what it runs (its process group).
func (c *Cmd) Signal(signal os.Signal) error {
	number, ok := signal.(unix.Signal)
	if !ok || c.exit == nil {
		return errors.New("signal command: not started")
	}
	return c.agent.send(&message{Signal: number})
}

// PID is the number of the command's process, as the host sees it.
func (c *Cmd) PID() int { return c.pid }

// follow waits for the end of the command, or ends it with the context.
func (c *Cmd) follow() {
	stop := context.AfterFunc(c.ctx, func() {
		_ = c.Signal(unix.SIGKILL) // if this fails the command has ended, or the agent is gone and the command with it
	})
	reply, _, err := c.agent.receive()
	stop()
	_ = c.agent.conn.Close()
	switch {
	case c.ctx.Err() != nil:
		err = c.ctx.Err()
	case err != nil:
		err = fmt.Errorf("lab host %s ended while %s ran: %w", c.host.name, c.Args[0], err)
	case reply.Exit == nil:
		err = fmt.Errorf("lab host %s: unexpected answer", c.host.name)
	case reply.Exit.Code != 0:
		err = reply.Exit
	}
	c.finishCopying()
	c.exit <- err
}

// finishCopying gives the output that is still in pipes time to be read.
func (c *Cmd) finishCopying() {
	copied := make(chan struct{})
	go func() {
		c.copying.Wait()
		close(copied)
	}()
	select {
	case <-copied:
	case <-time.After(drain):
	}
	closeAll(c.pipes)
	<-copied
}

// files gives the command's stdin, stdout and stderr, and those of them that
// have to be closed here once the command has them.
func (c *Cmd) files() (files, theirs []*os.File, err error) {
	in, err := c.input(&theirs)
	if err != nil {
		return nil, theirs, err
	}
	out, err := c.output(c.Stdout, &theirs)
	if err != nil {
		return nil, theirs, err
	}
	errs := out
	if c.Stderr == nil || !sameWriter(c.Stdout, c.Stderr) {
		if errs, err = c.output(c.Stderr, &theirs); err != nil {
			return nil, theirs, err
		}
	}
	return []*os.File{in, out, errs}, theirs, nil
}

// sameWriter says whether both outputs go to one writer, which then must not be
// written to by two goroutines.
func sameWriter(a, b io.Writer) (same bool) {
	defer func() { _ = recover() }() // of types that cannot be compared
	return a == b
}

func (c *Cmd) input(theirs *[]*os.File) (*os.File, error) {
	if file, ok := c.Stdin.(*os.File); ok {
		return file, nil
	}
	if c.Stdin == nil {
		return null(theirs)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	*theirs = append(*theirs, read)
	c.pipes = append(c.pipes, write)
	go func() {
		_, _ = io.Copy(write, c.Stdin) // a command need not read all its input
		_ = write.Close()
	}()
	return read, nil
}

func (c *Cmd) output(to io.Writer, theirs *[]*os.File) (*os.File, error) {
	if file, ok := to.(*os.File); ok {
		return file, nil
	}
	if to == nil {
		return null(theirs)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	*theirs = append(*theirs, write)
	c.pipes = append(c.pipes, read)
	c.copying.Go(func() {
		_, _ = io.Copy(to, read)         // a writer that fails ends the copying,
		_, _ = io.Copy(io.Discard, read) // not the command
	})
	return write, nil
}

func null(theirs *[]*os.File) (*os.File, error) {
	file, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	*theirs = append(*theirs, file)
	return file, nil
}

// RunForeground runs the command as if it were this process: it passes on the
// signals that this process gets until the command ends.
func (c *Cmd) RunForeground() error {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH)
	defer signal.Stop(signals)
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case <-ended:
				return
			case s := <-signals:
				_ = c.Signal(s) // if this fails the command has just ended
			}
		}
	}()
	return c.Wait()
}
