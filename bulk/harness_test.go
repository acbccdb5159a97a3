package bulk

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// connect makes the connections of a transfer over the loopback: those of the
// dialling end and those of the accepting one, prepared as spec says.
func connect(t testing.TB, spec Spec) (client, server []Conn) {
	t.Helper()
	config := net.ListenConfig{Control: Control(Spec{RecvBuf: spec.RecvBuf, SendBuf: spec.SendBuf})}
	config.SetMultipathTCP(false)
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return connectTo(t, listener, spec)
}

func connectTo(t testing.TB, listener net.Listener, spec Spec) (client, server []Conn) {
	t.Helper()
	return connectAt(t, listener, listener.Addr().String(), spec)
}

func connectAt(t testing.TB, listener net.Listener, address string, spec Spec) (client, server []Conn) {
	t.Helper()
	dialer := net.Dialer{Control: Control(spec)}
	add := func(clientSends bool) {
		c, err := dialer.DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		s, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		id := len(client) + 1
		client = append(client, Conn{ID: id, Sender: clientSends, TCP: c.(*net.TCPConn)})
		server = append(server, Conn{ID: id, Sender: !clientSends, Server: true, TCP: s.(*net.TCPConn)})
	}
	for range spec.Streams {
		if spec.Direction != Reverse {
			add(true)
		}
		if spec.Direction != Forward {
			add(false)
		}
	}
	for _, conn := range append(slices.Clip(client), server...) {
		if err := Prepare(conn.TCP, spec, conn.Sender); err != nil {
			t.Fatal(err)
		}
	}
	return client, server
}

// outcome is what Run returned at one end.
type outcome struct {
	End
	err error
}

// start runs one end.
func start(ctx context.Context, spec Spec, conns []Conn, patience time.Duration) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		end, err := run(ctx, spec, conns, nil, nil, patience)
		done <- outcome{end, err}
	}()
	return done
}

// transferOver runs both ends to the end.
func transferOver(t testing.TB, spec Spec) (client, server outcome) {
	t.Helper()
	a, b := connect(t, spec)
	var both sync.WaitGroup
	both.Go(func() { server = <-start(t.Context(), spec, b, Patience) })
	client = <-start(t.Context(), spec, a, Patience)
	both.Wait()
	return client, server
}

// wait returns what one end came to, or fails when it hangs.
func wait(t *testing.T, done <-chan outcome) outcome {
	t.Helper()
	select {
	case end := <-done:
		return end
	case <-time.After(20 * time.Second):
		t.Fatal("the transfer did not end within 20 s")
		return outcome{}
	}
}
