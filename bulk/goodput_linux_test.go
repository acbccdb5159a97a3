package bulk

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/unit"
)

var (
	// Of these sixteen, 10 and 19 read 102 and 109 % when data that had waited was counted.
	draws    = flag.Int("draws", 16, "paths from which TestIntegrationGoodputBound takes every third, with FULLBORE_LONG=1 each")
	firstRun = flag.Int("first-draw", 10, "the number of the first one")
)

// The two ends of a transfer in a lab are this test binary again.
const roleKey, specKey, toKey = "FULLBORE_TEST_ROLE", "TEST_SPEC", "TEST_TO"

func TestMain(m *testing.M) {
	lab.AgentMain()
	role := os.Getenv(roleKey)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := labEnd(role == "client"); err != nil {
		fmt.Fprintln(os.Stderr, role, err)
		os.Exit(1)
	}
}

// drawn is a path and a transfer over it.
type drawn struct {
	Spec
	Started    bool // the caller ends the transfer (Start), not its time (Run)
	Congestion string
	path       string
}

func (d drawn) String() string {
	how := "Run"
	if d.Started {
		how = "Start"
	}
	return fmt.Sprintf("%s %s %s, %d streams, %v omitted, %v measured, %s", d.path, how, d.Direction, d.Streams, d.Omit, d.Duration, d.Congestion)
}

// draw gives the path and transfer of a number: always the same.
func draw(number int) drawn {
	r := rand.New(rand.NewPCG(1, uint64(number)))
	between := func(low, high float64) float64 { return low * math.Pow(high/low, r.Float64()) }
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	rate, trip := between(20e6, 1e9), between(1, 100)
	impaired := pick("", fmt.Sprintf(", loss: %.4f%%", between(0.002, 2)), fmt.Sprintf(", loss: %.4f%%", between(0.002, 2)),
		fmt.Sprintf(", loss: {model: gilbert, p: %.4f%%, r: %.0f%%, loss: %.0f%%}", between(0.001, 0.1), between(5, 50), between(10, 100)),
		fmt.Sprintf(", reorder: {share: %.2f%%, by: %.2fms}", between(0.01, 2), between(0.1, 10)))
	queue := max(10*1500, between(0.1, 3)*rate/8*trip/1000)
	way := fmt.Sprintf("{rate: %.0f, delay: %.3fms, queue: %.0f%s, seed: %d}", rate, trip/2, queue, impaired, number+1)
	spec := Spec{Direction: Direction(pick(string(Forward), string(Reverse))), Streams: 1 + r.IntN(4)}
	spec.Omit = time.Duration(r.IntN(3)) * time.Duration(between(0.15, 0.6)*float64(time.Second))
	spec.Duration = time.Duration(between(0.3, 2) * float64(time.Second))
	return drawn{Spec: spec, Started: r.IntN(3) == 0, Congestion: pick("cubic", "bbr", "bbr", "reno"), path: "{a_to_b: " + way + ", b_to_a: " + way + "}"}
}

// Whatever is lost, reordered or late on the way, and however short it is
// measured, no goodput is above what the path carries: half a percent is for its
// first and last packets. What the machine adds when it is loaded is known: a
// wire that was held up brings afterwards what it owes.
func TestIntegrationGoodputBound(t *testing.T) {
	tight, run, step := 0, 0, 5
	if os.Getenv("FULLBORE_LONG") != "" {
		step = 1
	}
	for number := *firstRun; number < *firstRun+*draws; number += step {
		run++
		d := draw(number)
		carries, got, late := measureIn(t, d)
		share := float64(got) / float64(carries)
		allowed := 1.005 + late.Seconds()/d.Duration.Seconds()
		t.Logf("%3d: %5.1f %% of %v, the lab was up to %v late: %v", number, 100*share, carries, late, d)
		if allowed < 1.02 {
			tight++
		}
		if share > allowed {
			t.Errorf("draw %d: %v on a path that carries %v, %.1f %%: %v", number, got, carries, 100*share, d)
		}
		if got <= 0 {
			t.Errorf("draw %d: nothing was measured: %v", number, d)
		}
	}
	t.Logf("%d of %d draws on a machine that was at most 1.5 %% of the measured time late", tight, run)
}

