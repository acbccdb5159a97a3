package diagnose

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/unit"
)

// Everything that is found in the scenes of a test, with all figures, against
// testdata/findings: what a change of the rules does elsewhere shows there.
type findings struct{ text strings.Builder }

// add writes down a diagnosis: with its evidence and words, or in a line a finding.
func (all *findings) add(name string, d Diagnosis, whole bool) {
	fmt.Fprintf(&all.text, "%s\n  verdict %s %v\n", name, d.Verdict.Cause, d.Verdict.Confidence)
	for _, f := range d.Findings {
		fmt.Fprintf(&all.text, "  %s %v, weight %.3g, gain %.4g, predicted %.4g\n", f.Cause, f.Confidence, f.weight, f.Gain, float64(f.Predicted))
		if !whole {
			continue
		}
		fmt.Fprintf(&all.text, "    %s\n    %s\n", f.Says, f.Action)
		for _, fact := range f.Evidence {
			fmt.Fprintf(&all.text, "    %s %.4g %s: %s\n", fact.Name, fact.Value, fact.Unit, fact.Says)
		}
	}
	if n := d.Next; n != nil && !whole {
		fmt.Fprintf(&all.text, "  next %s at %.4g\n", n.Kind, float64(n.Spec.Pace))
	} else if n != nil {
		fmt.Fprintf(&all.text, "  next %s: streams %d, congestion %q, pace %.4g, MSS %d\n", n.Kind, n.Spec.Streams, n.Spec.Congest, float64(n.Spec.Pace), n.Spec.MSS)
		for _, x := range n.Expects {
			fmt.Fprintf(&all.text, "    %s %.4g: %s\n", x.Cause, float64(x.Goodput), x.Says)
		}
	}
}

func (all *findings) check(t *testing.T) {
	t.Helper()
	golden.Check(t, "findings/"+t.Name()+".txt", all.text.String())
}

// Many transfers with whatever trials, drawn from a seed around the thresholds of
// the causes: a change of the rules shows in which verdicts it changes.
func TestManyTransfers(t *testing.T) {
	const draws = 1000
	chance := rand.New(rand.NewPCG(1, 2))
	oneOf := func(of ...float64) float64 { return of[chance.IntN(len(of))] }
	draw := func(base float64) scene {
		s := mid(unit.Rate(base*oneOf(0.3, 0.7, 1, 1, 1.1, 1.4, 1.9, 2.4, 2.9, 3.3, 5))*mbps, []string{"cubic", "cubic", "reno", "bbr"}[chance.IntN(4)], int(oneOf(0, 0, 20, 250, 2000, 20000)))
		if oneOf(0, 0, 1) == 1 {
			s = s.queueing(time.Duration(oneOf(48, 52, 75, 130, 300)) * ms)
		}
		s.short = true
		s.rwnd, s.sndbuf, s.idle = oneOf(0, 0, 0, 0, 0, 0, 0.3, 0.6, 0.9), oneOf(0, 0, 0, 0, 0, 0, 0.1, 0.3, 0.6), oneOf(0, 0, 0, 0, 0, 0, 0.05, 0.3)
		s.notsent = oneOf(0, 1, 1, 1, 1, 1, 1, 1) == 1
		s.unread = int(oneOf(0, 0, 0, 40_000, 400_000))
		s.recvBuf, s.sendBuf = int(oneOf(0, 100_000, 400_000)), int(oneOf(0, 100_000, 400_000))
		s.windowGrowth = oneOf(0, 0, 0, 0, 0, 0, 1.1, 3)
		return s
	}
	var all findings
	for i := range draws {
		base := oneOf(1, 5, 20, 40, 60, 80, 86, 92)
		c := pathScene{scene: draw(base), trials: map[TrialKind]scene{}, change: func(e *Evidence) {
			way := &e.Path.Forward.Capacity
			way.Lost, way.Burst = oneOf(0, 0, 0.01, 0.19, 0.3, 0.59, 0.7), unit.Size(oneOf(0, 0, 20_000, 90_000, 200_000))
			way.Assumed = oneOf(0, 0, 0, 1) == 1
			if oneOf(0, 0, 0, 1) == 1 {
				way.High = 0
			}
			if oneOf(0, 0, 1) == 1 {
				e.Transfer.Client.Counters = map[string]int64{"TcpExt.TCPSackRecovery": int64(oneOf(1, 3, 30)), "TcpExt.TCPDSACKRecv": int64(oneOf(0, 1, 5, 50))}
				eachSample(&e.Transfer.Client, func(_ int, s *bulk.TCPInfo) { s.ReordSeen, s.Reordering = uint32(i%30), uint32(i%17) })
			}
			if oneOf(0, 0, 1) == 1 {
				wired(e, host.LinkCounters{RxBytes: int64(oneOf(1, 1e7, 1e8)), CRC: int64(oneOf(0, 2, 40)), LateCollisions: int64(oneOf(0, 0, 0, 3)), RxMissed: int64(oneOf(0, 0, 9)), CarrierChanges: int64(oneOf(0, 0, 0, 1))})
				cores(&e.Transfer.Client, oneOf(0.2, 0.2, 0.2, 0.95), oneOf(0, 0.5, 1), oneOf(0, 0.15, 0.4), oneOf(0.5, 0.97), oneOf(0.1, 0.7))
				cores(&e.Transfer.Server, oneOf(0.2, 0.95), oneOf(0, 0.5, 1), oneOf(0, 0.15, 0.4), oneOf(0.5, 0.97), oneOf(0.1, 0.7))
			}
			if oneOf(0, 0, 0, 1) == 1 {
				shapedBy("tbf", unit.Rate(base*oneOf(0.9, 1.04, 1.2, 2))*mbps, false)(e)
			}
			if oneOf(0, 0, 0, 1) == 1 {
				eachSample(&e.Transfer.Server, func(n int, s *bulk.TCPInfo) { s.SegsOut = uint32(n * 700) })
				came := oneOf(300, 640, 680, 700)
				eachSample(&e.Transfer.Client, func(n int, s *bulk.TCPInfo) { s.SegsIn = uint32(float64(n) * came) })
				e.Path.Reverse.Capacity.Rate = unit.Rate(oneOf(0.5, 0.7, 100)) * mbps
			}
		}}
		for _, kind := range trialKinds {
			if kind != TrialSegment && oneOf(0, 1) == 1 {
				s := draw(base)
				if kind == TrialPaced {
					s = s.paced(unit.Rate(base*oneOf(0.9, 1, 1.2, 2.5)) * mbps)
				}
				c.trials[kind] = s
			}
		}
		e := c.evidence()
		all.add(fmt.Sprint("transfer ", i), Diagnose(e), false)
		for _, limit := range Ceilings(e) {
			fmt.Fprintf(&all.text, "  ceiling %s %.4g\n", limit.Of, float64(limit.Rate))
		}
	}
	all.check(t)
}

// Every explanation as it is read, with the figures of its examples.
func TestExamplesOfAllCauses(t *testing.T) {
	var text strings.Builder
	for _, c := range Causes {
		e, err := Explain(c.ID)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%s\n%s\n%s\n%s\n%s\n", c.ID, e.Happens, e.Formula, e.Example, e.Recognised)
	}
	golden.Check(t, "findings/"+t.Name()+".txt", text.String())
}
