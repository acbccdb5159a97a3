package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/unit"
	"github.com/fullbore/fullbore/watch"
)

// TestIntegrationWatch watches other people's programs on a path of 400 Mb/s and
// 150 ms, which TCP itself could fill.
func TestIntegrationWatch(t *testing.T) {
	for _, program := range []string{"/usr/sbin/sshd", "ssh-keygen", "scp", "/usr/sbin/nginx", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s (Debian: openssh-server, openssh-client, nginx-light, curl)", program)
		}
	}
	far := filepath.Join("testdata", "far.yaml")
	zeros := filepath.Join(t.TempDir(), "zeros") // takes no room on the disk
	if err := os.WriteFile(zeros, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(zeros, 4<<30); err != nil {
		t.Fatal(err)
	}

	// Each has a path of its own: another's slow start would fill the queue.
	t.Run("scp", func(t *testing.T) {
		t.Parallel()
		w := newTwo(t, far)
		copyTo := w.ssh()
		stop := w.run("a", copyTo(zeros)...)
		defer stop()
		one := w.watch("a", []string{"--process", "ssh"}, "a window of about 2 MiB of ssh", func(flows []flow.Flow) bool {
			return len(flows) == 1 && about(flows[0], 2*unit.MiB)
		})[0]
		if one.Process != "ssh" || !one.Sends || one.Remote.Addr() != w.lab.Host("b").Address() {
			t.Errorf("who and where to: %+v", one)
		}
		words := one.Limit.Says + " " + one.Limit.Action
		for _, want := range []string{"ssh", "about 2 MiB", "TCP tuning will not help", "HPN-SSH", "several transfers"} {
			if !strings.Contains(words, want) {
				t.Errorf("nothing of %q in: %s", want, words)
			}
		}
		if q := one.Limit.Predicted / one.Goodput; q < 1.8 || q > 2.2 {
			t.Errorf("one moves %v, of two %v is predicted: want twice as much", one.Goodput, one.Limit.Predicted)
		}
		defer w.run("a", copyTo(zeros)...)()
		w.watch("a", []string{"--process", "ssh"}, "two that move "+one.Limit.Predicted.String()+", as predicted", func(flows []flow.Flow) bool {
			if len(flows) != 2 {
				return false
			}
			q := (flows[0].Goodput + flows[1].Goodput) / one.Limit.Predicted
			return q > 0.85 && q < 1.15
		})
	})

	t.Run("HTTP/2 upload", func(t *testing.T) {
		t.Parallel()
		w := newTwo(t, far)
		w.nginx()
		defer w.run("a", "curl", "-sS", "--http2-prior-knowledge", "-T", zeros, "http://"+w.b()+":8080/upload/zeros")()
		f := w.watch("a", []string{"--process", "curl"}, "a window of 64 KiB", func(flows []flow.Flow) bool {
			return len(flows) == 1 && about(flows[0], 64*unit.KiB)
		})[0]
		if words := f.Limit.Says + " " + f.Limit.Action; !strings.Contains(words, "HTTP/2") {
			t.Errorf("nothing of HTTP/2 in: %s", words)
		}
	})

	t.Run("slow reader", func(t *testing.T) {
		t.Parallel()
		w := newTwo(t, far)
		w.nginx()
		defer w.run("a", "curl", "-sS", "--limit-rate", "4M", "-o", "/dev/null", "http://"+w.b()+":8082/"+filepath.Base(zeros), "--get")()
		slow := func(flows []flow.Flow) bool { return len(flows) == 1 && flows[0].Limit.Cause == diagnose.SlowReceiver }
		f := w.watch("a", []string{"--process", "curl"}, "slow-receiver", slow)[0]
		if f.Sends || f.Remote.Port() != 8082 {
			t.Errorf("who and where from: %+v", f)
		}
		if f = w.watch("b", []string{"--port", "8082"}, "slow-receiver", slow)[0]; !f.Sends || f.Process != "nginx" {
			t.Errorf("seen by the sender: %+v", f)
		}
	})
}

// about says whether a flow is held by a window of an application, of about a
// size: within a fifth, as goodput and round trips are measured.
func about(f flow.Flow, size unit.Size) bool {
	window, ok := f.Limit.Value("implied_window")
	return ok && f.Limit.Cause == diagnose.ApplicationWindow && window > 0.8*float64(size) && window < 1.2*float64(size)
}

