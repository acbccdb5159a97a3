package iperf3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/internal/freeport"
)

// The real server of this machine decides about our logins.
func TestLoginAtRealServer(t *testing.T) {
	if _, err := exec.LookPath("iperf3"); err != nil {
		t.Skip("iperf3 is not installed")
	}
	for name, test := range map[string]struct {
		password string
		want     error
	}{
		"right password": {"rossi", nil},
		"wrong password": {"bianchi", &RemoteError{Number: IEAuthTest}},
	} {
		t.Run(name, func(t *testing.T) {
			c := reachRealServer(t, "--rsa-private-key-path", "testdata/auth/key.pem", "--authorized-users-path", "testdata/auth/users")
			// Before 3.17 it pads by PKCS #1 v1.5: Debian 12 has 3.12.
			who := mario(t, realServerIsOld(t))
			who.Password = test.password
			p := ParametersOf(bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: time.Second})
			var err error
			if p.AuthToken, err = who.token(); err != nil {
				t.Fatal(err)
			}
			if err := c.writeJSON(p); err != nil {
				t.Fatal(err)
			}
			s, err := c.readState(soon)
			if test.want == nil && (s != CreateStreams || err != nil) || test.want != nil && !sameError(err, test.want) {
				t.Errorf("%v, %v", s, err)
			}
		})
	}
}

// reachRealServer starts a server for one test, and says hello to it.
func reachRealServer(t *testing.T, options ...string) *control {
	t.Helper()
	port := freeport.Find(t)
	server := exec.CommandContext(t.Context(), "iperf3", append([]string{"-s", "-1", "-B", "127.0.0.1", "-p", port}, options...)...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	for range 500 {
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		c := newControl(context.Background(), conn)
		t.Cleanup(c.close)
		if err := c.writeCookie(NewCookie()); err != nil {
			t.Fatal(err)
		}
		if s, err := c.readState(soon); s != ParamExchange || err != nil {
			t.Fatal(s, err)
		}
		return c
	}
	t.Fatal("iperf3 does not listen")
	return nil
}

func realServerIsOld(t *testing.T) bool {
	t.Helper()
	out, err := exec.Command("iperf3", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(out), "iperf %d.%d", &major, &minor); err != nil {
		t.Fatal(errors.Join(err, fmt.Errorf("%.40q", out)))
	}
	return major == 3 && minor < 17
}
