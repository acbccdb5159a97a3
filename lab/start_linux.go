package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/lab/wire"
)

// setupTime bounds how long a host may take to set itself up.
const setupTime = 20 * time.Second

// system is what a lab needs of the operating system.
type system struct {
	place   *place
	wire    *wire.Wire
	own     time.Duration // of an echo, which the path's delay is shorter by
	closing sync.Once
	closed  error
}

// agent is the process that is a host.
type agent struct {
	socket  string // where it takes commands
	command *exec.Cmd
	owner   *peer
	query   sync.Mutex // one question at a time
	group   string     // control group, "" without one
}

func newHosts() []*Host {
	return []*Host{
		{name: "a", address: addressA, address6: address6A},
		{name: "b", address: addressB, address6: address6B},
	}
}

// Start builds the scenario's hosts and path. The context bounds the start
// only; the lab lasts until Close, or until this process ends.
func Start(ctx context.Context, scenario *Scenario, _ Options) (_ *Lab, err error) {
	if os.Getenv(agentMarker) != "" {
		return nil, errors.New("start lab: this process was to be a lab's host: call lab.AgentMain first in main and TestMain")
	}
	hosts := newHosts()
	lab := &Lab{scenario: scenario, a: hosts[0], b: hosts[1]}
	if lab.place, err = newPlace(scenario.Name); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = lab.end()
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, setupTime)
	defer cancel()

	if err := lab.writeNames(); err != nil {
		return nil, err
	}
	for _, h := range hosts {
		if err := lab.startAgent(h); err != nil {
			return nil, fmt.Errorf("start lab host %s: %w", h.name, err)
		}
	}
	tuns := make([]*os.File, len(hosts))
	failed := make([]error, len(hosts))
	var ready sync.WaitGroup
	for i, h := range hosts {
		ready.Go(func() { tuns[i], failed[i] = h.setUp(ctx, lab.setupOf(h, hosts[1-i])) })
	}
	ready.Wait()
	err = errors.Join(failed...)
	switch {
	case ctx.Err() != nil: // whatever else failed did so for it
		err = ctx.Err()
	case fmt.Sprint(failed[0]) == fmt.Sprint(failed[1]):
		err = failed[0]
	}
	if err != nil {
		closeAll(tuns)
		return nil, fmt.Errorf("set up lab: %w", err)
	}
	aToB, bToA := scenario.directions()
	defer closeAll(tuns) // the wire has duplicates
	if lab.own, err = lab.ownTime(tuns, aToB, bToA); err != nil {
		return nil, err
	}
	if lab.wire, err = wire.Start(tuns[0], tuns[1], scenario.Path.MTU, aToB, bToA); err != nil {
		return nil, err
	}
	lab.wire.Shorten(lab.own / 2)
	for _, h := range hosts {
		if err := h.startTraffic(scenario.Traffic); err != nil {
			return nil, err
		}
	}
	return lab, nil
}

// writeNames writes what the hosts have as /etc/hosts.
func (l *Lab) writeNames() error {
	names := fmt.Sprintf("127.0.0.1 localhost\n::1 localhost\n%s a\n%s b\n%s a\n%s b\n",
		addressA, addressB, address6A, address6B)
	if err := os.WriteFile(l.namesFile(), []byte(names), 0o644); err != nil {
		return fmt.Errorf("write host names: %w", err)
	}
	return nil
}

func (l *Lab) namesFile() string { return filepath.Join(l.place.dir, "hosts") }

