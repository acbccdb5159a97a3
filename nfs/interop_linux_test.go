package nfs_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/fullbore/fullbore/internal/sandbox"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/synthetic"
)

// others is where .ci/install unpacks other people's programs.
var others = filepath.Join("..", "bin", "debian")

// other is a command of other people, with the libraries that came with it.
func other(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	root, err := filepath.Abs(others)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "usr/bin", program), args...)
	if _, err := os.Stat(cmd.Path); err != nil {
		cmd.Path = filepath.Join(root, "usr/sbin", program)
	}
	if _, err := os.Stat(cmd.Path); err != nil {
		t.Skipf("needs %s, which is not in %s, where .ci/install unpacks it", program, others)
	}
	lib := filepath.Join(root, "usr/lib")
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join([]string{lib + "/x86_64-linux-gnu", lib + "/x86_64-linux-gnu/samba", lib + "/ganesha"}, ":"))
	return cmd
}

// output is what a command printed.
func output(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", cmd, err, &errs)
	}
	return out
}

func loopbackUp(t *testing.T) {
	t.Helper()
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ganeshaPort is where it listens, with MOUNT beside it.
const ganeshaPort = 20_490

// startGanesha starts a portmapper and NFS-Ganesha with files in memory.
func startGanesha(t *testing.T) {
	t.Helper()
	for name, text := range map[string]string{
		"passwd":    "root:x:0:0::/:/bin/sh\n_rpc:x:106:65534::/run:/bin/false\n", // whom the portmapper becomes
		"netconfig": "udp tpi_clts v inet udp - -\ntcp tpi_cots_ord v inet tcp - -\nlocal tpi_cots_ord - loopback - - -\n",
		"services":  "sunrpc 111/tcp portmapper\nsunrpc 111/udp portmapper\n",
		"protocols": "tcp 6 TCP\nudp 17 UDP\n",
		"hosts":     "127.0.0.1 localhost\n",
	} {
		if err := os.WriteFile(filepath.Join("/etc", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "ganesha.conf")
	text := fmt.Sprintf(`
NFS_CORE_PARAM { NFS_Port = %d; MNT_Port = %d; Protocols = 3, 4; Enable_NLM = false; Enable_RQUOTA = false; Plugins_Dir = %q; }
NFSv4 { Graceless = true; RecoveryBackend = fs; RecoveryRoot = %q; UseGetpwnam = true; Only_Numeric_Owners = true; Minor_Versions = 1, 2; }
MEM { Inode_Size = 2097152; }
EXPORT { Export_Id = 1; Path = /mem; Pseudo = /mem; Access_Type = RW; Squash = None; SecType = sys; Protocols = 3, 4; Transports = TCP; FSAL { Name = MEM; } }
`, ganeshaPort, ganeshaPort+1, filepath.Join(filepath.Dir(filepath.Dir(other(t, "ganesha.nfsd").Path)), "lib/x86_64-linux-gnu/ganesha"), dir)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "log")
	listens(t, 111, log, other(t, "rpcbind", "-f", "-i"))
	listens(t, ganeshaPort, log, other(t, "ganesha.nfsd", "-F", "-L", log, "-N", "EVENT", "-f", config, "-p", filepath.Join(dir, "pid")))
}

// listens starts a server and waits until it listens.
func listens(t *testing.T, port int, log string, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(end) {
			said, _ := os.ReadFile(log) // there is none of a server that did not come that far
			t.Fatalf("%s does not listen: %v\n%s", cmd, err, said)
		}
	}
}

// TestIntegrationGanesha: a server that others wrote answers what this client asks, in both
// versions, found by its portmapper or by its ports, over one connection and several; and
// what was written is there for a client that others wrote.
func TestIntegrationGanesha(t *testing.T) {
	other(t, "nfs-cp")
	if !sandbox.Run(t) {
		return
	}
	defer sandbox.KillOthers()
	loopbackUp(t)
	startGanesha(t)
	stock := func(file string) string {
		return fmt.Sprintf("nfs://127.0.0.1/mem/%s?version=3&nfsport=%d&mountport=%d", file, ganeshaPort, ganeshaPort+1)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	const size, seed = 64 << 10, 7
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(data)
	for i, options := range []string{"version=3", fmt.Sprintf("version=3&mountport=%d", ganeshaPort+1), "version=4.1", "version=4.2", ""} {
		name := fmt.Sprintf("file%d", i)
		output(t, other(t, "nfs-cp", empty, stock(name)))
		target, err := nfs.ParseTarget(fmt.Sprintf("nfs://127.0.0.1:%d/mem/%s?%s", ganeshaPort, name, options))
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			op          nfs.Op
			connections int
		}{{nfs.Null, 1}, {nfs.GetAttr, 2}, {nfs.Write, 1}, {nfs.Commit, 1}, {nfs.Read, 1}, {nfs.Read, 3}} {
			m, err := nfs.Open(t.Context(), target, nfs.Options{Connections: step.connections, Depth: 12, Within: 20 * time.Second})
			if err != nil {
				t.Fatalf("%s: %v", options, err)
			}
			f, err := m.Run(t.Context(), nfs.Load{
				Op: step.op, Size: size, Depth: 12, Duration: 200 * time.Millisecond, Seed: seed,
				Check: func(at int64, part []byte) error {
					if from := int(at % size); !bytes.Equal(part, data[from:from+len(part)]) {
						return fmt.Errorf("the %d bytes at %d are others than were written", len(part), at)
					}
					return nil
				},
			}, nil)
			if err != nil {
				t.Fatalf("%s, %v over %d connections: %v", options, step.op, step.connections, err)
			}
			t.Logf("%s, version %s, %v over %d connections: %.0f a second, %.3g in flight", options, m.Version, step.op, step.connections, f.Rate(), f.InFlight())
			if want := [...]string{"3", "3", "4.1", "4.2", "4.1"}[i]; f.Requests == 0 || m.Version != want {
				t.Errorf("%s, %v: version %s, %+v", options, step.op, m.Version, f.Share)
			}
			if err := m.Close(); err != nil {
				t.Errorf("%s: %v", options, err)
			}
		}
		if got := output(t, other(t, "nfs-cat", stock(name))); !bytes.Equal(got, data) {
			t.Errorf("%s: a client of others reads %d bytes, other ones than were written", options, len(got))
		}
	}
}

// TestIntegrationStockClient: a client that others wrote reads the synthetic files.
func TestIntegrationStockClient(t *testing.T) {
	other(t, "nfs-cat")
	if !sandbox.Run(t) {
		return
	}
	defer sandbox.KillOthers()
	loopbackUp(t)
	const size = 3<<20 + 17
	server, err := synthetic.New(synthetic.Config{
		Files: []synthetic.File{{Name: "some", Size: size}, {Name: "none"}}, Writes: true, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(ctx, l) })
	t.Cleanup(func() { stop(); serving.Wait() }) // it logs to this test
	port := l.Addr().(*net.TCPAddr).Port
	at := func(file string) string {
		return fmt.Sprintf("nfs://127.0.0.1%s%s?version=3&nfsport=%d&mountport=%d", synthetic.Root, file, port, port)
	}

	if got := output(t, other(t, "nfs-cat", at("/some"))); !bytes.Equal(got, synthetic.Content(0, size)) {
		t.Errorf("it reads %d bytes, other ones than there are", len(got))
	}
	list := string(output(t, other(t, "nfs-ls", at(""))))
	for _, file := range []string{fmt.Sprintf("%d some", size), "0 none"} {
		if !strings.Contains(list, file) {
			t.Errorf("it lists no %q:\n%s", file, list)
		}
	}
	copied := filepath.Join(t.TempDir(), "copied")
	if err := os.WriteFile(copied, bytes.Repeat([]byte("fullbore"), 100_000), 0o644); err != nil {
		t.Fatal(err)
	}
	output(t, other(t, "nfs-cp", copied, at("/new")))
	if list := string(output(t, other(t, "nfs-ls", at("")))); !strings.Contains(list, "800000 new") {
		t.Errorf("what it wrote is not there:\n%s", list)
	}
}
