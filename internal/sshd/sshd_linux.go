// Package sshd gives tests in a sandbox (internal/sandbox) Debian's OpenSSH server, with users of different
// login shells. Linux only.
package sshd

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Server is two of them: "near" on this sandbox's loopback, and "behind", which ssh's configuration
// reaches through it. They end with the test.
type Server struct {
	t   *testing.T
	dir string
}

// Shells are the users, named after their login shells.
var Shells = map[string]string{"bash": "/usr/bin/bash", "dash": "/usr/bin/dash", "tcsh": "/usr/bin/tcsh", "fish": "/usr/bin/fish"}

// Start starts both. From then on the environment's variable has ssh use its configuration.
func Start(t *testing.T, variable string) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir()}
	s.must(os.Chmod(s.dir, 0o755))
	for parent := filepath.Dir(s.dir); parent != "/"; parent = filepath.Dir(parent) {
		_ = os.Chmod(parent, 0o755) // users go through it to their homes
	}
	s.Run("ip", "link", "set", "lo", "up")
	passwd := []byte("root:x:0:0::" + s.In("root") + ":/bin/sh\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n")
	s.must(os.MkdirAll("/run/sshd", 0o755))
	s.must(os.MkdirAll(s.In("root"), 0o700))
	uid := 1000
	for name, shell := range Shells {
		uid++
		passwd = fmt.Appendf(passwd, "%s:x:%d:%d::%s:%s\n", name, uid, uid, s.In(name), shell)
		s.must(os.Mkdir(s.In(name), 0o700))
		s.must(os.Chown(s.In(name), uid, uid))
	}
	s.must(os.WriteFile("/etc/passwd", passwd, 0o644))
	s.Run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", s.In("key"))
	s.Run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", s.In("host"))
	public, err := os.ReadFile(s.In("key.pub"))
	s.must(err)
	s.Write("authorized", string(public))
	config := "HostKey " + s.In("host") + "\nAuthorizedKeysFile " + s.In("authorized") + "\nStrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\nAcceptEnv XDG_RUNTIME_DIR\n"
	s.Write("sshd_config", config)
	for port, address := range map[string]string{"2222": "127.0.0.1", "2223": "127.0.0.2"} {
		s.start("/usr/sbin/sshd", "-D", "-e", "-f", s.In("sshd_config"), "-p", port, "-o", "ListenAddress="+address)
		s.listens(address + ":" + port)
	}
	s.Write("ssh_config", fmt.Sprintf(`Host *
  IdentityFile %s
  UserKnownHostsFile /dev/null
  StrictHostKeyChecking no
  LogLevel ERROR
Host near
  HostName 127.0.0.1
  Port 2222
Host behind
  HostName 127.0.0.2
  Port 2223
  ProxyJump dash@near
`, s.In("key")))
	s.must(os.Setenv(variable, "ssh -F "+s.In("ssh_config")))
	return s
}

// In is the place of a file of the server; of a user's name it is the home.
func (s *Server) In(name string) string { return filepath.Join(s.dir, name) }

func (s *Server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// Write makes a file there, and the folders above it.
func (s *Server) Write(name, text string) {
	s.t.Helper()
	s.must(os.MkdirAll(filepath.Dir(s.In(name)), 0o755))
	s.must(os.WriteFile(s.In(name), []byte(text), 0o644))
}

// Mount puts an empty file system over a folder.
func (s *Server) Mount(at string, flags uintptr, options string) {
	s.t.Helper()
	s.must(unix.Mount("tmpfs", at, "tmpfs", flags, options))
	s.t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
}

// Run runs a command, which must succeed.
func (s *Server) Run(name string, args ...string) {
	s.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		s.t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

func (s *Server) start(name string, args ...string) {
	s.t.Helper()
	command := exec.Command(name, args...)
	var said bytes.Buffer
	command.Stderr = &said
	s.must(command.Start())
	s.t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if s.t.Failed() {
			s.t.Logf("%s: %s", name, said.String())
		}
	})
}

func (s *Server) listens(address string) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("nobody listens on %s", address)
		}
	}
}
