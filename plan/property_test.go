package plan

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

// randomInputs is how many inputs TestAnyPlan tries of all systems together; each
// is made of its number and the system, so that one that fails can be tried alone.
// With FULLBORE_LONG=1, as .ci/run has it, they are five times as many.
func randomInputs() int {
	if os.Getenv("FULLBORE_LONG") != "" {
		return 100_000
	}
	return 20_000
}

// Whatever the hosts, the path, the verdict and the traffic are: no plan lowers
// an element, breaks an order or a range, or takes more than its part of memory;
// carried out, it has nothing left to do; and taken back, it leaves nothing.
func TestAnyPlan(t *testing.T) {
	before := debug.SetGCPercent(1000) // many small, short-lived inputs: a third of the time would go to the collector
	t.Cleanup(func() { debug.SetGCPercent(before) })
	systems, all := tunable.Systems(), randomInputs()
	for _, system := range systems {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			inputs, planned := (all+len(systems)-1)/len(systems), 0
			for seed := range uint64(inputs) {
				in := randomInput(system, seed)
				p, err := checked(in)
				if err == nil && seed%8 == 0 && len(p.Steps) > 1 { // without the first, the others stand as well
					without := in
					without.Tried = p.Steps[:1]
					_, err = checked(without)
				}
				if err != nil {
					text, _ := json.MarshalIndent(map[string]any{"sender": in.Sender, "receiver": in.Receiver}, "", " ")
					t.Fatalf("randomInput(%q, %d): %v\npath %+v, %d streams, %d connections, workload %q, verdict %q\n%s",
						system, seed, err, in.Path, in.Streams, in.Connections, in.Workload, (&maker{Input: in}).verdict(), text)
				}
				planned += min(1, len(p.Steps))
			}
			if planned < inputs/4 { // a generator that leaves nothing to plan would show nothing
				t.Errorf("only %d of %d inputs had a plan", planned, inputs)
			}
		})
	}
}

// checked makes a plan and checks all that has to hold for it.
func checked(in Input) (*Plan, error) {
	p := Make(in)
	if err := checkPlan(in, p); err != nil {
		return nil, err
	}
	return p, checkReturn(in, p)
}

// checkReturn carries a plan out on hosts that refuse what a real one refuses,
// and takes it back.
func checkReturn(in Input, p *Plan) error {
	for _, h := range (&maker{Input: in}).hosts() {
		var mine []Change
		for _, s := range p.Steps {
			for _, c := range s.Changes {
				if in.HostOf(c) == h {
					mine = append(mine, c)
				}
			}
		}
		there := clone(h)
		for _, c := range mine {
			if err := set(there, c.Tunable, c.From, c.To); err != nil {
				return fmt.Errorf("applied: %w", err)
			}
		}
		slices.Reverse(mine)
		for _, c := range mine {
			if err := set(there, c.Tunable, c.To, c.From); err != nil {
				return fmt.Errorf("taken back: %w", err)
			}
		}
		for name, value := range h.Tunables {
			if back := there.Tunables[name]; tunable.Normalise(back) != tunable.Normalise(value) {
				return fmt.Errorf("%s was %q and is %q after all was taken back", name, value, back)
			}
		}
	}
	return nil
}

// set changes a tunable of a simulated host, which like Solaris and macOS takes
// no value above what bounds it, unless the old one was above it already.
func set(h *host.Facts, name, from, to string) error {
	if now := tunable.Normalise(h.Tunables[name]); now != from {
		return fmt.Errorf("%s is %q, not %q", name, now, from)
	}
	entry, ok := tunable.Lookup(h.OS, name)
	if !ok {
		return fmt.Errorf("there is no %s", name)
	}
	if _, bound := boundary(h, entry, name); bound > 0 && greatest(to) > bound && greatest(to) > greatest(from) {
		return fmt.Errorf("%s = %s is above %s, %d", name, to, entry.Within, bound)
	}
	h.Tunables[name] = to
	return nil
}

