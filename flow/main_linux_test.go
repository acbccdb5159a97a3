package flow

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/lab"
)

// Tests that need programs on other hosts run this test binary again, in a role.
const roleKey = "FULLBORE_TEST_ROLE"

var roles = map[string]func() error{"receive": receiveRole, "send": sendRole, "look": lookRole, "unprivileged": unprivilegedRole}

func TestMain(m *testing.M) {
	lab.AgentMain()
	role, ok := roles[os.Getenv(roleKey)]
	if !ok {
		// Flows in a lab mostly wait, so that many can do so at a time.
		flag.Parse()
		if err := flag.Set("test.parallel", "16"); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	}
	if err := role(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// behaviour is what the two programs of a flow do. Zero: as much and as fast as
// TCP lets them.
type behaviour struct {
	Read, Write int  // bytes a second
	Window      int  // bytes that the sender has on its way before the receiver says that it took them
	SendBuf     int  // SO_SNDBUF
	Pace        int  // SO_MAX_PACING_RATE, bytes a second
	Silent      bool // nothing is sent
	Congestion  string
	ReadAtFirst int // bytes, then never again; 0: always
	ConnectedTo string
}

const testPort = "7000"

// acked is after how many bytes the receiver answers, if there is a Window.
const acked = 16 << 10

func (b behaviour) env(role, to string) []string {
	b.ConnectedTo = to
	text, err := json.Marshal(b)
	if err != nil {
		panic(err)
	}
	return append(os.Environ(), roleKey+"="+role, "TEST_BEHAVIOUR="+string(text))
}

func ownBehaviour() (b behaviour, err error) {
	return b, json.Unmarshal([]byte(os.Getenv("TEST_BEHAVIOUR")), &b)
}

// receiveRole takes one connection.
func receiveRole() error {
	b, err := ownBehaviour()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", ":"+testPort)
	if err != nil {
		return err
	}
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	buffer := make([]byte, acked)
	taken := 0
	for began := time.Now(); ; {
		n, err := conn.Read(buffer)
		if err != nil {
			return err
		}
		taken += n
		if b.Window > 0 && taken/acked > (taken-n)/acked {
			if _, err := conn.Write([]byte{1}); err != nil {
				return err
			}
		}
		if b.ReadAtFirst > 0 && taken > b.ReadAtFirst {
			time.Sleep(time.Minute)
		}
		pause(began, taken, b.Read)
	}
}

// pause keeps to a rate in bytes a second; 0: none.
func pause(began time.Time, n, rate int) {
	if rate > 0 {
		time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / time.Duration(rate))))
	}
}

// sendRole sends until it is killed.
func sendRole() error {
	b, err := ownBehaviour()
	if err != nil {
		return err
	}
	conn, err := dialPatiently(b.ConnectedTo)
	if err != nil {
		return err
	}
	if err := b.apply(conn); err != nil {
		return err
	}
	if b.Silent {
		time.Sleep(time.Minute)
	}
	credit := make(chan struct{}, 1<<20)
	for range b.Window / acked {
		credit <- struct{}{}
	}
	if b.Window > 0 {
		go func() {
			var answers [1024]byte
			for {
				n, err := conn.Read(answers[:])
				if err != nil {
					return
				}
				for range n {
					credit <- struct{}{}
				}
			}
		}()
	}
	data := make([]byte, acked)
	if b.Write > 0 {
		data = data[:1000]
	}
	sent := 0
	for began := time.Now(); ; {
		if b.Window > 0 {
			<-credit
		}
		n, err := conn.Write(data)
		if err != nil {
			return err
		}
		sent += n
		pause(began, sent, b.Write)
	}
}

func (b behaviour) apply(conn *net.TCPConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		for _, o := range []struct{ level, option, value int }{
			{unix.SOL_SOCKET, unix.SO_SNDBUF, b.SendBuf},
			{unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, b.Pace},
		} {
			if o.value > 0 {
				failed = cmp.Or(failed, unix.SetsockoptInt(int(fd), o.level, o.option, o.value))
			}
		}
		if b.Congestion != "" {
			failed = cmp.Or(failed, unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, b.Congestion))
		}
	})
	return cmp.Or(err, failed)
}

// dialPatiently waits for the server to come up.
func dialPatiently(to string) (*net.TCPConn, error) {
	for range 200 {
		if conn, err := net.Dial("tcp", to); err == nil {
			return conn.(*net.TCPConn), nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil, fmt.Errorf("%s does not answer", to)
}

// lookRole looks as often as TEST_LOOKS says, twice a second, and prints the
// last snapshot.
func lookRole() error {
	looks, err := strconv.Atoi(os.Getenv("TEST_LOOKS"))
	if err != nil {
		return err
	}
	w, err := New()
	if err != nil {
		return err
	}
	defer w.Close()
	var s *Snapshot
	for range looks {
		if s, err = w.Look(context.Background()); err != nil {
			return err
		}
		time.Sleep(500 * time.Millisecond)
	}
	return json.NewEncoder(os.Stdout).Encode(s)
}

// snapshot is what lookRole sees on a host.
func snapshot(t *testing.T, h *lab.Host, looks int) *Snapshot {
	t.Helper()
	cmd := h.Command(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), roleKey+"=look", "TEST_LOOKS="+strconv.Itoa(looks))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	s := &Snapshot{}
	if err := json.NewDecoder(io.LimitReader(&out, 1<<20)).Decode(s); err != nil {
		t.Fatal(err)
	}
	return s
}
