package tune

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/unit"
)

// hole is a far end behind a path on which packets above 1400 bytes vanish.
type hole struct {
	Far
	specs []bulk.Spec
}

func (h *hole) Transfer(_ context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
	h.specs = append(h.specs, spec)
	time.Sleep(spec.Omit + spec.Duration)
	send := bulk.Stream{ID: 1, Sender: true, Samples: []bulk.Sample{{}}}
	receive := bulk.Stream{ID: 1, Elapsed: spec.Duration}
	r := &bulk.Result{Spec: spec, Client: bulk.End{Host: "a", Streams: []bulk.Stream{send}}}
	if spec.MSS == 0 || spec.MSS > 1348 {
		r.Server.Streams = []bulk.Stream{receive}
		return r, errors.New("receive: nothing came for 4s")
	}
	receive.Bytes = int64((40 * unit.Mbps).BytesIn(spec.Duration))
	r.Server.Streams = []bulk.Stream{receive}
	watch(bulk.Progress{At: spec.Omit + spec.Duration, Rate: 40 * unit.Mbps})
	return r, nil
}

// tuned is a tuning of two hosts that may both be changed.
func tuned(far Far, budget time.Duration) *tuning {
	o := Options{Direction: bulk.Forward, Streams: 1, Budget: budget, Watch: silent{}}
	hosts := pair(bulk.Forward, newEnd("a", &book{}), newEnd("b", &book{}))
	for _, e := range []*end{hosts.near, hosts.far} {
		e.refresh = func(context.Context) (*host.Facts, error) {
			return &host.Facts{Name: e.name, OS: "linux", Version: "6.18.44", CanChange: true, Tunables: map[string]string{"net.ipv4.tcp_mtu_probing": "0"}}, nil
		}
		e.facts, _ = e.refresh(context.Background())
	}
	way := path.Direction{
		MTU:      path.MTU{Bytes: 1400, Link: 1500, Method: "udp probe", Note: "packets above 1400 bytes vanish without an ICMP error", BlackHole: true},
		Capacity: path.Capacity{Rate: 50 * unit.Mbps, Low: 49 * unit.Mbps, High: 51 * unit.Mbps, Method: "packet trains"},
	}
	rtt := path.RTT{Min: 20 * time.Millisecond, Median: 20 * time.Millisecond, Max: 20 * time.Millisecond, Count: 10}
	return &tuning{
		near: Near{}, far: far, o: o, hosts: hosts, path: &path.Estimate{RTT: rtt, Forward: way, Reverse: way},
		meter: examine.NewMeter(far, rtt.Median, budget, o.Watch), result: &Result{}, effects: map[string]string{},
		hooks: hooks{diagnose: diagnose.Diagnose, plan: plan.Make},
	}
}

// Where not even the baseline can be measured, the reason is found all the same,
// and what would help is advised, also on hosts that might be changed.
func TestBaselineFails(t *testing.T) { synctest.Test(t, baselineFails) }

func baselineFails(t *testing.T) {
	far := &hole{}
	tuning := tuned(far, time.Minute)
	watched := new(story)
	tuning.o.Watch = watched
	err := tuning.found(t.Context())
	if err == nil {
		t.Fatal("a baseline of a path that carries nothing")
	}
	watched.check(t, "nothing arrives", tuning.result, err)
	r := tuning.result
	if r.Verdict.Cause != diagnose.MTUBlackHole || len(far.specs) != 2 {
		t.Errorf("verdict %s after %d transfers, want a black hole, with a trial to be sure of it", r.Verdict.Cause, len(far.specs))
	}
	if !slices.ContainsFunc(r.Advice, func(a Advice) bool {
		return a.Host == "a" && slices.Contains(a.Commands, "sysctl -w net.ipv4.tcp_mtu_probing='1'")
	}) {
		t.Errorf("advice %+v", r.Advice)
	}
	trial, spent := far.specs[1], tuning.meter.Spent()
	if spent.Time < trial.Omit+trial.Duration || spent.Bytes == 0 {
		t.Errorf("spent %+v, the trial is not among them", spent)
	}
}

// Trials take their part of what is left of the budget, and no more.
func TestSettleBudget(t *testing.T) { synctest.Test(t, settleBudget) }

func settleBudget(t *testing.T) {
	for _, test := range []struct {
		budget time.Duration
		trials int
	}{{12 * time.Second, 1}, {9 * time.Second, 0}, {0, 0}} {
		far := &hole{}
		tuning := tuned(far, test.budget) // a fifth of 12 s is a little more than a trial takes
		transfer := &bulk.Result{
			Spec:   bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: time.Second},
			Client: bulk.End{Streams: []bulk.Stream{{ID: 1, Sender: true}}},
		}
		c := &candidate{readings: []reading{{transfer: transfer}}}
		if _, err := tuning.settle(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if len(far.specs) != test.trials || len(c.trials) != test.trials {
			t.Errorf("%d trials, %d kept, of a budget of %v: want %d", len(far.specs), len(c.trials), test.budget, test.trials)
		}
	}
}
