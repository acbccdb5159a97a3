package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/internal/cable"
)

// link is where the tools run: two places and the address that the sender finds
// the receiver at.
type link struct {
	name     string
	address  string // of the receiver
	sender   place
	receiver place
	remove   func()
}

// place does something in a network namespace: what is started there stays.
type place func(do func() error) error

// links by name.
var links = map[string]func() (*link, error){
	"loopback": func() (*link, error) {
		here := func(do func() error) error { return do() }
		return &link{"loopback", "127.0.0.1", here, here, func() {}}, nil
	},
	"veth": func() (*link, error) {
		c, err := cable.New(cable.Spec{})
		if err != nil {
			return nil, err
		}
		return &link{"veth", "198.18.0.2", c.Near.Do, c.Far.Do, c.Close}, nil
	},
}

// figure is one run of one tool.
type figure struct {
	rate float64 // bit/s at the receiver
	cpu  float64 // CPU seconds of the whole machine, network interrupts included, per gigabyte (10^9 bytes) received
	own  float64 // of those, what is booked to both ends' processes: most kernels book interrupts elsewhere
}

// run starts a tool's receiver and sender, and waits for both.
func (l *link) run(ctx context.Context, t tool, streams int, seconds float64) (figure, error) {
	ctx, stop := context.WithTimeout(ctx, time.Duration(seconds*float64(time.Second))+20*time.Second)
	defer stop()
	before, err := busy()
	if err != nil {
		return figure{}, err
	}
	receiver, heard := command(ctx, t.receiver(l.address, streams))
	if err := l.receiver(receiver.Start); err != nil {
		return figure{}, fmt.Errorf("start receiver: %w", err)
	}
	defer receiver.Process.Kill() //nolint:errcheck // it has mostly ended
	if err := listening(ctx, l.receiver); err != nil {
		return figure{}, fmt.Errorf("%w: %s", err, heard)
	}
	sender, said := command(ctx, t.sender(l.address, streams, seconds))
	if err := l.sender(sender.Start); err != nil {
		return figure{}, fmt.Errorf("start sender: %w", err)
	}
	if err := sender.Wait(); err != nil {
		return figure{}, fmt.Errorf("sender: %w: %s", err, said)
	}
	after, err := busy()
	if err != nil {
		return figure{}, err
	}
	if !t.ends {
		time.Sleep(200 * time.Millisecond) // for its last words
		if err := receiver.Process.Signal(syscall.SIGTERM); err != nil {
			return figure{}, err
		}
	}
	_ = receiver.Wait() // a signal is no failure; what it printed tells
	got, err := t.read(said.Bytes(), heard.Bytes())
	if err != nil {
		return figure{}, fmt.Errorf("read its report: %w", err)
	}
	own := spent(sender.ProcessState) + spent(receiver.ProcessState)
	gigabytes := got.bytes / 1e9
	return figure{rate: got.bytes * 8 / got.seconds, cpu: (after - before).Seconds() / gigabytes, own: own.Seconds() / gigabytes}, nil
}

// busy is the time that all cores have worked since boot.
func busy() (time.Duration, error) {
	times, err := host.ReadCPU()
	if err != nil {
		return 0, err
	}
	var all time.Duration
	for _, core := range times.Cores {
		all += core.Total - core.Idle - core.Steal
	}
	return all, nil
}

func spent(p *os.ProcessState) time.Duration { return p.UserTime() + p.SystemTime() }

func command(ctx context.Context, args []string) (*exec.Cmd, *bytes.Buffer) {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.WaitDelay = time.Second
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &bytes.Buffer{}
	return c, &out
}

// listening waits until something listens on the port: tools that count their
// clients must not be asked by connecting.
func listening(ctx context.Context, in place) error {
	entry := fmt.Sprintf(":%04X ", port)
	for {
		var tables string
		err := in(func() error {
			tables = tcpTables()
			return nil
		})
		if err != nil {
			return err
		}
		for line := range strings.Lines(tables) {
			if fields := strings.Fields(line); len(fields) > 3 && strings.Contains(fields[1]+" ", entry) && fields[3] == "0A" {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.New("the receiver does not listen")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// tcpTables are the TCP sockets of this thread's namespace, as the kernel lists
// them.
func tcpTables() string {
	var all strings.Builder
	for _, name := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile("/proc/thread-self/net/" + name)
		if err == nil {
			all.Write(text)
		}
	}
	return all.String()
}

// build makes the binary under test from this checkout.
func (o *options) build(ctx context.Context) (remove func(), err error) {
	dir, err := os.MkdirTemp("", "fullbore-bench")
	if err != nil {
		return nil, err
	}
	o.fullbore = filepath.Join(dir, "fullbore")
	out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", o.fullbore, "github.com/fullbore/fullbore/cmd/fullbore").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("build fullbore: %w: %s", err, out)
	}
	return func() { _ = os.RemoveAll(dir) }, nil
}

// freePort says whether the port is free here: another receiver would be
// measured in our place.
func freePort() error {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return fmt.Errorf("port %d is taken: %w", port, err)
	}
	return listener.Close()
}