// randomInput is an input made of a seed: a host of a system in any version, with
// values as it comes, as somebody may have set them, or as nobody should; and a
// host of any system at the other end, or none.
func randomInput(system string, seed uint64) Input {
	r := &random{rand.New(rand.NewPCG(seed, 0))}
	in := Input{
		Direction: bulk.Forward, Streams: r.IntN(4) * r.IntN(40), OneEnd: r.one(5),
		Path: Given(unit.Rate(r.log(1e4, 4e11)), time.Duration(r.log(1e3, 2e9)), []int{0, 576, 1500, 9000}[r.IntN(4)]),
	}
	if r.one(3) {
		in.Direction = bulk.Reverse
	}
	switch r.IntN(4) {
	case 0: // one host is both ends
		in.Sender = r.host("a", system)
		in.Receiver = in.Sender
	case 1:
		in.Sender = r.host("a", system)
	case 2:
		in.Receiver = r.host("b", system)
	default:
		in.Sender, in.Receiver = r.host("a", system), r.host("b", pick(r, tunable.Systems()))
		if r.one(2) {
			in.Sender, in.Receiver = in.Receiver, in.Sender
		}
	}
	for range r.IntN(3) {
		d := Assumed(diagnose.Causes[r.IntN(len(diagnose.Causes))].ID)
		if in.Diagnosis == nil {
			in.Diagnosis = d
		} else {
			in.Diagnosis.Findings = append(in.Diagnosis.Findings, d.Verdict)
		}
	}
	if r.one(3) {
		in.Workload = NFS
	}
	if r.one(3) {
		in.Connections = int(r.log(1, 1e6))
	}
	if r.one(2) {
		in.Baseline = r.baseline()
	}
	if r.one(20) {
		in.Path = nil
	}
	way := in.Path.Way(in.Direction == bulk.Reverse)
	if way != nil && r.one(8) {
		way.Capacity.Assumed = true
	}
	if way != nil && r.one(8) {
		way.MTU.BlackHole, way.MTU.Note = true, "packets above 1400 bytes vanish without an ICMP error"
	}
	return in
}

type random struct{ *rand.Rand }

func (r *random) one(in int) bool { return r.IntN(in) == 0 }

// log is a number whose magnitude is any, not only near the most.
func (r *random) log(least, most float64) float64 {
	return least * math.Exp(r.Float64()*math.Log(most/least))
}

func (r *random) host(name, os string) *host.Facts {
	system, _ := tunable.Of(os)
	h := &host.Facts{
		Name: name, OS: system.ID, Version: r.version(system), CPUs: r.IntN(130), Forwards: r.one(20), CanChange: !r.one(4),
		Tunables: map[string]string{}, Arch: pick(r, []string{"amd64", "sun4v", ""}),
		Interfaces: []host.Interface{{Name: "eth0", Up: true, MTU: 1500, Speed: pick(r, []int{0, 10, 1000, 100000}), Driver: "e1000",
			Qdiscs: []host.Qdisc{{Kind: pick(r, []string{"pfifo_fast", "fq"}), Drops: int64(r.IntN(3))}}}},
	}
	if !r.one(10) {
		h.Memory = int64(r.log(64<<20, 1<<40))
	}
	for range r.IntN(3) {
		h.Managers = append(h.Managers, host.Manager{Name: pick(r, []string{"tuned", "bpftune", "group policy", "something"}), Sets: "x"})
	}
	in := asOf(system, h.Version)
	for i := range system.Tunables {
		t := &system.Tunables[i]
		if r.one(8) || !in[i].applies && !r.one(8) { // not there; and some are there in spite of the version
			continue
		}
		full := t.Name
		switch t.Scope {
		case tunable.OfInterface:
			full = tunable.Join(full, "eth0")
		case tunable.OfMount:
			full = tunable.Join(full, "/mnt")
		case tunable.OfRoute:
			full = tunable.Join(full, "198.18.0.0/16")
		}
		h.Tunables[full] = r.value(t, in[i].byDefault)
		if strings.HasPrefix(t.Name, "link.") && r.one(2) {
			if h.Most == nil {
				h.Most = map[string]int64{}
			}
			h.Most[full] = max(1, int64(r.log(1, 20000)))
		}
		if r.one(12) {
			h.ReadOnly = append(h.ReadOnly, full)
		}
	}
	return h
}

