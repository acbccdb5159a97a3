package lab

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

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
