package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	wire    *wire.Wire    // of a path
	network *wire.Network // in place of it
	links   []wire.Link   // of the network
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

// newHosts are hosts of these names, with their addresses.
func newHosts(names []string) (hosts []*Host) {
	addresses := addressesOf(len(names))
	for i, name := range names {
		hosts = append(hosts, &Host{name: name, address: addresses[i][0], address6: addresses[i][1]})
	}
	return hosts
}

// Start builds the scenario's hosts and path. The context bounds the start
// only; the lab lasts until Close, or until this process ends.
func Start(ctx context.Context, scenario *Scenario, _ Options) (_ *Lab, err error) {
	if os.Getenv(agentMarker) != "" {
		return nil, errors.New("start lab: this process was to be a lab's host: call lab.AgentMain first in main and TestMain")
	}
	hosts := newHosts(scenario.HostNames())
	lab := &Lab{scenario: scenario, hosts: hosts}
	if lab.place, err = newPlace(scenario.Name, scenario.HostNames()); err != nil {
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
		ready.Go(func() { tuns[i], failed[i] = h.setUp(ctx, lab.setupOf(i)) })
	}
	ready.Wait()
	err = errors.Join(failed...)
	switch {
	case ctx.Err() != nil: // whatever else failed did so for it
		err = ctx.Err()
	case !slices.ContainsFunc(failed, func(other error) bool { return fmt.Sprint(other) != fmt.Sprint(failed[0]) }):
		err = failed[0]
	}
	if err != nil {
		closeAll(tuns)
		return nil, fmt.Errorf("set up lab: %w", err)
	}
	defer closeAll(tuns) // the wire has duplicates
	if err := lab.join(tuns); err != nil {
		return nil, err
	}
	for _, h := range hosts {
		if err := h.startTraffic(scenario.Traffic); err != nil {
			return nil, err
		}
	}
	return lab, nil
}

// join makes the path between the hosts' devices, or the network.
func (l *Lab) join(tuns []*os.File) (err error) {
	if n := l.scenario.Network; n != nil {
		return l.joinNetwork(n, tuns)
	}
	aToB, bToA := l.scenario.directions()
	if l.own, err = l.ownTime(tuns, aToB.Delay, bToA.Delay); err != nil {
		return err
	}
	if l.wire, err = wire.Start(tuns[0], tuns[1], l.scenario.Path.MTU, aToB, bToA); err != nil {
		return err
	}
	l.wire.Shorten(l.own / 2)
	return nil
}

func (l *Lab) joinNetwork(n *Network, tuns []*os.File) error {
	fabric, err := n.fabric(addressesOf(len(l.hosts)))
	if err != nil {
		return err
	}
	l.links = fabric.Links
	if len(l.hosts) > 1 {
		var there, back time.Duration
		for _, link := range fabric.Routes[0][1] {
			there += fabric.Links[link].Delay
		}
		for _, link := range fabric.Routes[1][0] {
			back += fabric.Links[link].Delay
		}
		if l.own, err = l.ownTime(tuns, there, back); err != nil {
			return err
		}
	}
	if l.network, err = wire.StartFabric(tuns, n.MTU, fabric); err != nil {
		return err
	}
	for link := range n.trunkLink(0) { // those of hosts: each way there and back has four
		l.network.Shorten(link, l.own/4)
	}
	return nil
}

// writeNames writes what the hosts have as /etc/hosts.
func (l *Lab) writeNames() error {
	names := []byte("127.0.0.1 localhost\n::1 localhost\n")
	for _, h := range l.hosts {
		names = fmt.Appendf(names, "%s %s\n%s %s\n", h.address, h.name, h.address6, h.name)
	}
	if err := os.WriteFile(l.namesFile(), names, 0o644); err != nil {
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

	if spec := l.scenario.spec(h.name); spec.CPUs > 0 {
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

// setupOf is what host i needs to know. Its peer is the other end of the path, or of a network
// its neighbour in the list.
func (l *Lab) setupOf(i int) *setup {
	h, peer := l.hosts[i], l.hosts[(i+1)%len(l.hosts)]
	s := &setup{
		Scenario: l.scenario.Name,
		Dir:      l.place.dir,
		Name:     h.name,
		Host:     l.scenario.spec(h.name),
		MTU:      l.mtu(),
		Addr:     h.address, Addr6: h.address6,
		Peer:     peer.address,
		To:       single(peer.address),
		To6:      single(peer.address6),
		StateDir: filepath.Join(l.place.dir, "state-"+h.name),
		Names:    l.namesFile(),
	}
	if l.scenario.Network != nil {
		s.Many = true
		s.To, s.To6 = netip.PrefixFrom(h.address, 24).Masked(), netip.PrefixFrom(h.address6, 64).Masked()
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
	for _, h := range l.hosts {
		if h.command != nil {
			_ = h.command.Process.Kill() // it has ended already if this fails
			_ = h.command.Wait()         // always "killed"
			_ = h.owner.conn.Close()
		}
	}
	if l.wire != nil {
		failed = append(failed, l.wire.Close())
	}
	if l.network != nil {
		failed = append(failed, l.network.Close())
	}
	for _, h := range l.hosts {
		if h.group != "" {
			removeGroup(h.group)
		}
	}
	l.place.remove()
	return errors.Join(failed...)
}
