package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	AgentMain()
	if role, ok := roles[os.Getenv(roleKey)]; ok {
		if err := role(); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// parse gives a scenario with a short path, and more if lines are given.
func parse(t *testing.T, lines ...string) *Scenario {
	t.Helper()
	text := "name: plain\npath: {a_to_b: {rate: 100mbit, delay: 1ms}}\n" + strings.Join(lines, "\n")
	scenario, err := Parse("plain.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return scenario
}

// start gives a running lab that ends with the test.
func start(t *testing.T, scenario *Scenario) *Lab {
	t.Helper()
	lab, err := Start(t.Context(), scenario, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Close(); err != nil {
			t.Error(err)
		}
	})
	return lab
}

// bounded gives a context that ends in time for the test to fail, not to hang.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// output runs a shell line on a host and gives what it printed.
func output(t *testing.T, h *Host, line string) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := h.Command(bounded(t), "sh", "-c", line)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("typed\n"), &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v: %s", line, err, errs.String())
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// TestIntegrationHost shows what is a host's own.
func TestIntegrationHost(t *testing.T) {
	t.Setenv("FULLBORE_HOST", "another lab's")                    // as on a host of that
	leaked, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0) // as some library may
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(leaked) }()
	groups := ""
	if entries, err := os.ReadDir("/sys/fs/cgroup"); err == nil && len(entries) > 0 {
		groups = "there"
	}
	lab := start(t, parse(t, `hosts: {b: {congestion: cubic, sysctl: {net.ipv4.tcp_rmem: "4096 65536 87380"}, slow_reader: 50mbit, slow_writer: 1mbit}}`))
	for _, test := range []struct{ what, line, want string }{
		{"its name", "hostname", "b"},
		{"its addresses", "echo $FULLBORE_HOST $FULLBORE_LAB $FULLBORE_A $FULLBORE_B", "b plain 198.18.0.1 198.18.0.2"},
		{"its interfaces", "ls /sys/class/net", "lo path0"},
		{"its queue length", "cat /sys/class/net/path0/tx_queue_len", "10000"},
		{"its processes", "cat /proc/1/cmdline | tr '\\0' ' '", "fullbore lab host b"},
		{"its state", "echo kept > $FULLBORE_STATE/file && ls $FULLBORE_STATE", "file"},
		{"empty configuration", "ls /etc/sysctl.d 2>/dev/null | wc -l", "0"},
		{"names of both hosts", "grep -w a /etc/hosts", "198.18.0.1 a fd00:198:18::1 a"},
		{"its sysctls", "cat /proc/sys/net/ipv4/tcp_rmem", "4096 65536 87380"},
		{"limits of its programs", "echo $FULLBORE_SLOW_READER $FULLBORE_SLOW_WRITER", "50000000 1000000"},
		{"no trace of being an agent", "echo $FULLBORE_LAB_AGENT; ls -l /proc/self/fd | grep -c socket || true", "0"},
		{"its environment once", "/usr/bin/env | grep -c ^FULLBORE_HOST=", "1"},
		{"input", "cat", "typed"},
		{"control groups of the machine", `test -n "$(ls /sys/fs/cgroup)" && echo there || true`, groups},
	} {
		if got := output(t, lab.Host("b"), test.line); got != test.want {
			t.Errorf("%s: got %q, want %q", test.what, got, test.want)
		}
	}
	for _, signal := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} { // as of someone who ends all programs of that name
		if err := lab.hosts[1].command.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	if got := output(t, lab.Host("b"), "echo still here"); got != "still here" {
		t.Errorf("after signals it says %q", got)
	}
	if lab.Host("a").Address() != addressA || lab.Host("b").Address6() != address6B || lab.Host("c") != nil {
		t.Error("wrong addresses")
	}
}