// startAgent executes this program again as a host. It is all in namespaces of
// its own from its first instruction on.
func (l *Lab) startAgent(h *Host) error {
	h.socket = filepath.Join(l.place.dir, h.name)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: h.socket, Net: "unix"})
	if err != nil {
		return fmt.Errorf("listen for commands: %w", err)
	}
	listener.SetUnlinkOnClose(false)
	listening, err := listener.File()
	_ = listener.Close()
	if err != nil {
		return fmt.Errorf("listen for commands: %w", err)
	}
	defer func() { _ = listening.Close() }()
	owner, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer func() { _ = theirs.Close() }()

	spec := l.scenario.spec(h.name)
	if spec.CPUs > 0 {
		if h.group, err = newGroup(filepath.Base(l.place.dir)+"-"+h.name, spec.CPUs); err != nil {
			_ = owner.conn.Close()
			return err
		}
		if err := l.describeGroups(); err != nil {
			_ = owner.conn.Close()
			return err
		}
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{"fullbore lab host " + h.name}
	cmd.Env = append(os.Environ(), agentMarker+"="+h.name)
	cmd.Stderr = os.Stderr // a host has nothing to say unless it is broken
	cmd.ExtraFiles = []*os.File{theirs, listening}
	cmd.SysProcAttr = isolation()
	if err := cmd.Start(); err != nil {
		_ = owner.conn.Close()
		return fmt.Errorf("make namespaces: %w%s", err, namespaceHint(err))
	}
	h.command, h.owner = cmd, owner
	if h.group != "" {
		return joinGroup(h.group, cmd.Process.Pid)
	}
	return nil
}

// isolation is what a host has of its own. Without root that takes a user
// namespace, in which this user is root.
func isolation() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
		Setsid:     true, // out of reach of the terminal's signals
	}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	return attr
}

func (l *Lab) setupOf(h, peer *Host) *setup {
	s := &setup{
		Scenario: l.scenario.Name,
		Dir:      l.place.dir,
		Name:     h.name,
		Host:     *l.scenario.spec(h.name),
		MTU:      l.scenario.Path.MTU,
		Addr:     h.address, Addr6: h.address6,
		Peer: peer.address, Peer6: peer.address6,
		StateDir: filepath.Join(l.place.dir, "state-"+h.name),
		Names:    l.namesFile(),
	}
	for _, t := range l.scenario.Traffic {
		s.Sink = s.Sink || t.To == h.name
	}
	return s
}

// setUp has the agent become the host, and gives its TUN device.
func (h *Host) setUp(ctx context.Context, s *setup) (*os.File, error) {
	if err := os.Mkdir(s.StateDir, 0o700); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = h.owner.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := h.owner.send(&message{Setup: s}); err != nil {
		return nil, err
	}
	reply, files, err := h.owner.receive()
	switch {
	case err != nil:
		return nil, fmt.Errorf("host %s did not come up (a program that starts labs calls lab.AgentMain first): %w", h.name, err)
	case reply.Error != "":
		return nil, errors.New(reply.Error)
	case !reply.Ready || len(files) != 1:
		closeAll(files)
		return nil, fmt.Errorf("host %s: unexpected answer", h.name)
	}
	return files[0], nil
}

func (h *Host) startTraffic(all []Traffic) error {
	var own []Traffic
	for _, t := range all {
		if t.From == h.name {
			own = append(own, t)
		}
	}
	if own == nil {
		return nil
	}
	return h.owner.send(&message{Traffic: own})
}

// Close ends every process of the lab and removes what it made. If the lab
// itself lost packets or a host the error wraps [ErrInvalid].
func (l *Lab) Close() error {
	l.closing.Do(func() {
		invalid := l.Report().Invalid()
		l.closed = errors.Join(invalid, l.end())
	})
	return l.closed
}

// end takes down whatever of the lab is there.
func (l *Lab) end() error {
	var failed []error
	for _, h := range []*Host{l.a, l.b} {
		if h.command != nil {
			_ = h.command.Process.Kill() // it has ended already if this fails
			_ = h.command.Wait()         // always "killed"
			_ = h.owner.conn.Close()
		}
	}
	if l.wire != nil {
		failed = append(failed, l.wire.Close())
	}
	for _, h := range []*Host{l.a, l.b} {
		if h.group != "" {
			removeGroup(h.group)
		}
	}
	l.place.remove()
	return errors.Join(failed...)
}
