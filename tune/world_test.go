package tune

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/unit"
)

// world is a path between two hosts whose true gains are known: what goodput each
// setting makes, and how runs scatter about that. Its clock is that of the bubble
// (testing/synctest) that it lives in.
type world struct {
	rng      *rand.Rand
	rtt      time.Duration
	found    float64 // goodput as found, bit/s
	settings []setting
	scatter  float64 // standard deviation of the logarithm of a run
	drift    float64 // of the logarithm, from each run to the next
	outliers float64 // share of runs that come out at a fifth to four fifths
	beside   time.Duration
	sampled  bool // samples show that a flow holds its rate, so that further runs are shorter

	sender, receiver *simulatedHost
	fault            fault
	calls            int
	runs             []measured
	lastChanged      measured // the last of them that was not as found
	least            float64  // the smallest gain that there is to find
	full             float64  // the most that the path carries, bit/s; from four fifths of it on the verdict is healthy
	traffic          time.Duration
	tells            func(format string, args ...any) // of each call that is carried out
}

// tell says what a host was asked for, or what was transferred.
func (w *world) tell(format string, args ...any) {
	if w.tells != nil {
		w.tells(format, args...)
	}
}

// setting is one tunable of one host, which a plan would change.
type setting struct {
	role  plan.Role
	name  string
	gain  []float64     // factor on goodput at the planned value, and at each doubling of it
	with  string        // another setting without which it does nothing
	fails bool          // no transfer works with it, unless the other setting is there
	queue time.Duration // how much later packets arrive with it while the path is loaded
}

// measured is one transfer: the values that both hosts had, and what is true of them.
type measured struct {
	values string
	truth  float64
}

// fault is what goes wrong: from the call of a number on, an end fails once, hangs,
// or is dead.
type fault struct {
	at   int // 0: never
	kind string
	role plan.Role
}

var errInjected = errors.New("injected failure")

// strike is asked at each call of an end whether that goes wrong.
func (w *world) strike(ctx context.Context, role plan.Role, call string) error {
	w.calls++
	if w.fault.at == 0 || w.calls < w.fault.at || role != w.fault.role {
		return nil
	}
	switch w.fault.kind {
	case "fails":
		w.fault.at = 0
		return fmt.Errorf("%s: %w", call, errInjected)
	case "lost": // see answer
		return nil
	case "hangs":
		w.fault.at = 0
		// The control API gives up by itself: peer's calls have their patience.
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(30 * time.Second):
			return fmt.Errorf("%s: no answer: %w", call, errInjected)
		}
	}
	select { // dead: it is found out after a while
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(5 * time.Second):
		return fmt.Errorf("%s: %w: %w", call, peer.ErrLost, errInjected)
	}
}

// answer is asked when a call of an end has done its work: its answer may be lost.
func (w *world) answer(role plan.Role, call string) error {
	if w.fault.kind != "lost" || w.fault.at == 0 || w.calls < w.fault.at || role != w.fault.role {
		return nil
	}
	w.fault.at = 0
	return fmt.Errorf("%s: its answer is lost: %w", call, errInjected)
}

// truth is the goodput that the present values make.
func (w *world) truth() (rate float64, works bool) {
	rate = w.found
	for _, s := range w.settings {
		level := w.end(s.role).level(s.name)
		if level == 0 {
			continue
		}
		if s.fails && (s.with == "" || !w.present(s.with)) {
			return 0, false
		}
		if s.with != "" && !w.present(s.with) {
			continue
		}
		rate *= s.gain[min(level, len(s.gain))-1]
	}
	return rate, true
}

// latency is how much later packets arrive while the path is loaded.
func (w *world) latency() (d time.Duration) {
	for _, s := range w.settings {
		if w.end(s.role).level(s.name) > 0 {
			d += s.queue
		}
	}
	return d
}

func (w *world) present(name string) bool {
	return w.sender.level(name) > 0 || w.receiver.level(name) > 0
}

func (w *world) end(role plan.Role) *simulatedHost {
	if role == plan.Sender {
		return w.sender
	}
	return w.receiver
}

// queues says whether any setting makes packets wait.
func (w *world) queues() bool {
	return slices.ContainsFunc(w.settings, func(s setting) bool { return s.queue > 0 })
}

// far is the receiving end as tune sees it.
type far struct{ *world }

func (f far) Addr() netip.AddrPort { return netip.MustParseAddrPort("198.18.0.2:5201") }

func (f far) OpenProbe(context.Context) (path.Ticket, error) { return path.Ticket{}, errInjected }

func (f far) Observed(context.Context, string) (path.Observed, error) {
	return path.Observed{}, errInjected
}

func (f far) Facts(ctx context.Context) (*host.Facts, error) { return f.receiver.Facts(ctx) }

func (f far) Changes() change.Host { return f.receiver }

