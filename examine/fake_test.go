package examine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/unit"
)

// fake is a far end on loopback that answers handshakes, does not help to probe,
// and whose transfers come out as the test says.
type fake struct {
	net.Listener
	specs    []bulk.Spec // of the transfers that were asked for
	probes   int         // that were asked for
	facts    error       // of the far host
	probed   func()      // when a probe is asked for; nil: nothing
	transfer func(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error)
}

func newFake(t *testing.T, transfer func(context.Context, bulk.Spec, func(bulk.Progress)) (*bulk.Result, error)) *fake {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &fake{Listener: l, transfer: transfer, facts: fmt.Errorf("without its token: %w", peer.ErrMeasuresOnly)}
}

func (f *fake) Addr() netip.AddrPort { return netip.MustParseAddrPort(f.Listener.Addr().String()) }

func (f *fake) Facts(context.Context) (*host.Facts, error) {
	return nil, f.facts
}

func (f *fake) OpenProbe(context.Context) (path.Ticket, error) {
	f.probes++
	if f.probed != nil {
		f.probed()
	}
	return path.Ticket{}, errors.New("not helping")
}

func (f *fake) Observed(context.Context, string) (path.Observed, error) {
	return path.Observed{}, errors.New("not helping")
}

func (f *fake) Transfer(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
	f.specs = append(f.specs, spec)
	return f.transfer(ctx, spec, watch)
}

// reaches is a transfer that takes its time, by the clock of the test's bubble.
func reaches(rate unit.Rate) func(context.Context, bulk.Spec, func(bulk.Progress)) (*bulk.Result, error) {
	return func(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
		whole := spec.Omit + spec.Duration
		for at := time.Duration(0); at < whole; {
			step := min(100*time.Millisecond, whole-at)
			time.Sleep(step)
			if at += step; at < whole {
				watch(bulk.Progress{At: at, Rate: rate})
			}
			if ctx.Err() != nil {
				return moved(spec, rate), context.Cause(ctx)
			}
		}
		return moved(spec, rate), nil
	}
}

// atOnce and neverArrives are transfers that take no time by any clock: where the
// path is probed, that is done on a real one.
func atOnce(rate unit.Rate) func(context.Context, bulk.Spec, func(bulk.Progress)) (*bulk.Result, error) {
	return func(_ context.Context, spec bulk.Spec, _ func(bulk.Progress)) (*bulk.Result, error) {
		return moved(spec, rate), nil
	}
}

func neverArrives(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
	for at := 100 * time.Millisecond; ctx.Err() == nil; at += 100 * time.Millisecond {
		watch(bulk.Progress{At: at})
	}
	return moved(spec, 0), context.Cause(ctx)
}

func moved(spec bulk.Spec, rate unit.Rate) *bulk.Result {
	send := bulk.Stream{ID: 1, Sender: true, Samples: []bulk.Sample{}}
	receive := bulk.Stream{ID: 1, Bytes: int64(rate.BytesIn(spec.Duration)), Elapsed: spec.Duration, Samples: []bulk.Sample{}}
	r := &bulk.Result{Spec: spec, Client: bulk.End{Streams: []bulk.Stream{send}}, Server: bulk.End{Streams: []bulk.Stream{receive}}}
	if spec.Direction == bulk.Reverse {
		r.Client, r.Server = r.Server, r.Client
	}
	return r
}

// standsStill is a transfer that connects and moves nothing, until it is stopped.
func standsStill(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
	for at := 100 * time.Millisecond; ctx.Err() == nil; at += 100 * time.Millisecond {
		time.Sleep(100 * time.Millisecond)
		watch(bulk.Progress{At: at})
	}
	return moved(spec, 0), context.Cause(ctx)
}

func neverBegins(_ context.Context, spec bulk.Spec, _ func(bulk.Progress)) (*bulk.Result, error) {
	return &bulk.Result{Spec: spec}, errors.New("start transfer: refused")
}

// diary is a watcher that writes down what it is told.
type diary []string

func (d *diary) Phase(text string)      { *d = append(*d, ".. "+text) }
func (d *diary) Progress(bulk.Progress) {}
func (d *diary) Result(text string)     { *d = append(*d, "   "+text) }

// counter is a watcher that counts what it is told of a running transfer.
type counter struct {
	silent
	told int
}

func (c *counter) Progress(bulk.Progress) { c.told++ }

// lossy is a real transfer over a path that loses packets at random.
func lossy(t *testing.T) *bulk.Result {
	t.Helper()
	for _, x := range recorded(t) {
		if x.Diagnosis.Verdict.Cause == diagnose.RandomLoss {
			return x.Evidence.Transfer
		}
	}
	t.Fatal("none of the recordings is of random loss")
	return nil
}

// here is this host, of which nothing matters.
func here(context.Context) (*host.Facts, error) { return &host.Facts{Name: "a"}, nil }

// evidence of a path with a round-trip time.
func evidence(rtt time.Duration) *diagnose.Evidence {
	return &diagnose.Evidence{Direction: bulk.Forward, Path: &path.Estimate{RTT: path.RTT{Median: rtt, Min: rtt}}}
}

// asks is a diagnosis that wants one trial after the other, and is surer after
// each.
func asks(trials ...diagnose.Trial) func(*diagnose.Evidence) diagnose.Diagnosis {
	return func(e *diagnose.Evidence) diagnose.Diagnosis {
		n := len(e.Trials)
		d := diagnose.Diagnosis{Verdict: diagnose.Finding{Cause: diagnose.RandomLoss, Confidence: 0.5 + 0.1*float64(n)}}
		if n < len(trials) {
			d.Next = &trials[n]
		}
		return d
	}
}

func trial(kind diagnose.TrialKind, pace unit.Rate) diagnose.Trial {
	return diagnose.Trial{
		Kind: kind, Why: fmt.Sprintf("does loss remain at %v?", pace),
		Spec:    bulk.Spec{Direction: bulk.Forward, Streams: 1, Pace: pace},
		Expects: []diagnose.Expectation{{Cause: diagnose.RandomLoss, Goodput: pace, Says: "as before"}, {Cause: diagnose.Policer, Goodput: pace / 2, Says: "half"}},
	}
}
