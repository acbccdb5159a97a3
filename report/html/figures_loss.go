package html

import (
	"fmt"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/figure"
	"github.com/fullbore/fullbore/unit"
)

// lossFigure is what was sent again and what came out of order, or of UDP what was
// lost; nil if nothing was.
func lossFigure(p picked, d bulk.Direction) *figure.Chart {
	senders, receivers := p.result.Senders(d), p.result.Receivers(d)
	over := stretch(p.result, d, senders)
	counters := func(streams []bulk.Stream, count func(*bulk.Sample) uint32) []figure.Point {
		return total(each(streams, func(s *bulk.Stream) []figure.Point {
			return rates(spaced(s.Samples, over), func(was, now *bulk.Sample) float64 { return float64(int32(count(now) - count(was))) })
		}))
	}
	again := []figure.Series{
		{Name: "all", Points: counters(senders, func(s *bulk.Sample) uint32 { return s.TCP.TotalRetrans })},
		{Name: "needlessly", Points: counters(senders, func(s *bulk.Sample) uint32 { return s.TCP.DsackDups })},
	}
	behind := []figure.Series{
		{Name: "arrived behind a gap", Points: counters(receivers, func(s *bulk.Sample) uint32 { return s.TCP.RcvOooPack })},
		{Name: "datagrams lost", Points: counters(receivers, func(s *bulk.Sample) uint32 { return datagrams(s, func(u *bulk.Datagrams) int64 { return u.Lost }) })},
		{Name: "out of order", Points: counters(receivers, func(s *bulk.Sample) uint32 {
			return datagrams(s, func(u *bulk.Datagrams) int64 { return u.OutOfOrder })
		})},
	}
	var panels []figure.Panel
	for _, p := range []struct {
		name   string
		series []figure.Series
	}{{"segments sent again", again}, {"packets at the receiver", behind}} {
		panel := figure.Panel{Y: figure.Axis{Name: p.name, Of: figure.PerSecond}}
		for _, s := range p.series {
			if something(s.Points) {
				s.Look = figure.Stairs
				panel.Series = append(panel.Series, s)
			}
		}
		if len(panel.Series) > 0 {
			panels = append(panels, panel)
		}
	}
	if len(panels) == 0 {
		return nil
	}
	f := p.result.Figures(d)
	return &figure.Chart{
		Title: "Retransmissions and loss" + ofDirection(p.result, d), Says: lossSays(&f),
		X: timeAxis, Panels: panels, Spans: omitted(senders),
	}
}

func datagrams(s *bulk.Sample, count func(*bulk.Datagrams) int64) uint32 {
	if s.UDP == nil {
		return 0
	}
	return uint32(count(s.UDP)) // differences are of 32 bits, as those of TCP
}

func lossSays(f *bulk.Figures) string {
	if u := f.Datagrams; u != nil {
		return fmt.Sprintf("%d of %d datagrams were lost.", u.Lost, u.Packets)
	}
	r := f.Repeated
	if r == nil || r.Segments == nil {
		return ""
	}
	says := fmt.Sprintf("%s sent again", unit.Count(int(*r.Segments), "segment"))
	if r.Share != nil {
		says += ", " + unit.Percent(*r.Share) + " of the data"
	}
	return says + "."
}

// latencyFigure is how the latency beside the load is distributed, and before it; of a
// transfer without such a flow, that of the loaded flow itself.
func latencyFigure(all []picked) *figure.Chart {
	panel := figure.Panel{Y: figure.Axis{Name: "round trips that are not longer", Of: figure.Share}}
	add := func(p picked, name string, values []float64) {
		if len(values) > 1 {
			if p.name != "" {
				name = p.name + ": " + name
			}
			panel.Series = append(panel.Series, figure.Series{Name: name, Look: figure.Stairs, Points: figure.Distribution(values)})
		}
	}
	var says []string
	for _, p := range all {
		began, ended := 0.0, 0.0
		for _, s := range p.result.Client.Streams {
			began, ended = seconds(s.Began), max(ended, seconds(s.Began+s.Elapsed))
		}
		var before, beside []float64
		for _, l := range p.result.SmallFlow {
			switch at := seconds(l.At); {
			case l.RTT <= 0:
			case at < 0:
				before = append(before, l.RTT.Seconds())
			case at >= began && at < ended:
				beside = append(beside, l.RTT.Seconds())
			}
		}
		if p.name == "" || p.name == all[0].name {
			add(p, "before the load", before)
		}
		add(p, "beside the load", beside)
		for _, d := range p.result.Spec.Directions() {
			var loaded []float64
			for _, s := range p.result.Senders(d) {
				for i, sample := range s.Measured() {
					if i > 0 && sample.TCP.RTT > 0 && sample.TCP.State != bulk.StateClosed {
						loaded = append(loaded, float64(sample.TCP.RTT)/1e6)
					}
				}
			}
			add(p, "loaded flow"+ofDirection(p.result, d), loaded)
		}
		if small := p.result.Small(); small != nil && small.Loaded != nil {
			text := "a small flow beside the load has a median of " + unit.Milliseconds(small.Loaded.Median)
			if p.name != "" {
				text = p.name + ": " + text
			}
			says = append(says, text)
		}
	}
	if len(panel.Series) == 0 {
		return nil
	}
	var scale []float64
	for _, s := range panel.Series {
		for _, p := range s.Points {
			scale = append(scale, p.X)
		}
	}
	return &figure.Chart{
		Title: "Latency under load", Says: sentence(strings.Join(says, "; ")),
		X: figure.Axis{Name: "round trip", Of: figure.RTT, Scale: figure.ScaleOf(figure.Tens, 8, scale...), FromZero: true}, Panels: []figure.Panel{panel},
	}
}
