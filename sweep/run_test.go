package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/unit"
)

// world is a simulated path of 1 Gb/s and 10 ms between two Linux hosts with buffers of
// up to 1 MiB; autotuning gives connections 256 KiB.
type world struct {
	about    About
	scatter  float64
	random   *rand.Rand
	fails    func(p Point) error // a point that cannot be set
	breaks   func(n int) error   // a transfer, by its number
	carries  func(p Point) float64
	taken    map[string]Value
	point    Point
	set      []string // points, in their order
	putBack  int
	putError error
}

func newWorld() *world {
	return &world{about: About{CPUs: 4, Capacity: 965e6, Kernels: Kernels{true, true}}, random: rand.New(rand.NewPCG(1, 2))}
}

func (w *world) About() About { return w.about }

func (w *world) Set(_ context.Context, p Point) error {
	w.set = append(w.set, p.Key())
	w.point = p
	if w.fails != nil {
		return w.fails(p)
	}
	return nil
}

func (w *world) Taken(context.Context, Point) (map[string]Value, error) { return w.taken, nil }

func (w *world) PutBack(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.putBack++
	return w.putError
}

func (w *world) Transfer(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
	watch(bulk.Progress{})
	if w.breaks != nil {
		if err := w.breaks(len(w.set)); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	buffer := 256 << 10
	if spec.RecvBuf > 0 {
		buffer = min(spec.RecvBuf, 1<<20)
	}
	rate := min(965e6, float64(spec.Streams)*float64(buffer)*8/0.010)
	if w.carries != nil {
		rate = w.carries(w.point)
	}
	rate *= math.Exp(w.scatter * w.random.NormFloat64())
	r := &bulk.Result{Spec: spec, Client: bulk.End{Host: "a"}, Server: bulk.End{Host: "b"}}
	for _, e := range []*bulk.End{&r.Client, &r.Server} {
		e.CPU = bulk.CPU{Elapsed: spec.Duration, User: spec.Duration / 8, System: spec.Duration / 8, Cores: []bulk.Core{{Busy: 0.5}, {ID: 1, Busy: 0.25}}}
	}
	for i := range spec.Streams {
		bytes := int64(rate / 8 * spec.Duration.Seconds() / float64(spec.Streams))
		s := bulk.Stream{ID: i + 1, Congestion: "cubic", MSS: 1448, SendBuf: 2 * buffer, RecvBuf: 2 * buffer, Bytes: bytes, Began: spec.Omit, Elapsed: spec.Duration, Retransmits: -1}
		for _, at := range []time.Duration{spec.Omit, spec.Omit + spec.Duration} {
			s.Samples = append(s.Samples, bulk.Sample{At: at, TCP: bulk.TCPInfo{Length: 280, MinRTT: 10_000, RTT: 11_000, DataSegsOut: uint32(at.Seconds() * 8000), SegsIn: uint32(at.Seconds() * 1000)}})
		}
		sending, receiving := s, s
		sending.Sender = true
		if spec.Direction == bulk.Reverse {
			sending, receiving = receiving, sending
		}
		r.Client.Streams, r.Server.Streams = append(r.Client.Streams, sending), append(r.Server.Streams, receiving)
	}
	return r, nil
}

// log is what a person would see.
type log struct {
	lines []string
	kept  int
	left  []Left
}

func (l *log) Phase(text string)      { l.lines = append(l.lines, text) }
func (l *log) Progress(bulk.Progress) {}
func (l *log) Result(text string)     { l.lines = append(l.lines, "  "+text) }
func (l *log) Starts(c Cost, kept int) {
	l.lines = append(l.lines, fmt.Sprintf("%s; %d there already", c, kept))
}

func (l *log) Kept(m Measured, r *bulk.Result, left Left) {
	l.kept++
	l.left = append(l.left, left)
}

func parse(t testing.TB, text string) *Spec {
	t.Helper()
	spec, err := Parse("x.yaml", []byte("name: x\nseed: 1\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

const lan = "factors: {buffers: {from: 64KiB, to: 4MiB, step: x2}, connections: [1, 4]}\nmeasure: {duration: 1s, also: [acks]}\nlaw: window\n"

// TestGrid: what a grid finds, as programs read it.
func TestGrid(t *testing.T) {
	w := newWorld()
	w.scatter = 0.004
	spec := parse(t, "about: buffers of a LAN\nfactors: {buffers: [128KiB, 512KiB, 2MiB], connections: [1, 4]}\nmeasure: {duration: 1s, also: [acks, repeated, rtt]}\nblocks: 2\nlaw: window\n")
	doc, err := Run(t.Context(), spec, w, &Memory{}, &log{})
	if err != nil {
		t.Fatal(err)
	}
	if e := doc.Enough; e == nil || e.Factor != "buffers" || e.Value.Number != 2<<20 || len(e.Each) != 2 || e.Each[1].Value.Number != 512<<10 {
		t.Errorf("%+v", e)
	}
	doc.Spent.Seconds = 0 // of the clock
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "grid.json", string(text)+"\n")
}

// TestContract: the keys that are fixed are there.
func TestContract(t *testing.T) {
	doc, err := Run(t.Context(), parse(t, lan), newWorld(), &Memory{}, &log{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Experiment string
		Points     []struct {
			Factors  map[string]any
			Runs     int
			Goodput  float64                            `json:"goodput_bps"`
			CI95     [2]float64                         `json:"ci95"`
			CPUsUsed struct{ Sender, Receiver float64 } `json:"cpus_used"`
		}
		Enough struct {
			Factor string
			Value  float64
			Why    string
		}
		Law struct {
			Name     string
			Residual *float64
		}
		Says string
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	p := got.Points[0]
	if got.Experiment != "x" || len(got.Points) != 15 || p.Factors["buffers"] != 65536.0 || p.Factors["connections"] != 1.0 || p.Runs != 3 || !(p.CI95[0] <= p.Goodput && p.Goodput <= p.CI95[1]) ||
		p.CPUsUsed.Sender != 0.75 || got.Enough.Factor != "buffers" || got.Enough.Why == "" || got.Law.Name != "window" || got.Law.Residual == nil || got.Says == "" {
		t.Errorf("%s", text)
	}
	if *got.Law.Residual > 0.001 {
		t.Errorf("a path that keeps the law is off by %g", *got.Law.Residual)
	}
}

// TestNotTaken: a buffer above the system's maximum is shown as it was in effect, and
// said.
func TestNotTaken(t *testing.T) {
	doc, err := Run(t.Context(), parse(t, lan), newWorld(), &Memory{}, &log{})
	if err != nil {
		t.Fatal(err)
	}
	notes := 0
	for _, p := range doc.Points {
		asked := p.Factors["buffers"]
		if asked.Present() {
			if p.Taken["buffers"].Number != 256<<10 || !p.Present {
				t.Errorf("%+v", p)
			}
			continue
		}
		if want := min(asked.Number, 1<<20); p.Taken["buffers"].Number != want {
			t.Errorf("%v: %v was in effect, want %v", asked, p.Taken["buffers"], want)
		}
		for _, note := range p.Notes {
			if asked.Number <= 1<<20 || !strings.Contains(note, "and 1 MiB was in effect: the system's maximum is less") {
				t.Errorf("%v: %s", asked, note)
			}
			notes++
		}
	}
	if notes != 4 { // of 2 and 4 MiB, with 1 and 4 connections
		t.Errorf("%d notes", notes)
	}
	if says := differs(settings[0], number(4096), number(8192), Point{}); says == "" {
		t.Error("twice what was asked for is not said")
	}
}

// TestFailingPoints are said; the others are measured, in every block.
func TestFailingPoints(t *testing.T) {
	w := newWorld()
	w.fails = func(p Point) error {
		if v, _ := p.Of("buffers"); v.Number == 1<<20 {
			return errors.New("refused:\nnot today")
		}
		return nil
	}
	doc, err := Run(t.Context(), parse(t, lan), w, &Memory{}, &log{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range doc.Points {
		failed := p.Factors["buffers"].Number == 1<<20
		if failed != (p.Failed == 3) || failed != (p.Runs == 0) {
			t.Errorf("%v: %d runs, %d failed", p.Factors, p.Runs, p.Failed)
		}
		if failed && (len(p.Notes) != 1 || p.Notes[0] != "failed: refused: not today") {
			t.Errorf("%q", p.Notes)
		}
	}
	if doc.Spent.Failed != 6 || w.putBack != 1 {
		t.Errorf("%+v, put back %d times", doc.Spent, w.putBack)
	}
	if _, err := json.Marshal(doc); err != nil {
		t.Error(err)
	}
}

// TestNothingWorks: an experiment of which every transfer fails ends, and says why.
func TestNothingWorks(t *testing.T) {
	w := newWorld()
	w.breaks = func(int) error { return errors.New("connection refused") }
	doc, err := Run(t.Context(), parse(t, lan), w, &Memory{}, &log{})
	if !errors.Is(err, ErrFailing) || !strings.Contains(err.Error(), "connection refused") || len(w.set) != mostFailures || w.putBack != 1 {
		t.Errorf("%v after %d transfers, put back %d times", err, len(w.set), w.putBack)
	}
	if doc == nil || doc.Says != "Nothing was measured." || doc.Error == "" || doc.Enough != nil {
		t.Errorf("%+v", doc)
	}
	if _, err := json.Marshal(doc); err != nil {
		t.Error(err)
	}
}

// TestManyRefused: values that a host refuses do not end an experiment in which others
// can be measured, in whatever order they come.
func TestManyRefused(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld()
		w.fails = func(p Point) error {
			if v, _ := p.Of("connections"); v.Number > 1 {
				return fmt.Errorf("%w: too many", change.ErrRefused)
			}
			return nil
		}
		spec := parse(t, "factors: {connections: {from: 1, to: 12, step: +1}}\n")
		spec.Seed = seed + 1
		doc, err := Run(t.Context(), spec, w, &Memory{}, &log{})
		if err != nil || doc.Points[0].Runs != 3 || doc.Spent.Failed != 33 {
			t.Errorf("seed %d: %v", seed+1, err)
		}
	}
}

// TestPutBack: however an experiment ends, everything is put back once, and a way back
// that fails is told.
func TestPutBack(t *testing.T) {
	for _, how := range []string{"cancelled", "panic", "over budget", "store full", "put back fails"} {
		t.Run(how, func(t *testing.T) {
			w := newWorld()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			spec := parse(t, lan)
			var store Store = &Memory{}
			want := context.Canceled
			switch how {
			case "cancelled":
				w.breaks = func(n int) error {
					if n == 7 {
						cancel()
					}
					return nil
				}
			case "panic":
				want = nil
				w.breaks = func(n int) error {
					if n == 7 {
						panic("a bug")
					}
					return nil
				}
			case "over budget":
				want, spec.Budget = ErrBudget, time.Second
			case "store full":
				want, store = os.ErrClosed, full{}
			case "put back fails":
				want, w.putError = ErrNotPutBack, errors.New("the far end is gone")
			}
			var doc *Document
			var err error
			panicked := func() (what any) {
				defer func() { what = recover() }()
				doc, err = Run(ctx, spec, w, store, &log{})
				return nil
			}()
			if w.putBack != 1 {
				t.Errorf("put back %d times", w.putBack)
			}
			if (how == "panic") != (panicked != nil) || want != nil && !errors.Is(err, want) {
				t.Errorf("%v, %v", panicked, err)
			}
			if how == "cancelled" && (doc == nil || doc.Spent.Transfers != 6 || doc.Error == "") {
				t.Errorf("%+v", doc)
			}
		})
	}
}

type full struct{}

func (full) Kept() []Measured    { return nil }
func (full) Keep(Measured) error { return os.ErrClosed }

// TestResume: an experiment that is killed after any number of transfers, and started
// again, measures just what is missing, in the same order, and comes to the same
// document as one that was not; of a search too.
func TestResume(t *testing.T) {
	for name, text := range map[string]string{
		"grid":   "factors: {buffers: [64KiB, 128KiB, 256KiB], connections: [1, 4]}\nblocks: 3\nmeasure: {duration: 1s}\n",
		"search": "factors: {buffers: {from: present, to: 16MiB}, connections: 2}\nplan: search\nblocks: 4\nmeasure: {duration: 1s}\n",
	} {
		t.Run(name, func(t *testing.T) {
			whole := newWorld()
			want, err := Run(t.Context(), parse(t, text), whole, &Memory{}, &log{})
			if err != nil {
				t.Fatal(err)
			}
			for kill := 1; kill <= len(whole.set); kill += 1 + kill/2 {
				file := filepath.Join(t.TempDir(), "journal")
				spec := parse(t, text)
				first := newWorld()
				ctx, cancel := context.WithCancel(t.Context())
				first.breaks = func(n int) error {
					if n == kill {
						cancel()
					}
					return nil
				}
				journal, err := OpenJournal(file, spec)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := Run(ctx, spec, first, journal, &log{}); !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				cancel()
				journal.Close()
				torn, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprint(torn, `{"block":1,"point":"it was killed while it wrote th`)
				torn.Close()

				if journal, err = OpenJournal(file, spec); err != nil {
					t.Fatal(err)
				}
				second := newWorld()
				got, err := Run(t.Context(), spec, second, journal, &log{})
				journal.Close()
				if err != nil {
					t.Fatal(err)
				}
				if got.Spent.Resumed != kill-1 || !slices.Equal(second.set, whole.set[kill-1:]) {
					t.Fatalf("%d are there, then %v, want %v", got.Spent.Resumed, second.set, whole.set[kill-1:])
				}
				last, err := OpenJournal(file, spec)
				if err != nil || len(last.Kept()) != len(whole.set) {
					t.Fatalf("%v: %d are there in the end, of %d", err, len(last.Kept()), len(whole.set))
				}
				last.Close()
				if diff := cmp.Diff(comparable(want), comparable(got)); diff != "" {
					t.Fatal(diff)
				}
			}
		})
	}
}

// comparable is a document without what the clock decides.
func comparable(d *Document) string {
	own := *d
	own.Spent = Spent{}
	text, err := json.MarshalIndent(own, "", " ")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestSearchRun: from what the system takes by itself, a search goes up to what is
// enough; and with a window that is far too large, back to it.
func TestSearchRun(t *testing.T) {
	for name, want := range map[string]struct {
		connections int
		carries     func(p Point) float64
		enough      float64
		says        string
	}{
		"too small": {1, nil, 1 << 20, "For buffers, 1 MiB is enough: 1 MiB carries 2 times what 512 KiB does (95 %: 2 to 2 times); 2 MiB carries 100 % of that"},
		"enough":    {40, nil, 32 << 10, "For buffers, 32 KiB is enough"},
	} {
		w := newWorld()
		w.carries = want.carries
		text := fmt.Sprintf("factors: {buffers: {from: present, to: 16MiB}, connections: %d}\nplan: search\nmeasure: {duration: 1s}\n", want.connections)
		doc, err := Run(t.Context(), parse(t, text), w, &Memory{}, &log{})
		if err != nil {
			t.Fatal(err)
		}
		if doc.Enough == nil || doc.Enough.Value.Number != want.enough || !doc.Enough.Sure || !strings.HasPrefix(doc.Says, want.says) {
			t.Errorf("%s: %+v: %s", name, doc.Enough, doc.Says)
		}
		if !doc.Points[0].Present || doc.Points[0].Taken["buffers"].Number != 256<<10 {
			t.Errorf("%s: the present setting is not the first point: %+v", name, doc.Points[0])
		}
	}
}

// TestSearchFromAValue: that is where it begins, and nothing smaller is tried.
func TestSearchFromAValue(t *testing.T) {
	doc, err := Run(t.Context(), parse(t, "factors: {buffers: {from: 2MiB, to: 16MiB}}\nplan: search\nmeasure: {duration: 1s}\n"), newWorld(), &Memory{}, &log{})
	if err != nil {
		t.Fatal(err)
	}
	if doc.Enough.Value.Number != 2<<20 || doc.Points[0].Factors["buffers"].Number != 2<<20 || len(doc.Steps) != 1 || doc.Steps[0].To.Number != 4<<20 {
		t.Errorf("%+v", doc.Steps)
	}
}

// TestSearchCost is said before it starts: of a search from the present value, which
// nobody knows yet, all that there may be.
func TestSearchCost(t *testing.T) {
	for text, want := range map[string]int{
		"{from: 256KiB, to: 16MiB}":  2 * 8 * (6 + 3), // six doublings, and three halvings between seven values
		"{from: present, to: 16MiB}": 1 + 2*8*(12+4),  // from 4 KiB
	} {
		l := &log{}
		if _, err := Run(t.Context(), parse(t, "factors: {buffers: "+text+"}\nplan: search\nmeasure: {duration: 1s}\n"), newWorld(), &Memory{}, l); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(l.lines[0], fmt.Sprintf("at most %d transfers, ", want)) {
			t.Errorf("%s: %s, want %d", text, l.lines[0], want)
		}
	}
}

// TestProgress: the cost is said first, and what is left falls to nothing.
func TestProgress(t *testing.T) {
	l := &log{}
	if _, err := Run(t.Context(), parse(t, lan), newWorld(), &Memory{}, l); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(l.lines[0], "15 points, 45 transfers, 1m3s, up to 5.4 GB; 0 there already") || l.kept != 45 {
		t.Errorf("%q, %d kept", l.lines[0], l.kept)
	}
	for i, left := range l.left {
		if left.Transfers != 44-i {
			t.Errorf("after %d transfers %d are left", i+1, left.Transfers)
		}
	}
	if !strings.HasSuffix(l.lines[1], "(block 1; 45 transfers, about 1m3s left)") {
		t.Error(l.lines[1])
	}
}

// TestCPUsOfOneMachine: where both ends are on one machine, a host's CPU time is that
// of both, and the process's is told.
func TestCPUsOfOneMachine(t *testing.T) {
	w := newWorld()
	w.about.Shared = true
	doc, err := Run(t.Context(), parse(t, "factors: {connections: [1, 2]}"), w, &Memory{}, &log{})
	if err != nil {
		t.Fatal(err)
	}
	if p := doc.Points[0]; doc.CPUsOf != "process" || *p.CPUs.Sender != 0.25 || *p.Host.Sender != 0.75 {
		t.Errorf("%s: %v", doc.CPUsOf, *p.CPUs.Sender)
	}
}

// TestScalabilityBeside: goodput over connections that keeps the law gives its numbers
// back, and too few values are said.
func TestScalabilityBeside(t *testing.T) {
	w := newWorld()
	w.carries = func(p Point) float64 {
		n, _ := p.Of("connections")
		return n.Number * 1e8 / (1 + 0.2*(n.Number-1))
	}
	doc, err := Run(t.Context(), parse(t, "factors: {connections: [1, 2, 4, 8]}\nlaw: scalability\n"), w, &Memory{}, &log{})
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Law.Curves) != 1 || math.Abs(doc.Law.Curves[0].Contention-0.2) > 1e-6 || doc.Law.Curves[0].Coherency > 1e-6 || *doc.Law.Residual > 1e-6 {
		t.Errorf("%+v", doc.Law)
	}
	if doc.Law.Curves[0].Peak != nil && *doc.Law.Curves[0].Peak < 1e3 {
		t.Errorf("a peak at %g", *doc.Law.Curves[0].Peak)
	}
	w.carries = func(p Point) float64 {
		n, _ := p.Of("connections")
		return n.Number * 1e8 / (1 + 0.01*n.Number*(n.Number-1))
	}
	doc, err = Run(t.Context(), parse(t, "factors: {connections: [1, 2, 4, 8, 16]}\nlaw: scalability\n"), w, &Memory{}, &log{})
	if err != nil || doc.Law.Curves[0].Peak == nil || math.Abs(*doc.Law.Curves[0].Peak-10) > 0.01 {
		t.Errorf("%v: %+v", err, doc.Law.Curves)
	}
	doc, err = Run(t.Context(), parse(t, "factors: {connections: [1, 2]}\nlaw: scalability\n"), w, &Memory{}, &log{})
	if err != nil || doc.Law.Residual != nil || !strings.Contains(doc.Law.Says, "four different values") {
		t.Errorf("%v: %+v", err, doc.Law)
	}
}

// TestCUBICBeside: several connections see a loss each for themselves; the law is capped
// by what the path carries, and says nothing of transfers both ways at once.
func TestCUBICBeside(t *testing.T) {
	w := newWorld()
	w.about.Capacity = 20e9
	one := 1.054 * math.Pow(0.010/1e-8, 0.75) * 1448 * 8 / 0.010 // 38.6 Gb/s, and more than Reno
	w.fails = func(p Point) error {
		w.taken = map[string]Value{}
		if v, _ := p.Of("path.loss"); v.IsNumber() {
			w.taken["path.loss"] = v
		}
		return nil
	}
	w.carries = func(p Point) float64 {
		n, _ := p.Of("connections")
		return n.Number * one
	}
	doc, err := Run(t.Context(), parse(t, "factors: {path.loss: [0.000001%], connections: [1, 2], direction: [forward, both]}\nlaw: cubic\nmeasure: {duration: 1s}\n"), w, &Memory{}, &log{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range doc.Points {
		if both := p.Factors["direction"].Word == "both"; both != (p.Law == nil) {
			t.Errorf("%s: %v", p.point, p.Law)
		} else if !both && math.Abs(float64(*p.Law)-p.Factors["connections"].Number*one) > 1000 {
			t.Errorf("%s: %v, want %v", p.point, *p.Law, p.Goodput)
		}
	}
	w.carries = func(Point) float64 { return 10e9 }
	doc, err = Run(t.Context(), parse(t, "factors: {path.loss: [0.000001%], connections: [1, 2]}\nlaw: cubic\nmeasure: {duration: 1s}\n"), w, &Memory{}, &log{})
	if err != nil || *doc.Points[0].Law != 20e9 || *doc.Points[1].Law != 20e9 {
		t.Errorf("%v: %v on a path of 20 Gb/s", err, *doc.Points[1].Law)
	}
}

// TestSaysCPUs: where CPUs are varied, how many the fastest used.
func TestSaysCPUs(t *testing.T) {
	doc, err := Run(t.Context(), parse(t, "factors: {cpus: [1, 2]}\n"), newWorld(), &Memory{}, &log{})
	if err != nil || !strings.HasSuffix(doc.Says, "; the fastest uses 0.75 CPUs to send and 0.75 to receive.") {
		t.Errorf("%v: %s", err, doc.Says)
	}
}

// TestLossBeside: the loss of the path is what the law is told.
func TestLossBeside(t *testing.T) {
	w := newWorld()
	w.carries = func(p Point) float64 {
		if v, _ := p.Of("path.loss"); v.IsNumber() {
			return 1.22 * 1448 * 8 / 0.010 / math.Sqrt(v.Number)
		}
		return 965e6
	}
	loss := parse(t, "factors: {path.loss: [present, 0.1%, 1%]}\nlaw: mathis\nmeasure: {duration: 1s}\n")
	w.taken = map[string]Value{}
	w.fails = func(p Point) error { // what Paths does
		w.taken = map[string]Value{}
		if v, _ := p.Of("path.loss"); v.IsNumber() {
			w.taken["path.loss"] = v
		}
		return nil
	}
	doc, err := Run(t.Context(), loss, w, &Memory{}, &log{})
	if err != nil {
		t.Fatal(err)
	}
	if doc.Law.Points != 2 || *doc.Law.Residual > 1e-4 || doc.Enough != nil {
		t.Errorf("%+v", doc.Law)
	}
	if !strings.HasPrefix(doc.Says, "Goodput is between") {
		t.Error(doc.Says)
	}
	if got := unit.Rate(*doc.Points[1].Law).String(); got != "14.1 Mb/s" && got != "44.7 Mb/s" {
		t.Error(got)
	}
}