// watch looks at the flows of a host that flags select, until they are as they
// should be: a connection has to open its window first, and a machine that is
// busy with other things lets it wait.
func (w *two) watch(host string, flags []string, want string, ok func([]flow.Flow) bool) []flow.Flow {
	w.t.Helper()
	var seen watch.Document
	for range 12 {
		out, err := output(w.t, w.lab.Host(host), append([]string{"fullbore", "watch", "--once", "--json"}, flags...)...)
		if err != nil {
			w.t.Fatal(err)
		}
		seen = watch.Document{}
		if err := json.Unmarshal(out, &seen); err != nil {
			w.t.Fatalf("%v in %s", err, out)
		}
		if seen.Schema != watch.Schema {
			w.t.Fatalf("schema %q", seen.Schema)
		}
		for i := range seen.Flows {
			f := &seen.Flows[i]
			w.t.Logf("%s: %s %v, %v: %s. %s", host, f.Process, f.Remote, f.Goodput, f.Limit.Cause, f.Limit.Says)
		}
		if ok(seen.Flows) {
			return seen.Flows
		}
	}
	w.t.Fatalf("on %s with %v: want %s", host, flags, want)
	return nil
}

// run runs a command on a host until stop is called.
func (w *two) run(host string, args ...string) (stop func()) {
	w.t.Helper()
	command := w.lab.Host(host).Command(w.t.Context(), args[0], args[1:]...)
	said := &lastLines{}
	command.Stdout, command.Stderr = said, said
	if err := command.Start(); err != nil {
		w.t.Fatal(err)
	}
	return func() {
		_ = command.Signal(syscall.SIGTERM) // it may have ended by itself
		if err := command.Wait(); err != nil {
			w.t.Logf("%s: %v: %s", args[0], err, said)
		}
	}
}

// ssh starts an SSH server on host b, and gives the command that copies a file
// there.
func (w *two) ssh() func(file string) []string {
	w.t.Helper()
	dir := w.t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, key := range []string{"host", "user"} {
		if out, err := exec.CommandContext(w.t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", in(key)).CombinedOutput(); err != nil {
			w.t.Fatalf("%v: %s", err, out)
		}
	}
	config := fmt.Sprintf("Port 22\nHostKey %s\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nPermitRootLogin prohibit-password\nPidFile none\nSubsystem sftp internal-sftp\n", in("host"), in("user.pub"))
	if err := os.WriteFile(in("config"), []byte(config), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // where it separates privileges
		w.t.Fatal(err)
	}
	w.t.Cleanup(w.run("b", "/usr/sbin/sshd", "-D", "-e", "-f", in("config")))
	w.listens(22)
	me, err := user.Current()
	if err != nil {
		w.t.Fatal(err)
	}
	copies := 0
	return func(file string) []string {
		copies++
		return []string{"scp", "-q", "-F", "/dev/null", "-c", "aes128-gcm@openssh.com", "-i", in("user"), "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
			file, me.Username + "@" + w.b() + ":" + in("copy"+strconv.Itoa(copies))}
	}
}

// nginx starts a web server on host b: it takes uploads over HTTP/2 on port 8080
// and passes them on as they come, so that its flow control holds the sender to
// http2_body_preread_size, 64 KiB; and has a large file on port 8082.
func (w *two) nginx() {
	w.t.Helper()
	dir := w.t.TempDir()
	config := filepath.Join(dir, "nginx.conf")
	text := strings.ReplaceAll(nginxConfig, "DIR", dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "zeros"), nil, 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "zeros"), 4<<30); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(w.run("b", "/usr/sbin/nginx", "-c", config, "-e", "stderr"))
	w.listens(8080)
}

const nginxConfig = `
daemon off;
master_process off;
pid DIR/pid;
events {}
http {
	access_log off;
	client_max_body_size 0;
	client_body_temp_path DIR/body;
	proxy_temp_path DIR/proxy;
	fastcgi_temp_path DIR/fastcgi;
	uwsgi_temp_path DIR/uwsgi;
	scgi_temp_path DIR/scgi;
	server {
		listen 8080 http2;
		location / { proxy_pass http://127.0.0.1:8081; proxy_request_buffering off; proxy_http_version 1.1; }
	}
	server {
		listen 127.0.0.1:8081;
		location / { root DIR; dav_methods PUT; create_full_put_path on; }
	}
	server {
		listen 8082;
		location / { root DIR; }
	}
}
`

// listens waits until something listens on a port of host b.
func (w *two) listens(port int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("something listens on port %d", port), func() bool {
		out, err := output(w.t, w.lab.Host("b"), "cat", "/proc/net/tcp")
		return err == nil && bytes.Contains(out, fmt.Appendf(nil, ":%04X 00000000:0000 0A", port))
	})
}
