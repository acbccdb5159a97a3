package bulk

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/internal/cable"
)

// Two hosts whose cable is pulled: both ends say so within their patience, and
// keep what they measured.
func TestIntegrationPathDies(t *testing.T) {
	for name, spec := range map[string]Spec{
		"timed":    {Direction: Both, Streams: 2, Duration: time.Minute},
		"of bytes": {Direction: Both, Streams: 2, Bytes: 1 << 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const patience = time.Second
			client, server, pull := cabled(t, spec)
			near, far := start(t.Context(), spec, client, patience), start(t.Context(), spec, server, patience)
			time.Sleep(500 * time.Millisecond)
			pull()
			for _, done := range []<-chan outcome{near, far} {
				end := wait(t, done)
				if end.err == nil || end.Error == "" {
					t.Error("no error")
				}
				for _, s := range end.Streams {
					if s.Bytes == 0 || len(s.Samples) < 3 {
						t.Errorf("stream %d: %d bytes and %d samples were kept", s.ID, s.Bytes, len(s.Samples))
					}
				}
			}
		})
	}
}

// Link-local addresses name their interface.
func TestLinkLocal(t *testing.T) {
	spec := Spec{Direction: Both, Streams: 1, Bytes: 1_000_001}
	a, b, _ := cabledAt(t, spec, "fe80::2%cable")
	server := start(t.Context(), spec, b, Patience)
	client, far := wait(t, start(t.Context(), spec, a, Patience)), wait(t, server)
	if client.err != nil || far.err != nil {
		t.Fatalf("client: %v, server: %v", client.err, far.err)
	}
	result := Result{Spec: spec, Client: client.End, Server: far.End}
	for _, d := range spec.Directions() {
		if got := result.Received(d); got != spec.Bytes {
			t.Errorf("%s: received %d of %d bytes", d, got, spec.Bytes)
		}
	}
	if s := client.Streams[0]; !strings.HasPrefix(s.Remote, "[fe80::2%cable]:") {
		t.Errorf("the stream went to %s", s.Remote)
	}
}

// cabled connects the streams of a transfer between two hosts that a cable
// joins, and returns how to pull that.
func cabled(t *testing.T, spec Spec) (client, server []Conn, pull func()) {
	t.Helper()
	return cabledAt(t, spec, "198.18.0.2")
}

func cabledAt(t *testing.T, spec Spec, address string) (client, server []Conn, pull func()) {
	t.Helper()
	c := cable.ForTest(t, cable.Spec{IPv6: strings.Contains(address, ":")})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var listener net.Listener
	check(c.Far.Do(func() (err error) {
		listener, err = net.Listen("tcp", net.JoinHostPort(address, "0"))
		return err
	}))
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	check(err)
	client, server = connectAt(t, listener, net.JoinHostPort(address, port), spec)
	return client, server, func() { check(c.Pull()) }
}
