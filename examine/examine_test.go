package examine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/unit"
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

// Whoever asks for a quick verdict gets it from one transfer, and the trial that
// could change it is named as one that was not run.
func TestRunQuick(t *testing.T) {
	loses := lossy(t)
	for _, quick := range []bool{true, false} {
		far := nowhere{newFake(t, func(context.Context, bulk.Spec, func(bulk.Progress)) (*bulk.Result, error) { return loses, nil })}
		x, err := Run(t.Context(), here, far, Options{Direction: bulk.Forward, Quick: quick})
		if err != nil {
			t.Fatal(err)
		}
		if once := len(far.specs) == 1; once != quick || (x.Untried() != nil) != quick {
			t.Errorf("quick %v: %d transfers, untried %+v", quick, len(far.specs), x.Untried())
		}
	}
}

// A trial that the budget did not allow, or that was not asked for, is untried; one
// that would be the same again is not.
func TestUntried(t *testing.T) {
	next := trial(diagnose.TrialPaced, 1e6)
	for _, test := range []struct {
		tried []diagnose.Trial
		next  *diagnose.Trial
		want  bool
	}{
		{nil, nil, false},
		{nil, &next, true},
		{[]diagnose.Trial{trial(diagnose.TrialPaced, 2e6)}, &next, true},
		{[]diagnose.Trial{next}, &next, false},
	} {
		x := Examination{Evidence: diagnose.Evidence{Trials: test.tried}, Diagnosis: diagnose.Diagnosis{Next: test.next}}
		if got := x.Untried(); (got != nil) != test.want || got != nil && got != test.next {
			t.Errorf("after %d trials, next %v: untried %v", len(test.tried), test.next != nil, got)
		}
	}
}

// Whoever watches an examination sees what begins and what came of it.
func TestRunTells(t *testing.T) {
	type transfer = func(context.Context, bulk.Spec, func(bulk.Progress)) (*bulk.Result, error)
	for name, test := range map[string]struct {
		transfer   transfer
		unprobable bool
		stopped    bool // by the user, while the path is probed
		want       string
	}{
		"all goes well":            {atOnce(50e6), false, false, `^\.\. probe the path\n   RTT [0-9.]+ ms, capacity [0-9.]+ .b/s\n\.\. measure a transfer\n   50 Mb/s$`},
		"the path is not probed":   {atOnce(50e6), true, false, `^\.\. probe the path\n   not possible: probe the path: .*\n\.\. measure a transfer\n   50 Mb/s$`},
		"nothing arrives":          {neverArrives, false, false, `\n\.\. measure a transfer\n   failed: nothing arrived for 3s$`},
		"Ctrl-C during the probes": {atOnce(50e6), false, true, `^\.\. probe the path$`},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			fake := newFake(t, test.transfer)
			var far Far = fake
			if test.unprobable {
				far = nowhere{fake}
			}
			if test.stopped {
				fake.probed = stop
			}
			var told diary
			_, err := Run(ctx, here, far, Options{Direction: bulk.Forward, Quick: true, Watch: &told})
			if text := strings.Join(told, "\n"); !regexp.MustCompile(test.want).MatchString(text) || (err != nil) != test.stopped {
				t.Errorf("error %v, told\n%s", err, text)
			}
		})
	}
}

// What is told of the path is of the direction that is examined.
func TestWay(t *testing.T) {
	x := Examination{Evidence: *evidence(20 * ms)}
	for direction, want := range map[bulk.Direction]*path.Direction{bulk.Forward: &x.Evidence.Path.Forward, bulk.Reverse: &x.Evidence.Path.Reverse} {
		if x.Evidence.Direction = direction; x.way() != want {
			t.Errorf("%s: the other one", direction)
		}
	}
}

// A path is probed again while only a lower bound of its capacity is known, three
// times at most; the first look stands where no later one is better.
func TestLooksAgain(t *testing.T) {
	measured, bound, better := path.Capacity{Rate: 3, Low: 2, High: 4}, path.Capacity{Rate: 1, Low: 1}, path.Capacity{Rate: 2, Low: 2}
	gone := errors.New("gone")
	type look struct {
		c   path.Capacity
		err error
	}
	for name, test := range map[string]struct {
		looks []look
		want  unit.Rate // of the estimate
		took  int
	}{
		"measured at once":                      {[]look{{measured, nil}}, 3, 1},
		"nothing can be measured":               {[]look{{path.Capacity{Rate: 5, Assumed: true}, nil}}, 5, 1},
		"measured the second time":              {[]look{{bound, nil}, {measured, nil}}, 3, 2},
		"measured the third time":               {[]look{{bound, nil}, {bound, nil}, {measured, nil}}, 3, 3},
		"never measured":                        {[]look{{bound, nil}, {better, nil}, {better, nil}, {measured, nil}}, 1, 3},
		"a second look that fails changes less": {[]look{{bound, nil}, {measured, gone}, {bound, nil}}, 1, 3},
		"a second look that measures nothing":   {[]look{{bound, nil}, {path.Capacity{Rate: 5, Assumed: true}, nil}, {bound, nil}}, 1, 3},
		"the first look fails":                  {[]look{{bound, gone}, {measured, nil}}, 0, 1},
	} {
		for _, d := range []bulk.Direction{bulk.Forward, bulk.Reverse} {
			took := 0
			got, err := again(t.Context(), d, func() (*path.Estimate, error) {
				next := test.looks[took]
				took++
				if next.err != nil {
					return nil, next.err
				}
				e := &path.Estimate{Forward: path.Direction{Capacity: measured}, Reverse: path.Direction{Capacity: measured}}
				e.Way(d == bulk.Reverse).Capacity = next.c
				return e, nil
			})
			if failed := test.looks[0].err; took != test.took || !errors.Is(err, failed) || failed == nil && got.Way(d == bulk.Reverse).Capacity.Rate != test.want {
				t.Errorf("%s, %s: %d looks, %+v, error %v", name, d, took, got, err)
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	_, err := again(ctx, bulk.Forward, func() (*path.Estimate, error) {
		stop()
		return &path.Estimate{Forward: path.Direction{Capacity: bound}}, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Ctrl-C while it looks again: %v", err)
	}
}

// A transfer begins where the budget is just what it costs, and not below that.
func TestBudgetForOne(t *testing.T) {
	const rtt = 20 * ms
	cost := (&Meter{rtt: rtt}).Cost(Timing(rtt))
	for budget, begins := range map[time.Duration]bool{cost: true, cost - 1: false} {
		far := newFake(t, atOnce(50e6))
		x := &Examination{Evidence: *evidence(rtt)}
		err := x.transfer(t.Context(), NewMeter(far, rtt, budget, silent{}), Options{Direction: bulk.Forward, Watch: silent{}})
		if errors.Is(err, ErrBudget) == begins {
			t.Errorf("budget %v of %v: error %v", budget, cost, err)
		}
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