func (f far) Transfer(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
	w := f.world
	began := time.Now()
	defer func() { w.traffic += time.Since(began) }()
	r := &bulk.Result{Spec: spec}
	if err := w.strike(ctx, plan.Receiver, "transfer"); err != nil {
		return r, err
	}
	truth, works := w.truth()
	w.runs = append(w.runs, measured{w.values(), truth})
	if now := w.runs[len(w.runs)-1]; now.values != "" {
		w.lastChanged = now
	}
	rate := truth * math.Exp(w.scatter*w.rng.NormFloat64()+w.drift*float64(len(w.runs)))
	if w.rng.Float64() < w.outliers {
		rate *= 0.2 + 0.6*w.rng.Float64()
	}
	w.tell("%s %d x %.1f s after %.1f s: %s", spec.Direction, spec.Streams, spec.Duration.Seconds(), spec.Omit.Seconds(), unit.Rate(rate))
	took := w.beside + spec.Omit + spec.Duration
	if !works {
		took = w.beside + 4*time.Second
	}
	select {
	case <-ctx.Done():
		return r, context.Cause(ctx)
	case <-time.After(took):
	}
	watch(bulk.Progress{At: spec.Omit + spec.Duration, Rate: unit.Rate(rate)})
	send := bulk.Stream{ID: 1, Sender: true}
	receive := bulk.Stream{ID: 1, Bytes: int64(rate / 8 * spec.Duration.Seconds()), Began: spec.Omit, Elapsed: spec.Duration}
	if w.sampled {
		for at := time.Duration(0); at <= spec.Omit+spec.Duration; at += 100 * time.Millisecond {
			receive.Samples = append(receive.Samples, bulk.Sample{At: at, Bytes: int64(rate / 8 * at.Seconds())})
		}
	}
	if rtt := w.rtt + w.latency(); w.queues() {
		now := bulk.TCPInfo{Length: 280, RTT: uint32(rtt.Microseconds()), MinRTT: uint32(w.rtt.Microseconds())}
		send.Samples = []bulk.Sample{{At: spec.Omit, TCP: now}, {At: spec.Omit + spec.Duration, TCP: now}}
	}
	r.Client.Streams, r.Server.Streams = []bulk.Stream{send}, []bulk.Stream{receive}
	if !works {
		r.Server.Streams[0].Bytes = 0
		return r, errors.New("nothing arrived for 3s")
	}
	return r, nil
}

// values of both hosts that are not as found.
func (w *world) values() string {
	return w.sender.changed() + w.receiver.changed()
}

// simulatedHost is one host with its tunables and change sets. A set that is
// neither renewed nor confirmed in time reverts by itself.
type simulatedHost struct {
	world   *world
	role    plan.Role
	name    string
	found   host.Facts // with all tunables as they were
	mu      sync.Mutex
	values  map[string]string // of what is not as found; in a world, 1: as planned; 2, 3, ...: doubled
	applied map[string]bool
	sets    map[string]*simulatedSet
}

type simulatedSet struct {
	names     map[string]bool // of what it changed
	deadline  time.Time
	within    time.Duration
	confirmed bool
	closed    bool
}

func (h *simulatedHost) settle() {
	for _, s := range h.sets {
		if !s.confirmed && !s.closed && time.Now().After(s.deadline) {
			h.undo(s)
		}
	}
}

func (h *simulatedHost) undo(s *simulatedSet) {
	for name := range s.names {
		delete(h.values, name)
	}
	s.closed = true
}

// value of a tunable now.
func (h *simulatedHost) value(name string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settle()
	if value, set := h.values[name]; set {
		return value
	}
	return h.found.Tunables[name]
}

// level of a world's setting: 0 as found.
func (h *simulatedHost) level(name string) int {
	n, _ := strconv.Atoi(h.value(name))
	return n
}

// changed lists what is not as found.
func (h *simulatedHost) changed() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settle()
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h.values)) {
		fmt.Fprintf(&all, "%s=%s ", name, h.values[name])
	}
	return all.String()
}

func (h *simulatedHost) Facts(ctx context.Context) (*host.Facts, error) {
	if err := h.world.strike(ctx, h.role, "facts"); err != nil {
		return nil, err
	}
	f := h.found
	f.Tunables = map[string]string{}
	for name := range h.found.Tunables {
		f.Tunables[name] = h.value(name)
	}
	return &f, nil
}

func (h *simulatedHost) Begin(ctx context.Context, _ string, within time.Duration) (string, error) {
	if err := h.world.strike(ctx, h.role, "begin"); err != nil {
		return "", err
	}
	id := fmt.Sprint(len(h.sets) + 1)
	h.world.tell("%s: begin %s, for %v", h.name, id, within)
	h.sets[id] = &simulatedSet{names: map[string]bool{}, within: within, deadline: time.Now().Add(within)}
	return id, h.world.answer(h.role, "begin")
}

// open gives an open set, renewed.
func (h *simulatedHost) open(ctx context.Context, id, call string) (*simulatedSet, error) {
	if err := h.world.strike(ctx, h.role, call); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settle()
	s := h.sets[id]
	if s.closed || s.confirmed {
		return nil, fmt.Errorf("%s: %w", call, change.ErrClosed)
	}
	s.deadline = time.Now().Add(s.within)
	if call == "renew" {
		h.world.tell("%s: renew %s", h.name, id)
	}
	return s, nil
}

