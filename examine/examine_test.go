package examine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/peer"
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
		{"a far end that tells nothing of itself", atOnce(50e6), 0, "", ""},
		{"nothing arrives", neverArrives, 0, "", "nothing arrived for 3s"},
		{"no transfer begins", neverBegins, 0, "start transfer: refused", ""},
		{"the budget is too small for any", atOnce(50e6), s, "budget is too small: 1s of test traffic, and one transfer takes up to 2.3s on this path", ""},
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
				if x.Spent.Bytes == 0 && test.failed == "" {
					t.Error("spent nothing")
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
	far := nowhere{newFake(t, atOnce(50e6))}
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
		return neverArrives(ctx, spec, watch)
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
	if _, err := Run(t.Context(), unreadable, newFake(t, atOnce(1e6)), Options{Direction: bulk.Forward}); err == nil || err.Error() != "collect facts of this host: no /proc" {
		t.Errorf("error %v", err)
	}
}

// Why a far end does not tell its facts is said as what it is; only of one that
// measures for whoever asks, and was asked without its token, none are expected.
func TestMeet(t *testing.T) {
	for _, why := range []error{peer.ErrForbidden, peer.ErrToken, peer.ErrTimeout, peer.ErrFailed, peer.ErrBusy, peer.ErrRefused, peer.ErrUnreachable, context.DeadlineExceeded} {
		far := newFake(t, atOnce(1e6))
		far.facts = fmt.Errorf("500 Internal Server Error: %w", why)
		_, _, err := Meet(t.Context(), here, far)
		if !errors.Is(err, why) || !strings.HasPrefix(err.Error(), "collect facts of the far end: 500 Internal") {
			t.Errorf("error %v, want %v as what it is", err, why)
		}
		if x, err := Run(t.Context(), here, far, Options{Direction: bulk.Forward}); !errors.Is(err, why) || x != nil {
			t.Errorf("%+v, error %v: want no examination", x, err)
		}
	}
	own, other, err := Meet(t.Context(), here, newFake(t, atOnce(1e6)))
	if err != nil || own == nil || other != nil {
		t.Errorf("%v, %v, error %v: want a far end that only measures", own, other, err)
	}
}
