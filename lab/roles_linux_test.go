package lab

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Tests need other processes: owners of labs to kill, callers from outside,
// servers on hosts. They are this test binary again, in a role.
const roleKey = "FULLBORE_TEST_ROLE"

var roles = map[string]func() error{
	"owner":        ownLab,
	"commands":     runCommands,
	"foreground":   runForeground,
	"attach":       attach,
	"listen":       listen,
	"dial":         dial,
	"congestion":   congestion,
	"unprivileged": dropPrivileges,
}

// as gives this binary in a role.
func as(role string, env ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(append(os.Environ(), roleKey+"="+role), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// on gives this binary in a role, on a host.
func on(h *Host, role string, env ...string) (*Cmd, *bytes.Buffer) {
	var out bytes.Buffer
	cmd := h.Command(context.Background(), "/proc/self/exe")
	cmd.Env = append(append(os.Environ(), roleKey+"="+role), env...)
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	return cmd, &out
}

// firstLine starts a command and gives the first line it writes.
func firstLine(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// limited has one limited host, where control groups can be made.
func limited() *Scenario {
	scenario, err := Parse("plain.yaml", []byte("name: plain\npath: {a_to_b: {rate: 100mbit, delay: 1ms}}\n"))
	if err != nil {
		panic(err)
	}
	if os.Getuid() == 0 {
		scenario.Hosts.B.CPUs = 0.5
	}
	return scenario
}

// ownLab starts a lab with daemons on both hosts, says which, and waits.
func ownLab() error {
	lab, err := Start(context.Background(), limited(), Options{})
	if err != nil {
		return err
	}
	var namespaces []string
	for _, name := range []string{"a", "b"} {
		var out bytes.Buffer
		cmd := lab.Host(name).Command(context.Background(), "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & readlink /proc/self/ns/net")
		cmd.Stdout = &out
		if err := cmd.Run(); err != nil {
			return err
		}
		namespaces = append(namespaces, strings.TrimSpace(out.String()))
	}
	fmt.Println(filepath.Base(lab.place.dir), namespaces[0], namespaces[1], lab.hosts[1].group)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return lab.Close()
}

// members counts the processes in a network namespace.
func members(namespace string) (count int) {
	links, _ := filepath.Glob("/proc/[0-9]*/ns/net")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == namespace {
			count++
		}
	}
	return count
}

// eventually waits for a condition, very generously.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 600 {
		if holds() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error(what)
}

// TestIntegrationOwnerKilled: when the owner is killed without a chance to clean
// up, its hosts end by themselves, and the next lab removes the rest.
func TestIntegrationOwnerKilled(t *testing.T) {
	owner := as("owner")
	stdin, err := owner.StdinPipe() // held open
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }()
	said := strings.Fields(firstLine(t, owner))
	if len(said) < 3 {
		t.Fatalf("owner says %q", said)
	}
	remains := append([]string{filepath.Join(roots()[0], said[0])}, said[3:]...) // its directory, and its control group
	for _, namespace := range said[1:3] {
		if members(namespace) < 2 {
			t.Errorf("no daemon in %s", namespace)
		}
	}
	if err := owner.Process.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // "killed"
	for _, namespace := range said[1:3] {
		eventually(t, "processes remain in "+namespace, func() bool { return members(namespace) == 0 })
	}
	if _, err := os.Stat(remains[0]); err != nil {
		t.Errorf("the directory went without anyone to remove it: %v", err)
	}
	start(t, parse(t))
	for _, path := range remains {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the next lab left %s: %v", path, err)
		}
	}
}

// tuns counts the TUN devices that this process has open.
func tuns(t *testing.T) (count int) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && target == "/dev/net/tun" {
			count++
		}
	}
	return count
}

