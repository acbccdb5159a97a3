package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/lab"
)

// remote is a world asked over pipes, as one in the lab is.
func remote(t *testing.T, w World) (r *Remote, served chan error) {
	questions, ask := io.Pipe()
	answers, answer := io.Pipe()
	served = make(chan error, 1)
	go func() {
		err := Serve(context.Background(), questions, answer, w)
		_ = answer.Close()
		served <- err
	}()
	return NewRemote(ask, answers, func() error { return ask.Close() }), served
}

// TestRemote: an experiment that runs elsewhere comes to the same as one that runs here.
func TestRemote(t *testing.T) {
	here, err := Run(t.Context(), parse(t, lan), newWorld(), &Memory{}, &log{})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld()
	r, served := remote(t, w)
	there, err := Run(t.Context(), parse(t, lan), r, &Memory{}, &log{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(comparable(here), comparable(there)); diff != "" {
		t.Error(diff)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil || w.putBack != 2 { // once when it was asked for, once when nobody asks any more
		t.Errorf("%v, put back %d times", err, w.putBack)
	}
}

// TestRemoteStops: a transfer there ends when it is no longer wanted here.
func TestRemoteStops(t *testing.T) {
	r, served := remote(t, endless{newWorld()})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := r.Transfer(ctx, bulk.Spec{}, func(bulk.Progress) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := r.PutBack(t.Context()); err != nil {
		t.Error(err)
	}
	_ = r.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// endless transfers end only when they are told to.
type endless struct{ World }

func (endless) Transfer(ctx context.Context, _ bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
	watch(bulk.Progress{})
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestServeEnds: whoever asks goes away in the middle of a transfer, or says what nobody
// understands; everything is put back.
func TestServeEnds(t *testing.T) {
	for text, wrong := range map[string]bool{"": false, `{"do":"transfer","spec":{}}` + "\n": false, "what?\n": true, `{"do":"set","factors":["mss"]}` + "\n": false} {
		w := newWorld()
		var out strings.Builder
		if err := Serve(t.Context(), strings.NewReader(text), &out, endless{w}); (err != nil) != wrong || w.putBack != 1 {
			t.Errorf("%q: %v, put back %d times", text, err, w.putBack)
		}
		if strings.Contains(text, "set") && !strings.Contains(out.String(), "1 factors with 0 values") {
			t.Errorf("%q: %s", text, out.String())
		}
	}
}

// FuzzServe: whatever is asked, there is an answer or an end, and everything is put back.
func FuzzServe(f *testing.F) {
	spec := parse(f, "factors: {buffers: [64KiB], both.net.ipv4.tcp_rmem: [present, 1 2 3]}")
	points, _ := spec.Factors.points()
	q, err := json.Marshal(points[0].question("set"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(q, '\n'))
	f.Add([]byte("{\"do\":\"taken\",\"factors\":[\"mss\"],\"values\":[1]}\n{\"do\":\"stop\"}\n{\"do\":\"about\"}\n"))
	f.Add([]byte("{\"do\":\"transfer\",\"spec\":{\"streams\":1,\"direction\":\"forward\",\"duration_ns\":1}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w := &dumb{}
		_ = Serve(t.Context(), strings.NewReader(string(data)), io.Discard, w)
		if !w.back {
			t.Error("not put back")
		}
	})
}

// dumb does nothing.
type dumb struct{ back bool }

func (*dumb) About() About                                           { return About{} }
func (*dumb) Set(context.Context, Point) error                       { return nil }
func (*dumb) Taken(context.Context, Point) (map[string]Value, error) { return nil, nil }
func (d *dumb) PutBack(context.Context) error                        { d.back = true; return nil }
func (*dumb) Transfer(_ context.Context, s bulk.Spec, _ func(bulk.Progress)) (*bulk.Result, error) {
	return &bulk.Result{Spec: s}, nil
}

// labs are paths of a lab that is simulated.
type labs struct {
	built  []string
	worlds []*world
	open   int
	closed int
	broken bool
}

type simulatedLab struct {
	*world
	labs *labs
}

func (l simulatedLab) Close() error {
	l.labs.open--
	l.labs.closed++
	return nil
}

func (l *labs) start(_ context.Context, s *lab.Scenario) (Ends, error) {
	if l.broken {
		return nil, errors.New("no namespaces here")
	}
	l.built = append(l.built, s.Path.RTT().String())
	l.open++
	if l.open > mostOpen {
		return nil, errors.New("too many")
	}
	w := newWorld()
	w.carries = func(p Point) float64 {
		buffer, _ := p.Of("buffers")
		if !buffer.IsNumber() {
			buffer.Number = 4 << 20
		}
		return min(95e6, buffer.Number*8/s.Path.RTT().Seconds())
	}
	l.worlds = append(l.worlds, w)
	return simulatedLab{w, l}, nil
}

// TestPaths: each setting of the path is a lab of its own, a few of which wait for their
// next turn; all are ended, and the window that each round-trip time needs is found.
func TestPaths(t *testing.T) {
	scenario, err := lab.Load("clean-wan")
	if err != nil {
		t.Fatal(err)
	}
	l := &labs{}
	spec := parse(t, "factors: {path.rtt: [2ms, 4ms, 10ms, 20ms, 50ms, 80ms, 100ms, 150ms, 300ms, 600ms], buffers: {from: 16KiB, to: 4MiB, step: x4}, path.rate: 100mbit}\nmeasure: {duration: 2s}\nblocks: 2\n")
	doc, err := Run(t.Context(), spec, NewPaths(scenario, LabHosts(), l.start), &Memory{}, &log{})
	if err != nil {
		t.Fatal(err)
	}
	if l.open != 0 || l.closed != len(l.built) || len(l.built) < 11 {
		t.Errorf("%d built, %d open, %d closed", len(l.built), l.open, l.closed)
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(l.built))); len(distinct) != 11 { // the scenario's own is 40 ms
		t.Errorf("%v", distinct)
	}
	for i, w := range l.worlds {
		turns := 1 // of other paths' between its points, and the end
		if len(w.set) > 1 && w.putBack < 2 {
			t.Errorf("lab %d had %d points and was put back %d times", i, len(w.set), w.putBack)
		}
		if w.putBack < turns {
			t.Errorf("lab %d was not put back", i)
		}
	}
	for _, p := range doc.Points {
		if p.Taken["path.rate"].Number != 1e8 {
			t.Errorf("%s: in effect %v", p.point, p.Taken)
		}
	}
	if rate := doc.Cost.Rate; rate < 193e6 || rate > 194e6 { // 1448/1500 of the scenario's 200 Mb/s
		t.Errorf("the path is said to carry %g b/s", rate)
	}
	if doc.Scenario != "clean-wan" || doc.CPUsOf != "process" {
		t.Errorf("%s, %s", doc.Scenario, doc.CPUsOf)
	}
	for _, e := range doc.Enough.Each {
		rtt := e.Where["path.rtt"]
		if !rtt.IsNumber() {
			continue
		}
		need := 95e6 / 8 * rtt.Number
		if want := math.Pow(4, math.Ceil(math.Log(need/16384)/math.Log(4))) * 16384; e.Value.Number != min(4<<20, max(16384, want)) {
			t.Errorf("%g s: %g is enough, and %g is needed", rtt.Number, e.Value.Number, need)
		}
	}
	notes := 0
	for _, p := range doc.Points { // the simulated transfers see 10 ms everywhere
		said := slices.ContainsFunc(p.Notes, func(note string) bool { return strings.HasPrefix(note, "path.rtt: ") })
		if rtt := p.Factors["path.rtt"]; rtt.IsNumber() && said != (rtt.Number != 0.010) {
			t.Errorf("%v: %v", rtt, p.Notes)
		}
		if said {
			notes++
		}
	}
	if notes == 0 {
		t.Error("a round-trip time that is not as asked for is not said")
	}
	l.broken = true
	if _, err := Run(t.Context(), spec, NewPaths(scenario, LabHosts(), l.start), &Memory{}, &log{}); !errors.Is(err, ErrFailing) || !strings.Contains(err.Error(), "no namespaces") {
		t.Error(err)
	}
}

// TestChanged: the scenario's path is as the point says, both ways, and no path is built
// that the wire would not take.
func TestChanged(t *testing.T) {
	scenario, err := lab.Load("lossy-wan")
	if err != nil {
		t.Fatal(err)
	}
	before := *scenario.Path.BToA
	s, err := changed(scenario, map[string]Value{"path.rate": number(1e8), "path.rtt": number(0.3), "path.loss": number(0.001), "path.queue": word("64KB")})
	if err != nil {
		t.Fatal(err)
	}
	if s.Path.RTT().String() != "300ms" || s.Path.AToB.Rate != 1e8 || s.Path.BToA.Rate != 1e8 || s.Path.AToB.Loss.Share != 0.001 || s.Path.BToA.Queue != s.Path.AToB.Queue {
		t.Errorf("%+v", s.Path)
	}
	if !reflect.DeepEqual(*scenario.Path.BToA, before) {
		t.Error("the scenario itself was changed")
	}
	for name, v := range map[string]Value{"path.queue": word("10B"), "path.loss": number(math.NaN()), "buffers": number(1)} {
		if _, err := changed(scenario, map[string]Value{name: v}); err == nil {
			t.Errorf("%s %v was accepted", name, v)
		}
	}
}
