package sweep

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/peer"
)

// Near is this host.
type Near struct {
	Facts   func(ctx context.Context) (*host.Facts, error)
	Changes change.Host // nil: nothing may be changed
}

// Far is the far end: *peer.Client is one.
type Far interface {
	Addr() netip.AddrPort
	Transfer(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error)
	Facts(ctx context.Context) (*host.Facts, error)
	Changes() change.Host
}

// Hosts is the world of two real hosts: sockets are set by the transfer, tunables by
// change sets that revert by themselves when nothing is heard of this process.
type Hosts struct {
	far    Far
	about  About
	near   end
	there  end
	within time.Duration
}

var _ World = (*Hosts)(nil)

// revertsWithin is how long a change set outlives the last call, beside a transfer.
const revertsWithin = 30 * time.Second

// Meet asks both hosts who they are. m is how long the transfers are to be, which a
// change set must outlive.
func Meet(ctx context.Context, near Near, far Far, m Measure) (*Hosts, error) {
	here, err := near.Facts(ctx)
	if err != nil {
		return nil, fmt.Errorf("collect facts of this host: %w", err)
	}
	there, err := far.Facts(ctx)
	if errors.Is(err, peer.ErrMeasuresOnly) {
		there, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("collect facts of the far end: %w", err)
	}
	within := m.Omit + m.Duration + revertsWithin
	trying := change.Held{Reason: "sweep", Within: within}
	w := &Hosts{far: far, within: within,
		near:  end{which: "near", name: here.Name, facts: here, held: trying},
		there: end{which: "far", name: far.Addr().String(), facts: there, held: trying}}
	w.about = About{CPUs: here.CPUs, Kernels: Kernels{NearDoubles: here.OS == "linux", FarDoubles: runtime.GOOS == "linux"}}
	if here.CanChange {
		w.near.held.Host = near.Changes
	}
	if there != nil {
		w.there.name = there.Name
		w.about.CPUs = min(here.CPUs, there.CPUs)
		w.about.Kernels.FarDoubles = there.OS == "linux"
		w.about.Shared = here.BootID != "" && here.BootID == there.BootID
		if there.CanChange {
			w.there.held.Host = far.Changes()
		}
	}
	return w, nil
}

// About is what their facts say.
func (w *Hosts) About() About { return w.about }

// Set brings the tunables of both hosts to what the point asks for. A path cannot be
// set, but in the lab.
func (w *Hosts) Set(ctx context.Context, p Point) error {
	for _, e := range []*end{&w.near, &w.there} {
		want, err := e.want(p, w.far.Addr())
		if err != nil {
			return err
		}
		err = e.held.Bring(ctx, want)
		if errors.Is(err, change.ErrClosed) { // it reverted by itself, after a transfer that hung
			e.held.ID, e.held.Live = "", nil
			err = e.held.Bring(ctx, want)
		}
		if err != nil {
			return fmt.Errorf("set %s: %w", e.name, err)
		}
	}
	return nil
}

// Transfer runs one. Change sets outlive it: see Meet.
func (w *Hosts) Transfer(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
	return w.far.Transfer(ctx, spec, watch)
}

// Taken is what the tunables of both hosts are now, as far as the point varies them.
func (w *Hosts) Taken(_ context.Context, p Point) (map[string]Value, error) {
	all := map[string]Value{}
	for i := range p.values {
		f := &p.factors[i]
		if f.kind != Tunable && f.name != "window" {
			continue
		}
		for _, e := range []*end{&w.near, &w.there} {
			if e.facts == nil {
				continue
			}
			if v, ok := e.reads(f, p.values[i], w.far.Addr()); ok {
				all[f.name] = v
			}
		}
	}
	return all, nil
}

// PutBack reverts both hosts' change sets. Each is tried, whatever becomes of the other.
func (w *Hosts) PutBack(ctx context.Context) error {
	var failed error
	for _, e := range []*end{&w.near, &w.there} {
		if e.held.ID == "" {
			continue
		}
		if _, err := e.held.Host.Revert(ctx, e.held.ID); err != nil {
			failed = errors.Join(failed, fmt.Errorf("revert change set %s on %s: %w (it reverts by itself within %v)", e.held.ID, e.name, err, w.within))
			continue
		}
		e.held.ID, e.held.Live = "", nil
	}
	return failed
}