func (r *random) version(system *tunable.System) string {
	if r.one(20) {
		return pick(r, []string{"", "odd", "0", "99.1"})
	}
	if n := len(system.Releases); n > 0 && !r.one(4) {
		return system.Releases[r.IntN(n)].Version
	}
	t := &system.Tunables[r.IntN(len(system.Tunables))]
	if n := len(t.Defaults); n > 0 {
		return t.Defaults[r.IntN(n)].From + pick(r, []string{"", ".3", "-generic"})
	}
	return t.Since
}

// inVersion is what a version of a system has of one tunable.
type inVersion struct {
	applies   bool
	byDefault string // "": not known
}

// asOf is that of all its tunables, looked up once: there are few versions, and
// many hosts.
func asOf(system *tunable.System, version string) []inVersion {
	key := system.ID + " " + version
	if all, ok := versions.Load(key); ok {
		return all.([]inVersion)
	}
	all := make([]inVersion, len(system.Tunables))
	for i := range system.Tunables {
		t := &system.Tunables[i]
		value, _ := t.Default(version)
		all[i] = inVersion{t.Applies(version), value}
	}
	versions.Store(key, all)
	return all
}

var versions sync.Map // of []inVersion

// value is one that a tunable may have: mostly its default, or anything in its
// range; sometimes what no kernel should have let pass.
func (r *random) value(t *tunable.Tunable, byDefault string) string {
	switch {
	case byDefault != "" && r.one(2):
		return byDefault
	case r.one(30):
		return pick(r, []string{"", "x", "1 2", "-1", "8388608 131072 4096", "99999999999999999999"})
	}
	switch t.Kind {
	case tunable.Triplet:
		return fmt.Sprint(r.number(t), " ", r.number(t), "\t", r.number(t))
	case tunable.Int:
		return fmt.Sprint(r.number(t))
	case tunable.Bool:
		return pick(r, []string{"0", "1"})
	case tunable.Mask:
		return pick(r, []string{"0", "00000000,00000000", "3", "ff"})
	}
	if len(t.Choices) > 0 {
		return pick(r, t.Choices)
	}
	if t.Kind == tunable.Words || strings.Contains(t.Name, "available") {
		return "reno cubic bbr"
	}
	return pick(r, []string{"cubic", "reno", "bbr", "pfifo_fast", "fq_codel", "mq", "newreno"})
}

func (r *random) number(t *tunable.Tunable) int64 {
	most := float64(min(t.Max, 1<<40))
	switch r.IntN(10) {
	case 0:
		return t.Min
	case 1:
		return t.Max
	}
	if most <= 4 {
		return t.Min + r.Int64N(t.Max-t.Min+1)
	}
	return max(t.Min, int64(r.log(1, most)))
}

func (r *random) baseline() *bulk.Result {
	end := func() bulk.End {
		e := bulk.End{Counters: map[string]int64{}}
		if r.one(2) {
			e.Counters[softnetDropped], e.Counters[softnetSqueezed] = int64(r.IntN(3)), int64(r.IntN(3))
		}
		if !r.one(3) {
			e.Links = []host.LinkDelta{{Name: "eth0", Used: true, LinkCounters: host.LinkCounters{RxMissed: int64(r.IntN(3)), TxDropped: int64(r.IntN(3))}}}
		}
		return e
	}
	b := &bulk.Result{Client: end(), Server: end()}
	stream := bulk.Stream{Sender: true, Congestion: pick(r, []string{"", "cubic", "bbr"}), Remote: pick(r, []string{"", "198.18.0.2:5201", "[fd00::2]:5201", "odd"})}
	if r.one(2) {
		stream.Samples = []bulk.Sample{{TCP: bulk.TCPInfo{RTT: uint32(r.log(1, 2e6)), SndWnd: uint32(r.log(1, 1e9)), RTO: 200000, LastDataSent: 900}}}
	}
	b.Client.Streams = []bulk.Stream{stream}
	b.Server.Streams = []bulk.Stream{{RecvBuf: int(r.log(1, 1e9)), Bytes: int64(r.log(1, 1e11)), Elapsed: time.Second, Samples: stream.Samples}}
	if r.one(6) {
		b.Spec.RecvBuf = int(r.log(1, 1<<31-1))
	}
	if r.one(6) {
		b.Spec.SendBuf = int(r.log(1, 1<<31-1))
	}
	return b
}

func pick[T any](r *random, from []T) T { return from[r.IntN(len(from))] }
