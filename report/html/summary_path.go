package html

import (
	"cmp"
	"fmt"

	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
)

// path adds what is known of the path.
func (s *summary) path(e *path.Estimate, reverse bool) {
	way := e.Way(reverse)
	if way == nil {
		return
	}
	s.fact("path", fmt.Sprintf("round trip %s, capacity %s, MTU %s, holds %s", unit.Milliseconds(e.RTT.Min), way.Capacity, way.MTU, e.BDP(*way)))
}

// transfer adds what the last transfer that figures show went through.
func (s *summary) transfer(run *record.Run) {
	picked := chosen(run)
	if len(picked) == 0 {
		return
	}
	p := picked[len(picked)-1]
	of := ""
	if p.name != "" {
		of = " (" + p.name + ")"
	}
	for _, d := range p.result.Spec.Directions() {
		f := p.result.Figures(d)
		way := ofDirection(p.result, d)
		if len(p.result.Spec.Directions()) > 1 {
			s.fact("goodput"+way, f.Goodput.String())
		}
		if f.MayBeHigh != nil {
			s.fact("goodput"+of+way, clean(f.MayBeHigh.Says, 300))
		}
		c := f.Connection
		if c.Congestion != "" || c.MSS > 0 {
			s.fact("connection"+of+way, clean(fmt.Sprintf("%s, %s, segments of %d bytes", unit.Count(f.Streams, "stream"), cmp.Or(c.Congestion, "congestion control not known"), c.MSS), 120))
		}
		if says := lossSays(&f); says != "" {
			s.fact("loss"+of+way, says)
		}
		if f.LoadedRTT != nil {
			s.fact("round trip under load"+of+way, fmt.Sprintf("%s, %s at least, 95 %% below %s", unit.Milliseconds(f.LoadedRTT.Median), unit.Milliseconds(cmp.Or(f.LeastRTT, f.LoadedRTT.Min)), unit.Milliseconds(f.LoadedRTT.P95)))
		}
	}
	for _, e := range []struct{ name, says string }{{"this end", p.result.Client.Error}, {"the far end", p.result.Server.Error}} {
		if e.says != "" {
			s.warn(clean(e.name+" says: "+e.says, 300))
		}
	}
}
