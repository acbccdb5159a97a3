package flow

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/lab"
)

// limited are flows from host a to host b, each with one limit planted, and what
// each of the two hosts is to say of it. Where the far host cannot know it may
// not guess.
var limited = []struct {
	name string
	path string // of the scenario
	more string // lines of the scenario
	does behaviour
	a, b string // causes
	idle bool
}{
	{name: "receiver's buffer", more: `hosts: {b: {sysctl: {net.ipv4.tcp_rmem: "4096 65536 87380"}}}`, does: behaviour{Congestion: "cubic"},
		a: diagnose.ReceiverBuffer, b: diagnose.ReceiverBuffer},
	{name: "receiver's buffer, BBR hides it from the kernel's clock", more: `hosts: {b: {sysctl: {net.ipv4.tcp_rmem: "4096 65536 87380"}}}`,
		does: behaviour{Congestion: "bbr"}, a: diagnose.ReceiverBuffer, b: diagnose.ReceiverBuffer},
	{name: "receiver's buffer, with others on the path", path: "a_to_b: {rate: 10mbit, delay: 20ms, queue: 2bdp}",
		more: "hosts: {a: {congestion: cubic}, b: {sysctl: {net.ipv4.tcp_rmem: \"4096 32768 32768\"}}}\ntraffic: [{from: a, to: b, flows: 2, start: 0s}]",
		a:    diagnose.ReceiverBuffer, b: diagnose.ReceiverBuffer},
	// Less than the smallest window lets through, 32 KiB a round trip.
	{name: "program reads slowly", does: behaviour{Read: 250_000, Congestion: "cubic"}, a: diagnose.SlowReceiver, b: diagnose.SlowReceiver},
	{name: "program reads slowly, BBR", does: behaviour{Read: 250_000, Congestion: "bbr"}, a: diagnose.SlowReceiver, b: diagnose.SlowReceiver},
	{name: "program reads less slowly", does: behaviour{Read: 3_000_000, Congestion: "cubic"}, a: diagnose.SlowReceiver, b: diagnose.SlowReceiver},
	{name: "program stopped reading", does: behaviour{ReadAtFirst: 1 << 20}, a: diagnose.SlowReceiver, b: diagnose.SlowReceiver},
	{name: "sender's buffer", more: `hosts: {a: {sysctl: {net.ipv4.tcp_wmem: "4096 16384 65536"}}}`,
		a: diagnose.SenderBuffer, b: diagnose.Unknown},
	{name: "sender fixed its buffer", does: behaviour{SendBuf: 32 << 10}, a: diagnose.SenderBuffer, b: diagnose.Unknown},
	{name: "program writes slowly", does: behaviour{Write: 600_000}, a: diagnose.SlowSender, b: diagnose.Unknown},
	{name: "program's own window", does: behaviour{Window: 64 << 10}, a: diagnose.ApplicationWindow, b: diagnose.Unknown},
	{name: "pacing", does: behaviour{Pace: 600_000}, a: diagnose.PacingCap, b: diagnose.Unknown},
	{name: "window scale is stripped", path: "a_to_b: {rate: 50mbit, delay: 40ms, queue: 1bdp, strip: [wscale]}",
		a: diagnose.WindowScale, b: diagnose.WindowScale},
	{name: "loss", path: "a_to_b: {rate: 50mbit, delay: 20ms, queue: 1bdp, loss: 1%}", does: behaviour{Congestion: "cubic"},
		a: diagnose.RandomLoss, b: diagnose.Unknown},
	{name: "full path", path: "a_to_b: {rate: 10mbit, delay: 20ms, queue: 2bdp}", does: behaviour{Congestion: "cubic"},
		a: diagnose.PathCapacity, b: diagnose.Unknown},
	{name: "idle", does: behaviour{Silent: true}, a: diagnose.Unknown, b: diagnose.Unknown, idle: true},
}

// TestIntegrationLimits plants limits and looks from both ends.
func TestIntegrationLimits(t *testing.T) {
	for _, c := range limited {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.path == "" {
				c.path = "a_to_b: {rate: 50mbit, delay: 20ms, queue: 1bdp}"
			}
			l := start(t, "path: {"+c.path+"}\n"+c.more)
			run(t, l, c.does)
			time.Sleep(2 * time.Second) // it finds its rate
			want := map[string]string{"a": c.a, "b": c.b}
			for host, s := range told(t, l, want) {
				want, f := want[host], find(t, s)
				if f.Limit.Cause != want || f.Idle != c.idle {
					t.Errorf("on %s: got %s (%.2f), idle %v, want %s\n%v, %s\n%+v", host, f.Limit.Cause, f.Limit.Confidence, f.Idle, want, f.Goodput, f.Limit.Says, f.Limit.Evidence)
				}
				if f.Process != "exe" && !strings.HasSuffix(f.Process, ".test") || f.PID == 0 {
					t.Errorf("on %s: process %d, %q", host, f.PID, f.Process)
				}
				if f.Sends != (host == "a") && !c.idle {
					t.Errorf("on %s: sends %v", host, f.Sends)
				}
			}
		})
	}
}

// told looks at both hosts until each names a cause, where one is wanted, and is
// sure enough of it: between two losses, say, there are moments in which nothing
// can be told, and a program that reads slowly but evenly leaves a window as still
// as a small buffer's.
func told(t *testing.T, l *lab.Lab, want map[string]string) map[string]*Snapshot {
	t.Helper()
	for tries := 1; ; tries++ {
		other := make(chan *Snapshot, 1)
		go func() { other <- snapshot(t, l.Host("b"), 7) }()
		seen := map[string]*Snapshot{"a": snapshot(t, l.Host("a"), 7), "b": <-other}
		open := false
		for host, s := range seen {
			f := find(t, s).Limit
			open = open || f.Cause != want[host] && (f.Cause == diagnose.Unknown || f.Confidence < 0.9)
		}
		if !open || tries == 4 {
			return seen
		}
	}
}

// start gives a running lab that ends with the test.
func start(t *testing.T, scenario string) *lab.Lab {
	t.Helper()
	s, err := lab.Parse("test.yaml", []byte("name: test\n"+scenario+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.Start(t.Context(), s, lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// run has a flow go from host a to host b until the lab ends.
func run(t *testing.T, l *lab.Lab, b behaviour) {
	t.Helper()
	to := net.JoinHostPort(l.Host("b").Address().String(), testPort)
	for host, role := range map[string]string{"b": "receive", "a": "send"} {
		cmd := l.Host(host).Command(t.Context(), "/proc/self/exe")
		cmd.Env, cmd.Stderr = b.env(role, to), os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
}

// find gives the test's flow.
func find(t *testing.T, s *Snapshot) *Flow {
	t.Helper()
	for i := range s.Flows {
		f := &s.Flows[i]
		if f.Local.Port() == 7000 || f.Remote.Port() == 7000 {
			return f
		}
	}
	t.Fatalf("the flow is not among %+v", s.Flows)
	return nil
}
