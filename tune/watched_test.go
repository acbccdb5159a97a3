package tune

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/unit"
)

// story is what someone sees who watches a tuning, with each call of a host and
// each transfer between.
type story struct{ strings.Builder }

func (s *story) Phase(text string)       { fmt.Fprintf(s, "%s\n", text) }
func (*story) Progress(bulk.Progress)    {}
func (s *story) Result(text string)      { fmt.Fprintf(s, "  = %s\n", text) }
func (s *story) tell(f string, a ...any) { fmt.Fprintf(s, "    "+f+"\n", a...) }

// offers adds a tunable to a path, with its gain at the planned value and at each
// doubling of it.
func (w *world) offers(role plan.Role, name string, gain ...float64) {
	w.settings = append(w.settings, setting{role: role, name: name, gain: gain})
	w.end(role).found.Tunables[name] = "0"
}

// Whole tunings, as they are watched, and the results that they end with: what is
// tried, in which order, how long each transfer is, and what the hosts are told.
func TestWatched(t *testing.T) {
	for _, test := range []struct {
		name string
		draw func(w *world, o *Options)
	}{
		{"one of three helps", func(w *world, _ *Options) {
			w.offers(plan.Sender, "sack", 1)
			w.offers(plan.Receiver, "rmem", 1.3)
			w.offers(plan.Receiver, "mtu", 0.8)
		}},
		{"both are needed", func(w *world, o *Options) {
			o.Apply, w.sampled = ApplyPersist, true
			w.offers(plan.Sender, "wmem", 20)
			w.offers(plan.Receiver, "rmem", 1.5)
		}},
		{"only together", func(w *world, _ *Options) {
			w.offers(plan.Receiver, "rmem", 2)
			w.offers(plan.Sender, "wmem", 1)
			w.settings[0].with, w.settings[1].with = "wmem", "rmem"
		}},
		{"doubled twice", func(w *world, o *Options) {
			o.Apply = ApplyNone
			w.offers(plan.Receiver, "rmem", 1.5, 2.25, 2.25)
		}},
		{"nothing arrives with it", func(w *world, _ *Options) {
			w.offers(plan.Receiver, "mtu", 1)
			w.settings[0].fails = true
			w.offers(plan.Receiver, "rmem", 5)
		}},
		{"far away, and the budget ends", func(w *world, o *Options) {
			w.rtt, w.beside, w.sampled, o.Budget = 150*time.Millisecond, 600*time.Millisecond, true, time.Minute
			w.offers(plan.Receiver, "rmem", 12)
			w.offers(plan.Sender, "wmem", 1.1)
			w.offers(plan.Sender, "sack", 1)
		}},
		{"runs scatter", func(w *world, o *Options) {
			w.scatter = 0.2
			w.offers(plan.Receiver, "rmem", 1.4)
			w.offers(plan.Sender, "wmem", 1.4)
		}},
		{"nothing helps", func(w *world, o *Options) {
			o.Budget = 30 * time.Second
			w.offers(plan.Receiver, "rmem", 1)
		}},
		{"room to repair losses", func(w *world, _ *Options) {
			w.full, w.scatter = 1e9, 0.03
			w.offers(plan.Receiver, "sack", 1.5)
			w.offers(plan.Receiver, "rmem", 4, 4.1)
			w.offers(plan.Sender, "wmem", 1.5, 1.53)
		}},
		{"full once doubled", func(w *world, _ *Options) {
			w.full = 1e9
			w.offers(plan.Receiver, "rmem", 3)
			w.offers(plan.Sender, "wmem", 2.9, 3.25)
		}},
		{"no budget to double", func(w *world, o *Options) {
			w.full, o.Budget = 1e9, 26*time.Second
			w.offers(plan.Receiver, "rmem", 9, 9.6)
		}},
		{"nothing arrives without it", func(w *world, _ *Options) {
			w.offers(plan.Sender, "probing", 2)
			w.offers(plan.Receiver, "mtu", 2)
			w.settings[1].fails, w.settings[1].with = true, "probing"
		}},
		{"little faster, much later", func(w *world, _ *Options) {
			w.rtt = 10 * time.Millisecond
			w.offers(plan.Receiver, "rmem", 1.08)
			w.settings[0].queue = 30 * time.Millisecond
			w.offers(plan.Sender, "wmem", 1.09)
		}},
		{"a dry run", func(w *world, o *Options) {
			o.DryRun = true
			w.offers(plan.Receiver, "rmem", 2)
			w.offers(plan.Sender, "wmem", 2)
		}},
		{"an end goes away", func(w *world, _ *Options) {
			w.fault = fault{45, "dead", plan.Receiver}
			w.offers(plan.Sender, "wmem", 2)
			w.offers(plan.Receiver, "rmem", 2)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(1)
				w.scatter = 0.01
				s := new(story)
				w.tells = s.tell
				o := Options{Direction: bulk.Forward, Streams: 2, Budget: DefaultBudget, Apply: ApplyLive, Watch: s}
				test.draw(w, &o)
				r, err := run(t.Context(), Near{Facts: w.sender.Facts, Changes: w.sender}, far{w}, o, w.hooks())
				s.check(t, test.name, r, err)
			})
		})
	}
}

// The same with the real diagnosis and the real plans, on simulated TCP flows.
func TestWatchedTCP(t *testing.T) {
	for _, test := range []struct {
		name string
		draw func(p *tcpPath)
	}{
		{"buffers", func(p *tcpPath) { p.receives(0.1); p.sends(0.15) }},
		{"almost full", func(p *tcpPath) { p.receives(0.93) }},
		{"random loss", func(p *tcpPath) { p.loss = 1e-5 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newTCPPath(1)
				p.capacity, p.rtt, p.queue, p.scatter = unit.Gbps, 40*time.Millisecond, 0.3, 0.02
				p.receives(8)
				p.sends(8)
				test.draw(p)
				p.found = p.typical()
				s := new(story)
				p.tells = s.tell
				o := Options{Direction: bulk.Forward, Streams: 1, Budget: 2 * DefaultBudget, Apply: ApplyLive, Watch: s}
				r, err := run(t.Context(), Near{Facts: p.sender.Facts, Changes: p.sender}, tcpFar{far{p.world}, p}, o,
					hooks{p.probe, diagnose.Diagnose, plan.Make, plan.Double, plan.Needs})
				s.check(t, "tcp, "+test.name, r, err)
			})
		})
	}
}

// check holds a story and its result, less the path, against its golden file, with
// the digits that do not depend on the processor.
func (s *story) check(t *testing.T, name string, r *Result, err error) {
	t.Helper()
	if err != nil {
		s.tell("error: %v", err)
	}
	shown := map[string]any{}
	text, e := json.Marshal(r)
	if err := errors.Join(e, json.Unmarshal(text, &shown)); err != nil {
		t.Fatal(err)
	}
	delete(shown, "path")
	for _, key := range slices.Sorted(maps.Keys(shown)) {
		text, err := json.Marshal(rounded(shown[key]))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(s, "%s: %s\n", key, text)
	}
	golden.Check(t, "watched/"+strings.NewReplacer(" ", "-", ",", "").Replace(name)+".txt", s.String())
}

// rounded gives numbers four digits.
func rounded(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = rounded(v[key])
		}
	case []any:
		for i := range v {
			v[i] = rounded(v[i])
		}
	case float64:
		return json.Number(fmt.Sprintf("%.4g", v))
	}
	return v
}
