// Package lab makes a scenario real: two hosts, each with a kernel TCP stack of
// its own in namespaces of its own, joined by an emulated path; or many, around
// switches.
//
// The process that calls [Start] runs the path (package wire). Each host is an
// agent: this very program, executed again as the first process of its own
// network, mount, process, host name and IPC namespaces. The agent sets the
// host up, hands over its TUN device, and then runs commands on request. When
// the process that started the lab ends, however it ends, the agents do, and
// with them the kernel takes down every process and namespace of the lab.
//
// A program that starts labs calls [AgentMain] before anything else, also in
// TestMain.
package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/fullbore/fullbore/lab/wire"
)

// Addresses of the hosts. They are from the ranges for benchmarks (RFC 2544)
// and private use (RFC 4193), the same in all labs: no lab sees another.
var (
	addressA  = netip.MustParseAddr("198.18.0.1")
	addressB  = netip.MustParseAddr("198.18.0.2")
	address6A = netip.MustParseAddr("fd00:198:18::1")
	address6B = netip.MustParseAddr("fd00:198:18::2")
)

// Options of a lab.
type Options struct{}

// Lab is a running scenario.
type Lab struct {
	scenario *Scenario
	hosts    []*Host
	system   // what the operating system needs to run and to end it
}

// Host is one of the two ends of the path, or of the many of a network.
type Host struct {
	name     string
	address  netip.Addr
	address6 netip.Addr
	agent    // the process that is the host
}

// Host gives the host of that name, "a" or "b" where there is a path; nil for any other name.
func (l *Lab) Host(name string) *Host {
	for _, h := range l.hosts {
		if h.name == name {
			return h
		}
	}
	return nil
}

// Hosts are all of them: those of a network in the order of its file.
func (l *Lab) Hosts() []*Host { return l.hosts }

// Scenario is what the lab was made from.
func (l *Lab) Scenario() *Scenario { return l.scenario }

// Name is "a" or "b", or as a network has it; it is also the host name inside.
func (h *Host) Name() string { return h.name }

// Address is the host's IPv4 address on the path.
func (h *Host) Address() netip.Addr { return h.address }

// Address6 is the host's IPv6 address on the path.
func (h *Host) Address6() netip.Addr { return h.address6 }

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

// directions are what the wire is to do: what the scenario says, as it stands.
func (s *Scenario) directions() (aToB, bToA wire.Direction) { return s.Path.AToB, *s.Path.BToA }

// ExitError says that a command ran and failed.
type ExitError struct {
	Code   int    // as a shell has it: 128 + number for a signal
	Signal string // name of the signal that ended it, if one did
}

func (e *ExitError) Error() string {
	if e.Signal != "" {
		return "ended by signal " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// ErrInvalid is wrapped by errors that say that the lab itself, not the path,
// lost packets or a host, so that nothing measured in it stands.
var ErrInvalid = errors.New("the lab itself failed: results are not valid")
