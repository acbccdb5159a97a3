package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/internal/guest"
	"github.com/fullbore/fullbore/tune"
	"github.com/fullbore/fullbore/unit"
)

// guestHost is a host in a guest: namespaces of its own, with its own /etc.
type guestHost struct {
	t       *testing.T
	address string
	pid     string // of the process that keeps the namespaces
}

// guestPath makes two hosts, joined by a veth pair whose ends send through netem. One of them has
// the guest's first network namespace: what is the whole machine's is seen, and set, only there.
func guestPath(t *testing.T, netem, first string) (a, b *guestHost) {
	t.Helper()
	guestRun(t, "ip", "link", "add", "name", "a", "type", "veth", "peer", "name", "b")
	for i, name := range []string{"a", "b"} {
		h := &guestHost{t: t, address: fmt.Sprintf("198.18.0.%d", i+1)}
		network, sys := []string{"-n"}, "mount -t sysfs sysfs /sys"
		if name == first {
			network, sys = nil, "true" // it is there
		}
		keeper := exec.Command("unshare", append(network, "-m", "-u", "sh", "-c", `
hostname `+name+` && `+sys+` && mount -t tmpfs tmpfs /etc && mkdir -p /etc/sysctl.d && mount -t tmpfs tmpfs /run && echo up && exec sleep 100000`)...)
		up, err := keeper.StdoutPipe()
		if err == nil {
			err = keeper.Start()
		}
		if err == nil {
			_, err = up.Read(make([]byte, 1))
		}
		if err != nil {
			t.Fatal("keep a host's namespaces: ", err)
		}
		t.Cleanup(func() { _ = keeper.Process.Kill() })
		h.pid = strconv.Itoa(keeper.Process.Pid)
		guestRun(t, "ip", "link", "set", "dev", name, "netns", h.pid)
		h.run("ip", "address", "add", h.address+"/24", "dev", name)
		h.run("ip", "link", "set", "lo", "up")
		h.run("ip", "link", "set", "dev", name, "up")
		if netem != "" {
			h.run("tc", append([]string{"qdisc", "add", "dev", name, "root", "netem"}, strings.Fields(netem)...)...)
		}
		if i == 0 {
			a = h
		} else {
			b = h
		}
	}
	return a, b
}

// command is one on a host.
func (h *guestHost) command(program string, args ...string) *exec.Cmd {
	if path, err := exec.LookPath(program); err == nil {
		program = path // busybox would take its own
	}
	cmd := exec.CommandContext(h.t.Context(), "nsenter", append([]string{"-t", h.pid, "-m", "-n", "-u", program}, args...)...)
	state := filepath.Join("/tmp", h.address)
	cmd.Env = append(os.Environ(), "HOME="+state, "FULLBORE_STATE="+filepath.Join(state, "state"))
	return cmd
}

// serve starts a far end, and gives its token.
func (h *guestHost) serve(args ...string) (token string) {
	h.t.Helper()
	server := h.command(self(h.t), append([]string{"serve", "--json"}, args...)...)
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	var says serveDocument
	if err == nil {
		err = json.NewDecoder(out).Decode(&says)
	}
	if err != nil {
		h.t.Fatal("start a far end: ", err)
	}
	return says.Token
}

// run runs a command on a host to its end, and gives what it printed.
func (h *guestHost) run(program string, args ...string) string {
	h.t.Helper()
	return guestOutput(h.t, h.command(program, args...))
}

// script runs lines of a shell on a host.
func (h *guestHost) script(lines string) string {
	h.t.Helper()
	return h.run("sh", "-e", "-c", lines)
}

func guestRun(t *testing.T, program string, args ...string) string {
	t.Helper()
	return guestOutput(t, exec.CommandContext(t.Context(), program, args...))
}

func guestOutput(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd.Args, err, &out, &errs)
	}
	return out.String()
}

// TestGuestTune: the main job on another kernel, over netem instead of the lab: a path of
// 100 Mb/s and 60 ms, with receive buffers of 64 KiB at first.
func TestGuestTune(t *testing.T) {
	if !guest.Run(t, guest.Machine{Modules: []string{"veth", "sch_netem", "tun"}, Programs: []string{"ip", "tc"}}) {
		return
	}
	a, b := guestPath(t, "rate 100mbit delay 30ms limit 2000", "")
	const small = "4096 65536 65536"
	for _, h := range []*guestHost{a, b} {
		h.run("sysctl", "-w", "net.ipv4.tcp_rmem="+small)
	}
	found := b.run("sysctl", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")
	token := b.serve("--allow-changes")
	var r tune.Result
	tuned := a.command(self(t), "tune", b.address, "--token", token, "--json")
	var said bytes.Buffer
	tuned.Stderr = &said
	out, err := tuned.Output()
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, &said)
	}
	t.Logf("from %v to %v, %v; kept %+v", r.Before.Goodput, r.After.Goodput, r.Verdict.Cause, r.Kept)
	if r.Verdict.Cause != diagnose.ReceiverBuffer || r.Before.Goodput > 12*unit.Mbps || r.After.Goodput < 85*unit.Mbps {
		t.Errorf("%+v\n%s", r, &said)
	}
	for _, s := range r.ChangeSets {
		h := a
		if s.Host == "b" {
			h = b
		}
		h.run(self(t), strings.Fields(s.Undo)[1:]...)
	}
	if now := b.run("sysctl", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"); now != found {
		t.Errorf("after all was undone:\n%s\nbefore:\n%s", now, found)
	}
}
