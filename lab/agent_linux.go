package lab

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/lab/wire"
)

// agentMarker in the environment makes a process a lab's host.
const agentMarker = "FULLBORE_LAB_AGENT"

// Descriptors that the owner gives an agent.
const (
	controlFD = 3 // connection to the owner; its end is the lab's end
	listenFD  = 4 // where commands come from
)

// AgentMain returns at once, unless this process was executed to be the host of
// a lab: then it is that host until the lab ends, and never returns.
func AgentMain() {
	if os.Getenv(agentMarker) == "" {
		return
	}
	if err := os.Unsetenv(agentMarker); err != nil {
		os.Exit(1)
	}
	if err := agentMain(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "fullbore lab host:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// agentMain serves the owner until it closes the connection. This process is
// the first of its process namespace: when it exits the kernel kills the rest.
func agentMain() error {
	// Commands get none of the agent's descriptors, nor what its owner left open.
	if unix.CloseRange(controlFD, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) != nil { // before Linux 5.11
		unix.CloseOnExec(controlFD)
		unix.CloseOnExec(listenFD)
	}
	// The owner's end decides, nothing else. Signals are caught and dropped, not
	// ignored: commands would inherit that.
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	owner, err := filePeer(os.NewFile(controlFD, "owner"))
	if err != nil {
		return err
	}
	listenFile := os.NewFile(listenFD, "commands")
	listener, err := net.FileListener(listenFile)
	if err != nil {
		return fmt.Errorf("listen for commands: %w", err)
	}
	_ = listenFile.Close() // the listener has a duplicate

	first, _, err := owner.receive()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	if first.Setup == nil {
		return fmt.Errorf("expected the host's description first")
	}
	tun, err := first.Setup.apply()
	if err != nil {
		return owner.send(&message{Error: err.Error()})
	}
	if err := owner.send(&message{Ready: true}, tun); err != nil {
		return err
	}
	_ = tun.Close() // the owner's copy keeps the device

	go newRunner(first.Setup.environment()).serve(listener)
	first.Setup.attend(owner)
	return nil
}

// attend does what the owner asks until its end of the connection closes, which
// is the end of the lab.
func (s *setup) attend(owner *peer) {
	for {
		request, _, err := owner.receive()
		if err != nil {
			return
		}
		for _, t := range request.Traffic {
			go t.send(s.Peer)
		}
		if !request.Query && !request.Echo {
			continue
		}
		reply := &message{}
		if request.Echo {
			reply.Echoed, err = echo(s.Peer)
		} else {
			reply.Count = &counters{}
			reply.Count.RingDrops, err = wire.RingDrops(device)
		}
		if err != nil {
			reply = &message{Error: err.Error()}
		}
		if err := owner.send(reply); err != nil {
			return
		}
	}
}
