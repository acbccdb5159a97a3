package examine

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
)

// An examination goes on with whatever there is.
func TestRun(t *testing.T) {
	for _, test := range []struct {
		name     string
		transfer func(context.Context, bulk.Spec, func(bulk.Progress)) (*bulk.Result, error)
		budget   time.Duration
		fails    string // Run does, so that there is no examination
		failed   string // the evidence says
	}{
		{"a far end that tells nothing of itself", reaches(50e6), 0, "", ""},
		{"nothing arrives", standsStill, 0, "", "nothing arrived for 3s"},
		{"no transfer begins", neverBegins, 0, "start transfer: refused", ""},
		{"the budget is too small for any", reaches(50e6), s, "budget is too small: 1s of test traffic, and one transfer takes up to 2.3s on this path", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, direction := range []bulk.Direction{bulk.Forward, bulk.Reverse} {
				far := newFake(t, test.transfer)
				x, err := Run(t.Context(), here, far, Options{Direction: direction, Budget: test.budget, Quick: true})
				if test.fails != "" {
					if err == nil || err.Error() != test.fails || x != nil {
						t.Fatalf("%+v, error %v: want no examination and %q", x, err, test.fails)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				e := x.Evidence
				if e.Failed != test.failed || e.Direction != direction || e.Transfer == nil || e.Path == nil || x.Diagnosis.Verdict.Cause == "" {
					t.Errorf("%+v", x)
				}
				if own, other := e.SenderHost, e.ReceiverHost; direction == bulk.Forward && (own == nil || other != nil) || direction == bulk.Reverse && (own != nil || other == nil) {
					t.Errorf("hosts %v, %v: want only this one's", own, other)
				}
				if want := far.specs[0]; want.Streams != 1 || want.Direction != direction || want.Omit == 0 || want.Duration == 0 {
					t.Errorf("transfer %+v", want)
				}
				if far.probes != 1 {
					t.Errorf("%d probes: a far end that does not help will not the second time", far.probes)
				}
				if x.Spent.Time <= s || x.Spent.Time > 4*s {
					t.Errorf("spent %v", x.Spent.Time)
				}
			}
		})
	}
}

// nowhere is a far end whose address cannot be probed.
type nowhere struct{ *fake }

func (nowhere) Addr() netip.AddrPort { return netip.AddrPort{} }

// A path that cannot be probed is examined all the same.
func TestRunUnprobed(t *testing.T) {
	far := nowhere{newFake(t, reaches(50e6))}
	x, err := Run(t.Context(), here, far, Options{Direction: bulk.Forward, Streams: 2})
	if err != nil || x.Evidence.Path != nil || x.Evidence.Transfer == nil || far.specs[0].Streams != 2 {
		t.Errorf("%+v, error %v: want an examination without a path", x, err)
	}
	far.transfer = neverBegins
	if _, err = Run(t.Context(), here, far, Options{Direction: bulk.Forward}); err == nil || !strings.Contains(err.Error(), "refused; before that: probe the path") {
		t.Errorf("error %v: want both reasons", err)
	}
}

// Ctrl-C keeps what was measured until then, if that is anything.
func TestRunInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	far := newFake(t, func(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
		stop()
		return standsStill(ctx, spec, watch)
	})
	x, err := Run(ctx, here, far, Options{Direction: bulk.Forward})
	if !errors.Is(err, context.Canceled) || x == nil || x.Evidence.Transfer == nil || x.Diagnosis.Verdict.Cause == "" {
		t.Errorf("%+v, error %v: want what was measured, and why no more", x, err)
	}
	if x, err = Run(ctx, here, far, Options{Direction: bulk.Forward}); !errors.Is(err, context.Canceled) || x != nil {
		t.Errorf("%+v, error %v: want nothing when nothing was measured", x, err)
	}
}

// Without this host's facts there is nothing to begin with.
func TestRunWithoutFacts(t *testing.T) {
	unreadable := func(context.Context) (*host.Facts, error) { return nil, errors.New("no /proc") }
	if _, err := Run(t.Context(), unreadable, newFake(t, reaches(1e6)), Options{Direction: bulk.Forward}); err == nil || err.Error() != "collect facts of this host: no /proc" {
		t.Errorf("error %v", err)
	}
}
