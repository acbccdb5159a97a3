package peer

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// serverEnv makes the test binary a far end of its own, which tests can kill.
const serverEnv = "FULLBORE_PEER_TEST_SERVER"

// Tests that run beside others mostly wait for the other end: more of them go
// at once than there are processors, unless -parallel is given.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "6")
	if os.Getenv(serverEnv) == "" {
		os.Exit(m.Run())
	}
	if err := beServer(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func beServer() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server, err := NewServer(Config{})
	if err != nil {
		return err
	}
	listener, packets, err := Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	return server.Serve(ctx, listener, packets)
}

// farEnd serves within this process until the test ends.
type farEnd struct {
	*Server
	address string
	stop    func() error // and wait
}

func startFarEnd(t *testing.T, config Config, address string) *farEnd {
	t.Helper()
	return startHasty(t, config, address, usualTiming)
}

// hasty waits for clients as a far end does, only not as long.
var hasty = timing{decide: time.Second, request: time.Second, attach: time.Second, silent: 1500 * time.Millisecond}

func startHasty(t *testing.T, config Config, address string, patience timing) *farEnd {
	t.Helper()
	server, err := newServer(config, patience)
	if err != nil {
		t.Fatal(err)
	}
	listener, packets, err := Listen(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener, packets) }()
	stop := func() error {
		cancel()
		err := <-ended
		ended <- nil // who has stopped it knows
		return err
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("far end: %v", err)
		}
	})
	return &farEnd{Server: server, address: listener.Addr().String(), stop: stop}
}

func (f *farEnd) dial(t *testing.T, token string) *Client {
	t.Helper()
	client, err := Dial(t.Context(), f.address, token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// startProcess starts a far end that can be killed.
func startProcess(t *testing.T) (address string, process *os.Process) {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), serverEnv+"=1")
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), command.Process
}

// generous is a bound against hangs, not a measure.
const generous = 20 * time.Second

func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, done := context.WithTimeout(t.Context(), limit)
	t.Cleanup(done)
	return ctx
}

// eventually waits for something that another goroutine does.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(generous); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

func (f *farEnd) running() int { return f.places.running() }

func short(d bulk.Direction, streams int) bulk.Spec {
	return bulk.Spec{Direction: d, Streams: streams, Duration: 300 * time.Millisecond}
}

func wantKind(t *testing.T, err, kind error, says ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error is %v, want one that is %q", err, kind)
	}
	for _, part := range says {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func rawDial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, generous)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(generous))
	return conn
}