// measureIn runs a transfer in a lab of its own.
func measureIn(t *testing.T, d drawn) (carries, goodput unit.Rate, late time.Duration) {
	t.Helper()
	s, err := lab.Parse("drawn.yaml", []byte("name: drawn\npath: "+d.path+"\nhosts: {a: {congestion: "+d.Congestion+"}, b: {congestion: "+d.Congestion+"}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.Start(t.Context(), s, lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	spec, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	run := func(host, role string, out *bytes.Buffer) *lab.Cmd {
		cmd := l.Host(host).Command(t.Context(), "/proc/self/exe")
		cmd.Env = append(os.Environ(), roleKey+"="+role, specKey+"="+string(spec), toKey+"="+net.JoinHostPort(l.Host("b").Address().String(), "7000"))
		cmd.Stdout, cmd.Stderr = out, os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	var far, near bytes.Buffer
	server := run("b", "server", &far)
	client := run("a", "client", &near)
	for _, cmd := range []*lab.Cmd{client, server} {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %v", d, err)
		}
	}
	result := Result{Spec: d.Spec}
	for out, end := range map[*bytes.Buffer]*End{&near: &result.Client, &far: &result.Server} {
		if err := json.Unmarshal(out.Bytes(), end); err != nil {
			t.Fatal(err)
		}
	}
	report := l.Report()
	if err := report.Invalid(); err != nil {
		t.Logf("%v: %v", d, err) // it lost packets: no reason to measure more
	}
	stats := report.AToB
	if d.Direction == Reverse {
		stats = report.BToA
	}
	return s.Path.Goodput(&s.Path.AToB), result.Goodput(d.Direction), stats.Lateness.Max
}

// labEnd is one end of a transfer, and writes what it recorded. A connection
// beside it tells the server when the client has stopped.
func labEnd(client bool) error {
	var d drawn
	if err := json.Unmarshal([]byte(os.Getenv(specKey)), &d); err != nil {
		return err
	}
	beside, conns, err := labConnect(d.Spec, client)
	if err != nil {
		return err
	}
	defer beside.Close()
	var end End
	if !d.Started {
		end, err = Run(context.Background(), d.Spec, conns, nil)
	} else {
		end, err = labStart(d.Spec, conns, client, beside)
	}
	if err != nil && !strings.Contains(err.Error(), "reset") {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(end)
}

func labStart(spec Spec, conns []Conn, client bool, beside net.Conn) (End, error) {
	running, err := Start(context.Background(), spec, conns, nil)
	if err != nil {
		return End{}, err
	}
	defer running.Close()
	if client {
		<-running.Due()
		end := running.Stop()
		if _, err := beside.Write([]byte{1}); err != nil {
			return End{}, err
		}
		_, err = io.ReadFull(beside, make([]byte, 1))
		return end, err
	}
	if _, err := io.ReadFull(beside, make([]byte, 1)); err != nil {
		return End{}, err
	}
	end := running.Stop()
	_, err = beside.Write([]byte{1})
	return end, err
}

// labConnect makes the connections of a transfer, and one beside them.
func labConnect(spec Spec, client bool) (beside net.Conn, conns []Conn, err error) {
	var next func() (net.Conn, error)
	if client {
		next = func() (conn net.Conn, err error) {
			for range 500 {
				if conn, err = net.Dial("tcp", os.Getenv(toKey)); err == nil {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			return conn, err
		}
	} else {
		listener, err := net.Listen("tcp", os.Getenv(toKey))
		if err != nil {
			return nil, nil, err
		}
		defer listener.Close()
		next = listener.Accept
	}
	if beside, err = next(); err != nil {
		return nil, nil, err
	}
	for i := range spec.Streams {
		conn, err := next()
		if err != nil {
			return nil, nil, err
		}
		c := Conn{ID: i + 1, Sender: client == (spec.Direction == Forward), Server: !client, TCP: conn.(*net.TCPConn)}
		if err := Prepare(c.TCP, spec, c.Sender); err != nil {
			return nil, nil, err
		}
		conns = append(conns, c)
	}
	return beside, conns, nil
}