// TestIntegrationClosed: an orderly end leaves nothing either.
func TestIntegrationClosed(t *testing.T) {
	before := tuns(t)
	lab, err := Start(t.Context(), limited(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir, group := lab.place.dir, lab.hosts[1].group
	namespace := output(t, lab.Host("a"), "setsid sleep 1000 >/dev/null 2>&1 & readlink /proc/self/ns/net")
	if limited := output(t, lab.Host("b"), "grep -c fullbore-lab /proc/self/cgroup || true"); (group != "") != (lab.scenario.Hosts.B.CPUs > 0) || group != "" && limited != "1" {
		t.Errorf("host b is not in its control group: %q, %s", group, limited)
	}
	if lab.hosts[0].group != "" {
		t.Errorf("host a, which is not limited, is in %s", lab.hosts[0].group)
	}
	if open := tuns(t) - before; open != 2 {
		t.Errorf("%d TUN devices are open, want that of each host", open)
	}
	if err := lab.Close(); err != nil {
		t.Error(err)
	}
	if err := lab.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	eventually(t, "processes remain", func() bool { return members(namespace) == 0 })
	if open := tuns(t) - before; open != 0 {
		t.Errorf("%d TUN devices are still open", open)
	}
	for _, path := range []string{dir, group} {
		if _, err := os.Stat(path); path != "" && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s remains: %v", path, err)
		}
	}
	if err := lab.Host("a").Command(t.Context(), "true").Start(); err == nil {
		t.Error("a closed lab ran a command")
	}
}

// TestIntegrationHostKilled: a lab that lost a host says so.
func TestIntegrationHostKilled(t *testing.T) {
	lab, err := Start(t.Context(), parse(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.hosts[1].command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := lab.Close(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "host b does not answer") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(lab.place.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its directory remains: %v", err)
	}
}

// runForeground is what lab run does.
func runForeground() error {
	lab, err := Start(context.Background(), limited(), Options{})
	if err != nil {
		return err
	}
	cmd := lab.Host("a").Command(context.Background(), "sh", "-c", `trap 'echo caught; exit 42' INT; echo ready; while :; do sleep 0.1; done`)
	cmd.Stdout = os.Stdout
	exit := new(ExitError)
	if err := cmd.RunForeground(); !errors.As(err, &exit) {
		return err
	}
	_ = lab.Close()
	os.Exit(exit.Code)
	return nil
}

// TestIntegrationInterrupt: Ctrl-C is the command's, which may use it as it likes.
func TestIntegrationInterrupt(t *testing.T) {
	cmd := as("foreground")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	if err := cmd.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	if line, err := lines.ReadString('\n'); line != "caught\n" {
		t.Errorf("got %q, %v", line, err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 42 {
		t.Errorf("got %v", err)
	}
}

// attach is what lab exec does.
func attach() error {
	host, err := Attach(cmp.Or(os.Getenv("TEST_LAB"), os.Getenv("FULLBORE_LAB_ID")), "b")
	if err != nil {
		return err
	}
	cmd := host.Command(context.Background(), "sh", "-c", "hostname; exit 5")
	cmd.Stdout = os.Stdout
	exit := new(ExitError)
	if err := cmd.RunForeground(); !errors.As(err, &exit) {
		return err
	}
	os.Exit(exit.Code)
	return nil
}

// TestIntegrationTwoLabs: from outside each is reached by its number, and on the
// path neither sees the other although their addresses are the same.
func TestIntegrationTwoLabs(t *testing.T) {
	labs := []*Lab{start(t, parse(t)), start(t, parse(t))}
	if _, err := Attach("", "b"); err == nil || !strings.Contains(err.Error(), "several labs are running") {
		t.Errorf("got %v", err)
	}
	for i, lab := range labs {
		id := filepath.Base(lab.place.dir)
		cmd := as("attach", "TEST_LAB="+id)
		if out, err := cmd.Output(); string(out) != "b\n" || cmd.ProcessState.ExitCode() != 5 {
			t.Errorf("lab %s: got %q, %v", id, out, err)
		}
		inside, out := on(lab.Host("a"), "attach") // finds its own lab
		if err := inside.Run(); out.String() != "b\n" {
			t.Errorf("within lab %s: got %q, %v", id, out, err)
		}
		server, _ := on(lab.Host("b"), "listen", fmt.Sprintf("TEST_ANSWER=lab %d", i))
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for i, lab := range labs {
		for _, address := range []string{lab.Host("b").Address().String(), lab.Host("b").Address6().String(), "b"} {
			client, out := on(lab.Host("a"), "dial", "TEST_TO="+net.JoinHostPort(address, "7777"))
			if err := client.Run(); err != nil || out.String() != fmt.Sprintf("lab %d", i) {
				t.Errorf("lab %d by %s: got %q, %v", i, address, out, err)
			}
		}
	}
	if _, err := Attach("no-such-lab", "a"); err == nil {
		t.Error("attached to a lab that does not exist")
	}
	if _, err := Attach(filepath.Base(labs[0].place.dir), "c"); err == nil {
		t.Error("attached to a host that does not exist")
	}
}

func listen() error {
	listener, err := net.Listen("tcp", ":7777")
	if err != nil {
		return err
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		_, _ = io.WriteString(conn, os.Getenv("TEST_ANSWER"))
		_ = conn.Close()
	}
}

// dial tries for a while: the server may not have come up yet.
func dial() error {
	var conn net.Conn
	var err error
	for range 300 {
		if conn, err = net.Dial("tcp", os.Getenv("TEST_TO")); err == nil {
			_, err = io.Copy(os.Stdout, conn)
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// congestion says what congestion control a new connection has.
func congestion() error {
	conn, err := net.Dial("tcp", os.Getenv("TEST_TO"))
	if err != nil {
		return err
	}
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) {
		name, err := unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		fmt.Print(name, err)
	})
}

// TestIntegrationCongestion: a host's congestion control is the scenario's, also
// where the kernel restricts it to the machine's first namespace.
func TestIntegrationCongestion(t *testing.T) {
	for _, name := range []string{"reno", "cubic"} {
		lab := start(t, parse(t, "hosts: {a: {congestion: "+name+"}}", "traffic: [{from: a, to: b, flows: 1}]")) // for its sink
		b := lab.Host("b")
		for _, address := range []string{b.Address().String(), b.Address6().String()} {
			cmd, out := on(lab.Host("a"), "congestion", "TEST_TO="+net.JoinHostPort(address, "9"))
			if err := cmd.Run(); err != nil || out.String() != name+"<nil>" {
				t.Errorf("to %s: got %s, %v, want %s", address, out, err, name)
			}
		}
	}
}

// TestIntegrationTraffic: competing flows cross the path, no faster than the
// shaper of their host lets them.
func TestIntegrationTraffic(t *testing.T) {
	const shaped = 20e6
	lab := start(t, parse(t, "hosts: {b: {shape: 20mbit}}", "traffic: [{from: b, to: a, flows: 2, start: 100ms}, {from: a, to: b, flows: 1, start: 1h}]"))
	began := time.Now()
	eventually(t, "no traffic", func() bool { return lab.Report().BToA.BytesOut > 2e6 })
	sent, most := float64(lab.Report().BToA.BytesIn), shaped/8*(time.Since(began).Seconds()+2*shapeBurst)
	if sent > 1.02*most {
		t.Errorf("%.0f bytes in a time for %.0f", sent, most)
	}
	if r := lab.Report(); r.AToB.BytesOut > r.BToA.BytesOut/4 { // acknowledgements are less
		t.Errorf("what is to begin in an hour has begun: %d bytes, %d come the other way", r.AToB.BytesOut, r.BToA.BytesOut)
	}
	if r := lab.Report(); r.Invalid() != nil || !strings.HasPrefix(r.String(), "lab plain: a to b ") {
		t.Error(r)
	}
}

// TestIntegrationDirections: each direction of a running lab does what the scenario
// says of it, and the report tells what that was.
func TestIntegrationDirections(t *testing.T) {
	s, err := Parse("both.yaml", []byte(`name: both
path:
  a_to_b: {rate: 50mbit, delay: 1ms, outage: {every: 300ms, for: 100ms}}
  b_to_a: {rate: 50mbit, delay: 1ms, duplicate: 5%, strip: [sack]}
traffic: [{from: a, to: b, flows: 1}]`))
	if err != nil {
		t.Fatal(err)
	}
	lab := start(t, s)
	var r Report
	eventually(t, "not both happened", func() bool {
		r = lab.Report()
		return r.AToB.Drops.Outage > 0 && r.BToA.Duplicated > 0
	})
	way, back, _ := strings.Cut(r.String(), "; b to a ")
	if !strings.Contains(way, " dropped in an outage") || strings.Contains(way, "duplicated") {
		t.Errorf("a to b: %s", way)
	}
	if !strings.Contains(back, " duplicated") || !strings.Contains(back, " SYNs rewritten") || strings.Contains(back, "outage") {
		t.Errorf("b to a: %s", back)
	}
}

// TestIntegrationUnprivileged runs other tests as a user without privileges, who
// may open a TUN device; and shows what one is told who may not.
func TestIntegrationUnprivileged(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("not root: all tests of this run are unprivileged")
	}
	if limit, err := os.ReadFile("/proc/sys/user/max_user_namespaces"); err != nil || strings.TrimSpace(string(limit)) == "0" {
		t.Skip("this system has no user namespaces")
	}
	for _, test := range []struct{ mode, want string }{
		{"0666", "PASS"},
		{"0600", "sudo chmod 0666 /dev/net/tun"},
	} {
		cmd := as("unprivileged", "TEST_MODE="+test.mode)
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
		cmd.Stderr = nil
		out, err := cmd.CombinedOutput()
		if !bytes.Contains(out, []byte(test.want)) {
			t.Errorf("device of mode %s: %v, %s", test.mode, err, out)
		}
	}
}

// dropPrivileges makes a TUN device node of the wanted mode, in a mount
// namespace of its own, and runs tests as nobody.
func dropPrivileges() error {
	if err := unix.Mount("tmpfs", "/dev/net", "tmpfs", 0, "mode=0755"); err != nil {
		return err
	}
	if err := unix.Mknod("/dev/net/tun", unix.S_IFCHR|0o600, int(unix.Mkdev(10, 200))); err != nil {
		return err
	}
	if os.Getenv("TEST_MODE") == "0666" {
		if err := os.Chmod("/dev/net/tun", 0o666); err != nil {
			return err
		}
	}
	binary, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	const copied = "/dev/net/lab.test" // where nobody may read it
	if err := os.WriteFile(copied, binary, 0o755); err != nil {
		return err
	}
	const nobody = 65534
	const runtime = "/dev/net/run"
	if err := errors.Join(os.Mkdir(runtime, 0o700), os.Chown(runtime, nobody, nobody)); err != nil {
		return err
	}
	cmd := exec.Command(copied, "-test.run=^(TestIntegrationHost|TestIntegrationCommand|TestIntegrationTwoLabs)$")
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + runtime}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