func (h *simulatedHost) Apply(ctx context.Context, id string, settings []change.Setting) error {
	s, err := h.open(ctx, id, "apply")
	if err != nil {
		return err
	}
	h.world.tell("%s: apply %s %v", h.name, id, settings)
	for _, set := range settings {
		if _, has := h.found.Tunables[set.Tunable]; !has {
			return fmt.Errorf("%s has no %s", h.name, set.Tunable)
		}
		s.names[set.Tunable], h.values[set.Tunable] = true, set.Value
		h.applied[set.Tunable+"="+set.Value] = true
	}
	return h.world.answer(h.role, "apply")
}

func (h *simulatedHost) PutBack(ctx context.Context, id string, tunables ...string) error {
	s, err := h.open(ctx, id, "put back")
	if err != nil {
		return err
	}
	h.world.tell("%s: put back %s %v", h.name, id, tunables)
	for _, name := range tunables {
		delete(s.names, name)
		delete(h.values, name)
	}
	return h.world.answer(h.role, "put back")
}

func (h *simulatedHost) Renew(ctx context.Context, id string) error {
	_, err := h.open(ctx, id, "renew")
	return err
}

func (h *simulatedHost) Confirm(ctx context.Context, id string, persist bool) error {
	s, err := h.open(ctx, id, "confirm")
	if err != nil {
		return err
	}
	h.world.tell("%s: confirm %s, over a boot: %v", h.name, id, persist)
	s.confirmed = true
	return h.world.answer(h.role, "confirm")
}

func (h *simulatedHost) Revert(ctx context.Context, id string) (*change.Set, error) {
	if err := h.world.strike(ctx, h.role, "revert"); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.world.tell("%s: revert %s", h.name, id)
	h.undo(h.sets[id])
	return &change.Set{}, h.world.answer(h.role, "revert")
}

func (h *simulatedHost) List(context.Context) ([]change.Set, error) { return nil, nil }

// newWorld gives a path on which nothing was changed yet.
func newWorld(seed uint64) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 7)), rtt: time.Millisecond, found: 100e6, beside: 20 * time.Millisecond}
	w.sender, w.receiver = w.host(plan.Sender, "a"), w.host(plan.Receiver, "b")
	return w
}

func (w *world) host(role plan.Role, name string) *simulatedHost {
	return &simulatedHost{
		world: w, role: role, name: name, found: host.Facts{Name: name, OS: "linux", CanChange: true, Tunables: map[string]string{}},
		values: map[string]string{}, applied: map[string]bool{}, sets: map[string]*simulatedSet{},
	}
}

// hooks plan each setting in turn, and do not know the true gains.
func (w *world) hooks() hooks {
	change := func(s setting, from, to int) plan.Change {
		return plan.Change{Role: s.role, Host: w.end(s.role).name, Tunable: s.name, From: fmt.Sprint(from), To: fmt.Sprint(to), Why: "w", Source: "s"}
	}
	return hooks{
		probe: func(context.Context, examine.Far, bulk.Direction) (*path.Estimate, error) {
			way := path.Direction{Capacity: path.Capacity{Rate: 100 * unit.Gbps, High: 100 * unit.Gbps}}
			return &path.Estimate{RTT: path.RTT{Min: w.rtt, Median: w.rtt, Max: w.rtt}, Forward: way, Reverse: way}, nil
		},
		diagnose: func(e *diagnose.Evidence) diagnose.Diagnosis {
			if w.full > 0 && float64(e.Transfer.Goodput(e.Direction)) > 0.8*w.full {
				return diagnose.Diagnosis{Verdict: diagnose.Finding{Cause: diagnose.Healthy, PathGoodput: unit.Rate(w.full)}}
			}
			return diagnose.Diagnosis{Verdict: diagnose.Finding{Cause: diagnose.Unknown}}
		},
		plan: func(in plan.Input) *plan.Plan {
			p := &plan.Plan{}
			tried := map[string]bool{}
			for _, step := range in.Tried {
				for _, c := range step.Changes {
					tried[c.Tunable] = true
				}
			}
			for _, s := range w.settings {
				facts := map[plan.Role]*host.Facts{plan.Sender: in.Sender, plan.Receiver: in.Receiver}[s.role]
				if facts.Tunables[s.name] == "0" && !tried[s.name] {
					p.Steps = append(p.Steps, plan.Step{Idea: "set " + s.name, Changes: []plan.Change{change(s, 0, 1)}})
				}
			}
			return p
		},
		double: func(step plan.Step, _ plan.Input) *plan.Step {
			for _, c := range step.Changes {
				for _, s := range w.settings {
					var level int
					if _, err := fmt.Sscan(c.To, &level); err == nil && s.name == c.Tunable && level < len(s.gain) {
						return &plan.Step{Idea: "twice", Changes: []plan.Change{change(s, level, level+1)}}
					}
				}
			}
			return nil
		},
		needs: func(*host.Facts, plan.Change, plan.Change) bool { return false },
	}
}
