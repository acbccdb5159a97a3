package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fullbore/fullbore/watch"
)

// ownFlow opens a connection of this process to itself, and gives its port.
func ownFlow(t *testing.T) (port string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	near, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close(); listener.Close() })
	_, port, err = net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// TestWatchExport: what Prometheus gets is what Prometheus reads.
func TestWatchExport(t *testing.T) {
	port := ownFlow(t)
	command := exec.CommandContext(t.Context(), self(t), "watch", "--interval", "100ms", "--all", "--port", port, "--prometheus-listen", "127.0.0.1:0")
	said, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = command.Process.Signal(os.Interrupt)
		if err := command.Wait(); err != nil {
			t.Errorf("after Ctrl-C: %v", err)
		}
	}()
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(strings.TrimPrefix(line, ".. metrics at "))

	var text string
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		response, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if text = string(all); response.StatusCode == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %s", response.Status, text)
		}
	}
	for _, want := range []string{"fullbore_watch_open_flows ", `fullbore_watch_cause_flows{cause="idle"} 2`, `remote="127.0.0.1:` + port + `"`} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing of %q in\n%s", want, text)
		}
	}
	if program, err := exec.LookPath("promtool"); err != nil {
		t.Log("promtool is not installed: what it would say is not known")
	} else {
		check := exec.CommandContext(t.Context(), program, "check", "metrics")
		check.Stdin = strings.NewReader(text)
		if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("promtool check metrics: %v\n%s", err, out)
		}
	}
	for path, want := range map[string]int{"/": http.StatusNotFound, "/metrics/x": http.StatusNotFound} {
		response, err := http.Get(strings.TrimSuffix(url, "/metrics") + path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: %s", path, response.Status)
		}
	}
}

// TestWatchUnprivileged: another user still sees all flows, and is told what he
// may not see.
func TestWatchUnprivileged(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to become someone else")
	}
	port := ownFlow(t)
	program, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "fullbore") // which anyone may enter, unlike a test's own
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "fullbore")
	if err := os.WriteFile(copied, program, 0o755); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), copied, "watch", "--once", "--json", "--all", "--port", port)
	command.Dir = "/"
	const nobody = 65534
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var seen watch.Document
	if err := json.Unmarshal(out, &seen); err != nil {
		t.Fatal(err)
	}
	if len(seen.Flows) != 2 || seen.Flows[0].Process != "" || seen.Hidden < 2 || len(seen.Notes) == 0 {
		t.Errorf("seen by someone else: %s", out)
	}
	t.Log(seen.Notes)
}
