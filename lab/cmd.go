package lab

import (
	"context"
	"io"
)

// Cmd is a command to run on a host of the lab, much like [os/exec.Cmd]. It
// runs in a session of its own: the terminal's signals do not reach it, those
// given to Signal do.
type Cmd struct {
	Args []string // the name first; without a slash it is looked up in PATH
	Env  []string // nil: this process's; FULLBORE_* of the host are added
	Dir  string   // "": this process's

	// An *os.File is handed to the command as it is; anything else goes through
	// a pipe. Nil is /dev/null.
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	host *Host
	ctx  context.Context
	process
}

// Command prepares a command to run on the host. When ctx ends, so does the
// command, by SIGKILL.
func (h *Host) Command(ctx context.Context, name string, args ...string) *Cmd {
	return &Cmd{Args: append([]string{name}, args...), host: h, ctx: ctx}
}

// Run starts the command and waits for it.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}
