// Package postgres gives tests a PostgreSQL server of their own, on a Unix socket.
package postgres

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is one that runs.
type Server struct {
	Address string // of its one database

	t       testing.TB
	command func(name string, args ...string) *exec.Cmd
	dir     string
	process *os.Process
	said    bytes.Buffer
	ended   chan struct{}
}

// Start runs a server until the test's end, and gives the address of its one
// database, without tables. The test is skipped where PostgreSQL is not installed.
func Start(t testing.TB) (address string) {
	t.Helper()
	return New(t).Address
}

// New runs a server until the test's end: see [Start].
func New(t testing.TB) *Server {
	t.Helper()
	programs := find(t)
	dir, err := os.MkdirTemp("", "pg") // short: the name of a socket has 107 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	user := "nobody"
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, dir: dir, Address: fmt.Sprintf("postgres:///postgres?host=%s&user=%s", url.QueryEscape(dir), user)}
	if err := os.Mkdir(s.data(), 0o700); err != nil {
		t.Fatal(err)
	}
	as := unprivileged(t, dir, s.data())
	s.command = func(name string, args ...string) *exec.Cmd {
		c := exec.Command(filepath.Join(programs, name), args...)
		c.Dir, c.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TZ=UTC"}
		as(c)
		return c
	}
	if out, err := s.command("initdb", "-D", s.data(), "-U", user, "--auth=trust", "--no-sync", "-E", "UTF8").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	t.Cleanup(func() { s.Stop(os.Interrupt) }) // "fast shutdown"
	s.Run()
	return s
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Run starts the server where it was stopped, and waits until it answers.
func (s *Server) Run() {
	s.t.Helper()
	server := s.command("postgres", "-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB")
	s.said.Reset()
	server.Stdout, server.Stderr = &s.said, &s.said
	if err := server.Start(); err != nil {
		s.t.Fatalf("postgres: %v", err)
	}
	ended := make(chan struct{})
	s.process, s.ended = server.Process, ended
	go func() {
		defer close(ended)
		_ = server.Wait() // what it said tells more
	}()
	for range 300 {
		select {
		case <-ended:
			s.t.Fatalf("postgres ended: %s", s.said.Bytes())
		default:
		}
		if conn, err := pgx.Connect(context.Background(), s.Address); err == nil {
			_ = conn.Close(context.Background())
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.t.Fatal("postgres does not answer within 30 s")
}

// Stop ends the server by a signal, and waits: os.Interrupt has it write all first, SIGQUIT has it
// recover when it is run again. One that has ended already is let be.
func (s *Server) Stop(how os.Signal) {
	if s.process == nil {
		return
	}
	_ = s.process.Signal(how)
	select {
	case <-s.ended:
	case <-time.After(10 * time.Second):
		_ = s.process.Kill()
		<-s.ended
	}
	s.process = nil
}

// find gives the folder of the server's programs: Debian has one for each version.
func find(t testing.TB) string {
	t.Helper()
	if name, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(name)
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		t.Skip("PostgreSQL is not installed")
	}
	return strings.TrimSuffix(found[len(found)-1], "/initdb")
}
