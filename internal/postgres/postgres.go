// Package postgres gives tests a PostgreSQL server of their own, on a Unix socket.
package postgres

import (
	"bytes"
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

// Start runs a server until the test's end, and gives the address of its one
// database, without tables. The test is skipped where PostgreSQL is not installed.
func Start(t testing.TB) (address string) {
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
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	as := unprivileged(t, dir, data)
	command := func(name string, args ...string) *exec.Cmd {
		c := exec.Command(filepath.Join(programs, name), args...)
		c.Dir, c.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TZ=UTC"}
		as(c)
		return c
	}
	if out, err := command("initdb", "-D", data, "-U", user, "--auth=trust", "--no-sync", "-E", "UTF8").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	server := command("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB")
	var said bytes.Buffer
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		t.Fatalf("postgres: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Wait() // what it said tells more
	}()
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt) // "fast shutdown"
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = server.Process.Kill()
			<-ended
		}
	})
	address = fmt.Sprintf("postgres:///postgres?host=%s&user=%s", url.QueryEscape(dir), user)
	for range 300 {
		select {
		case <-ended:
			t.Fatalf("postgres ended: %s", said.Bytes())
		default:
		}
		if conn, err := pgx.Connect(t.Context(), address); err == nil {
			_ = conn.Close(t.Context())
			return address
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("postgres does not answer within 30 s\n%s", said.Bytes())
	return ""
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
