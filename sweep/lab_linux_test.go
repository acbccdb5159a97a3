package sweep

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/peer"
)

// The two hosts of a lab run this test binary again, in a role.
const (
	roleKey = "FULLBORE_TEST_ROLE"
	farKey  = "FULLBORE_TEST_FAR"
)

var roles = map[string]func(ctx context.Context) error{"far": farRole, "near": nearRole}

func TestMain(m *testing.M) {
	lab.AgentMain()
	role, ok := roles[os.Getenv(roleKey)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := role(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// farRole is a far end that prints its token.
func farRole(ctx context.Context) error {
	server, err := peer.NewServer(peer.Config{})
	if err != nil {
		return err
	}
	listener, packets, err := peer.Listen(ctx, ":5201")
	if err != nil {
		return err
	}
	fmt.Println(server.TokenString())
	return server.Serve(ctx, listener, packets)
}

// nearRole does what a Remote asks for.
func nearRole(ctx context.Context) error {
	far, err := peer.Dial(ctx, os.Getenv(farKey), os.Getenv("FULLBORE_TOKEN"))
	if err != nil {
		return err
	}
	defer far.Close()
	hosts, err := Meet(ctx, Near{Facts: host.Collect}, far, Measure{})
	if err != nil {
		return err
	}
	return Serve(ctx, os.Stdin, os.Stdout, hosts)
}

// labEnds are the ends of a running lab. What the lab itself lost is no measurement.
type labEnds struct {
	*Remote
	lab *lab.Lab
}

func (e labEnds) Transfer(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
	r, err := e.Remote.Transfer(ctx, spec, watch)
	if invalid := e.lab.Report().Invalid(); invalid != nil {
		return nil, invalid
	}
	return r, err
}

// openLab starts a lab with a far end on b, and asks a.
func openLab(_ context.Context, scenario *lab.Scenario) (ends Ends, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	l, err := lab.Start(ctx, scenario, lab.Options{})
	if err != nil {
		cancel()
		return nil, err
	}
	defer func() {
		if err != nil {
			cancel()
			err = errors.Join(err, l.Close())
		}
	}()
	announced, announce, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer announced.Close()
	far := l.Host("b").Command(ctx, "/proc/self/exe")
	far.Env, far.Stdout, far.Stderr = append(os.Environ(), roleKey+"=far"), announce, os.Stderr
	err = far.Start()
	announce.Close()
	if err != nil {
		return nil, err
	}
	token, err := bufio.NewReader(announced).ReadString('\n')
	if err != nil {
		return nil, err
	}
	questions, ask, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	answers, answer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	near := l.Host("a").Command(ctx, "/proc/self/exe")
	address := netip.AddrPortFrom(l.Host("b").Address(), 5201)
	near.Env = append(os.Environ(), roleKey+"=near", farKey+"="+address.String(), "FULLBORE_TOKEN="+strings.TrimSpace(token))
	near.Stdin, near.Stdout, near.Stderr = questions, answer, os.Stderr
	err = near.Start()
	questions.Close()
	answer.Close()
	if err != nil {
		return nil, err
	}
	return labEnds{NewRemote(ask, answers, func() error {
		ask.Close()
		ended := near.Wait()
		cancel()
		return errors.Join(ended, l.Close())
	}), l}, nil
}

// TestIntegrationWindowsOfPaths: on real kernels, a window of 64 KiB carries a quarter
// on a path four times as long, as the law has it; 1 MiB fills both; and every path is
// taken down.
func TestIntegrationWindowsOfPaths(t *testing.T) {
	scenario, err := lab.Parse("x.yaml", []byte("name: short\npath: {a_to_b: {rate: 60mbit, delay: 5ms}}"))
	if err != nil {
		t.Fatal(err)
	}
	spec := parse(t, "factors: {path.rtt: [20ms, 80ms], buffers: [64KiB, 1MiB]}\nmeasure: {duration: 500ms, omit: 500ms}\nblocks: 2\nlaw: window\n")
	doc, err := Run(t.Context(), spec, NewPaths(scenario, LabHosts(), openLab), &Memory{}, &log{})
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]*PointResult{}
	for i := range doc.Points {
		p := &doc.Points[i]
		at[p.point.String()] = p
		t.Logf("%s: %v of %v, in effect %v, %v", p.point, p.Goodput, p.Law, p.Taken, p.Notes)
		if p.Runs != 2 {
			t.Errorf("%s: %d runs", p.point, p.Runs)
		}
	}
	short, long := at["path.rtt 20 ms, buffers 64 KiB"], at["path.rtt 80 ms, buffers 64 KiB"]
	if ratio := float64(short.Goodput / long.Goodput); ratio < 2.5 || ratio > 6 {
		t.Errorf("a path four times as short carries %.3g times as much", ratio)
	}
	wide := at["path.rtt 80 ms, buffers 1 MiB"]
	if ratio := float64(wide.Goodput / long.Goodput); ratio < 4 {
		t.Errorf("16 times the window carries %.3g times as much", ratio)
	}
	for _, p := range []*PointResult{short, long, wide} {
		if ratio := float64(p.Goodput / *p.Law); ratio < 0.4 || ratio > 2.5 {
			t.Errorf("%s: %v, and the law has %v", p.point, p.Goodput, *p.Law)
		}
		if rtt := p.Taken["path.rtt"].Number / p.Factors["path.rtt"].Number; rtt < 0.9 || rtt > 2 {
			t.Errorf("%s: the round-trip time is %.3g times what was asked for", p.point, rtt)
		}
	}
}
