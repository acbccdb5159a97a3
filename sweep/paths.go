package sweep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/lab/wire"
	"github.com/fullbore/fullbore/unit"
)

// Ends are both ends of one path of the lab. Between two points on other paths they are
// put back, and may be set again.
type Ends interface {
	World
	// Close ends them, after PutBack.
	Close() error
}

// Open builds the path of a scenario in the lab, and gives its ends.
type Open func(ctx context.Context, scenario *lab.Scenario) (Ends, error)

// mostOpen paths of the lab wait while another one is measured: each has processes of
// its own, and building one takes longer than keeping it.
const mostOpen = 8

// Paths is a world in the lab whose path can be varied: each setting of it is a lab of
// its own, which is kept for when it is needed again.
type Paths struct {
	scenario *lab.Scenario
	open     Open
	about    About
	ready    []opened // the one used last at the end
}

type opened struct {
	key  string
	ends Ends
}

// LabHosts is what is known of the two hosts of every lab: they share this machine.
func LabHosts() About {
	return About{CPUs: runtime.NumCPU(), Shared: true, Kernels: Kernels{NearDoubles: runtime.GOOS == "linux", FarDoubles: runtime.GOOS == "linux"}}
}

// NewPaths varies the path of a scenario. about is what is known of its hosts, such as
// [LabHosts].
func NewPaths(scenario *lab.Scenario, about About, open Open) *Paths {
	if about.Scenario == "" {
		about.Scenario = scenario.Name
	}
	return &Paths{scenario: scenario, open: open, about: about}
}

// About is what the caller said, and what the scenario's path carries.
func (w *Paths) About() About {
	a := w.about
	if a.Capacity == 0 {
		a.Capacity = w.scenario.Path.Goodput(&w.scenario.Path.AToB)
	}
	a.Share = float64(w.scenario.Path.Goodput(&wire.Direction{Rate: 1}))
	return a
}

// Set builds the point's path, unless it is there, and sets the rest at its ends.
func (w *Paths) Set(ctx context.Context, p Point) error {
	key := pathKey(p)
	if n := len(w.ready); n > 0 && w.ready[n-1].key != key { // nobody renews what is set there meanwhile
		if err := w.present().PutBack(ctx); err != nil {
			return err
		}
	}
	at := slices.IndexFunc(w.ready, func(o opened) bool { return o.key == key })
	if at < 0 {
		scenario, err := changed(w.scenario, p.path())
		if err != nil {
			return err
		}
		for len(w.ready) >= mostOpen {
			if err := w.end(ctx, 0); err != nil {
				return err
			}
		}
		ends, err := w.open(ctx, scenario)
		if err != nil {
			return fmt.Errorf("build the path: %w", err)
		}
		w.ready = append(w.ready, opened{key, ends})
	} else {
		o := w.ready[at]
		w.ready = append(slices.Delete(w.ready, at, at+1), o)
	}
	return w.present().Set(ctx, p)
}

// present are the ends of the path that was set last.
func (w *Paths) present() Ends { return w.ready[len(w.ready)-1].ends }

// Transfer runs on the path that was set last.
func (w *Paths) Transfer(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
	if len(w.ready) == 0 {
		return nil, errors.New("no path was built")
	}
	return w.present().Transfer(ctx, spec, watch)
}

// Taken is what its ends read back; a path is as its scenario says. Its round-trip time
// is measured by the transfer.
func (w *Paths) Taken(ctx context.Context, p Point) (map[string]Value, error) {
	if len(w.ready) == 0 {
		return nil, errors.New("no path was built")
	}
	got, err := w.present().Taken(ctx, p)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(got)
	if all == nil {
		all = map[string]Value{}
	}
	maps.Copy(all, p.path())
	return all, nil
}

// end puts one path's ends back and closes them.
func (w *Paths) end(ctx context.Context, at int) error {
	ends := w.ready[at].ends
	w.ready = slices.Delete(w.ready, at, at+1)
	return errors.Join(ends.PutBack(ctx), ends.Close())
}

// PutBack ends all paths.
func (w *Paths) PutBack(ctx context.Context) error {
	var failed error
	for len(w.ready) > 0 {
		failed = errors.Join(failed, w.end(ctx, 0))
	}
	return failed
}

// pathKey distinguishes paths.
func pathKey(p Point) string {
	var parts []string
	for name, v := range p.path() {
		parts = append(parts, name+"="+v.key())
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// changed is the scenario with another path: each value holds for both ways. What the
// wire would not take is an error.
func changed(scenario *lab.Scenario, path map[string]Value) (*lab.Scenario, error) {
	s := *scenario
	back := *s.Path.BToA
	s.Path.BToA = &back
	if len(path) == 0 {
		return &s, nil
	}
	ways := []*wire.Direction{&s.Path.AToB, s.Path.BToA}
	for name, v := range path {
		for _, d := range ways {
			switch name {
			case "path.rate":
				d.Rate = unit.Rate(v.Number)
			case "path.delay":
				d.Delay = seconds(v.Number)
			case "path.rtt":
				d.Delay = seconds(v.Number / 2)
			case "path.loss":
				d.Loss = wire.Loss{}
				if err := d.Loss.FromWord(fmt.Sprintf("%g%%", 100*v.Number)); err != nil {
					return nil, err
				}
			case "path.queue":
				text := v.Word
				if v.IsNumber() {
					text = v.Text(Count)
				}
				if err := d.Queue.FromWord(text); err != nil {
					return nil, fmt.Errorf("path.queue: %w", err)
				}
			default:
				return nil, fmt.Errorf("%s is not of a path", name)
			}
		}
	}
	for _, d := range ways {
		d.Jitter = min(d.Jitter, d.Delay)
		if faults := d.Faults(s.Path.RTT(), s.Path.MTU); len(faults) > 0 {
			return nil, fmt.Errorf("the lab cannot have this path: %w", faults[0].Err)
		}
	}
	return &s, nil
}

// seconds as a duration.
func seconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }
