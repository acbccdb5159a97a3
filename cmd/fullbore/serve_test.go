package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/peer"
)

// serving starts a far end and gives its port.
func serving(t *testing.T, flags ...string) (port string) {
	t.Helper()
	_, port, err := net.SplitHostPort(farProcess(t, flags...))
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Where `iperf3 -s` ran, with its flags, fullbore serve can.
func TestIntegrationServeInPlaceOfIPerf3(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("iperf3")
	if err != nil {
		t.Skip("iperf3 is not installed")
	}
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	publicPath := file("public.pem", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	login := []string{"--username", "alice", "--rsa-public-key-path", publicPath}

	open := serving(t, "--max-time", "2s", "--max-streams", "2", "--max-clients", "1")
	closed := serving(t, "--use-pkcs1-padding", "--time-skew-threshold", "30",
		"--rsa-private-key-path", file("private.pem", pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
		"--authorized-users-path", file("users.csv", fmt.Appendf(nil, "# name,hash\nalice,%x\n", sha256.Sum256([]byte("{alice}wonderland")))))
	for _, test := range []struct {
		port, options string
		login         []string
		says          string
	}{
		{open, "-t 1 -P 2 -b 10M --get-server-output", nil, `"server_output_json":`},
		{open, "-t 3", nil, `"error":.*duration`},
		{open, "-t 1 -P 3", nil, `"error":.*parallel streams`},
		{closed, "-t 1 -b 10M", login, `"sum_received":`},
		{closed, "-t 1", nil, `"error":.*test authorization failed`},
	} {
		client := exec.CommandContext(t.Context(), program, append(strings.Fields("-J -c 127.0.0.1 -p "+test.port+" "+test.options), test.login...)...)
		client.Env = append(os.Environ(), "IPERF3_PASSWORD=wonderland")
		client.WaitDelay = 20 * time.Second
		if out, _ := client.Output(); !regexp.MustCompile(test.says).Match(out) {
			t.Errorf("iperf3 %s does not say %q:\n%s", test.options, test.says, out)
		}
	}
}

// What Prometheus needs lies in the folder of --metrics, for its owner only, and is
// replaced at the next start; a folder that cannot be written to is said at once.
func TestServeMetricsFiles(t *testing.T) {
	identity, err := peer.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "new", "metrics")
	c := &serveCmd{Metrics: dir}
	for range 2 {
		numbers, err := c.metricsFor(identity, slog.New(slog.DiscardHandler), func() peer.Activity { return peer.Activity{} })
		if err != nil {
			t.Fatal(err)
		}
		if err := numbers.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, want := range map[string]string{credentialsFile: identity.MetricsSecret() + "\n", certificateFile: string(identity.Certificate())} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(text) != want {
			t.Errorf("%s is %q, %v", name, text, err)
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("the folder has %v, %v", left, err)
	}
	var out strings.Builder
	at := &net.TCPAddr{IP: net.IPv4(198, 18, 0, 1), Port: 5201}
	if err := c.announce(&app{stdout: &checkedWriter{Writer: &out}}, at, "fb1-x-y", "", nil); err != nil || !strings.Contains(out.String(), "Metrics: https://198.18.0.1:5201/metrics\n") {
		t.Errorf("it says %s, %v", &out, err)
	}

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := fullbore(t, "serve", "--ephemeral", "--port", "0", "--metrics", file)
	if code != exitFailed || !strings.Contains(stderr, "write what Prometheus needs") || !strings.Contains(stderr, "takes a folder") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