// TestIntegrationCommand shows how commands end.
func TestIntegrationCommand(t *testing.T) {
	a := start(t, parse(t)).Host("a")
	exit := new(ExitError)
	for _, test := range []struct {
		line string
		want ExitError
	}{
		{"exit 7", ExitError{Code: 7}},
		{"kill -TERM $$", ExitError{Code: 143, Signal: "SIGTERM"}},
		{"sleep 1000 & exit 3", ExitError{Code: 3}}, // a daemon stays behind
	} {
		err := a.Command(bounded(t), "sh", "-c", test.line).Run()
		if !errors.As(err, &exit) || *exit != test.want {
			t.Errorf("%s: got %v, want %v", test.line, err, &test.want)
		}
	}
	if err := a.Command(bounded(t), "no-such-command").Start(); err == nil || !strings.Contains(err.Error(), "not found in PATH") {
		t.Errorf("no-such-command: got %v", err)
	}
	if err := a.Command(bounded(t), "/etc/hosts").Start(); !strings.Contains(fmt.Sprint(err), "permission denied") {
		t.Errorf("/etc/hosts: got %v", err)
	}
	elsewhere := a.Command(bounded(t), "true")
	elsewhere.Dir = "/no/such/directory"
	if err := elsewhere.Run(); err == nil {
		t.Error("ran in a directory that does not exist")
	}

	slow := a.Command(bounded(t), "sleep", "1000")
	if err := slow.Start(); err != nil {
		t.Fatal(err)
	}
	if err := slow.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := slow.Wait(); !errors.As(err, &exit) || exit.Code != 130 {
		t.Errorf("after SIGINT: got %v", err)
	}

	ctx, cancel := context.WithCancel(bounded(t))
	endless := a.Command(ctx, "sh", "-c", "trap '' INT TERM; sleep 1000")
	if err := endless.Start(); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := endless.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancel: got %v", err)
	}
}

// TestIntegrationOutputOfDaemon: what a command leaves behind may hold its
// output open, yet Wait returns.
func TestIntegrationOutputOfDaemon(t *testing.T) {
	t.Parallel()
	if got := output(t, start(t, parse(t)).Host("a"), "echo first; sleep 1000 &"); got != "first" {
		t.Errorf("got %q", got)
	}
}

// TestIntegrationMany: a host runs many commands at once, and tells their exit
// codes apart.
func TestIntegrationMany(t *testing.T) {
	a := start(t, parse(t)).Host("a")
	const commands = 100
	ended := make(chan error, commands)
	for i := range commands {
		go func() {
			err := a.Command(bounded(t), "sh", "-c", fmt.Sprintf("sleep 0.0%d & exit %d", i%10, 1+i)).Run()
			if exit := new(ExitError); !errors.As(err, &exit) || exit.Code != 1+i {
				err = fmt.Errorf("command %d: %w", i, err)
			} else {
				err = nil
			}
			ended <- err
		}()
	}
	for range commands {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	zombies := output(t, a, "sleep 0.3; cat /proc/[0-9]*/stat 2>/dev/null | grep -c ' Z ' || true")
	if zombies != "0" {
		t.Errorf("%s zombies", zombies)
	}
}

// TestIntegrationRefused: what a scenario asks for and cannot have is an error,
// and nothing of the lab remains.
func TestIntegrationRefused(t *testing.T) {
	before, open := len(runningLabs(roots())), tuns(t)
	for _, test := range []struct{ hosts, want string }{
		{`{a: {sysctl: {net.core.rmem_max: "1000000"}}}`, "net.core.rmem_max"},
		{`{b: {sysctl: {net.ipv4.no_such_key: "1"}}}`, "set net.ipv4.no_such_key: this kernel has no such setting"},
		{`{b: {sysctl: {net.ipv4.tcp_rmem: "many"}}}`, "set net.ipv4.tcp_rmem"},
		{`{a: {sysctl: {kernel.panic: "1"}}}`, "kernel.panic: it belongs to the whole machine"},
		{`{a: {congestion: nosuch}}`, `congestion control "nosuch"`},
	} {
		lab, err := Start(t.Context(), parse(t, "hosts: "+test.hosts), Options{})
		if err == nil {
			_ = lab.Close()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q in it", test.hosts, err, test.want)
		}
		if after := tuns(t); after != open {
			t.Errorf("%s: %d TUN devices remain open", test.hosts, after-open)
		}
	}
	if after := len(runningLabs(roots())); after != before {
		t.Errorf("%d labs remain", after-before)
	}
}

func TestIntegrationCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, parse(t), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
