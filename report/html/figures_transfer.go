package html

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/figure"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/unit"
)

// ownLines is up to how many streams each have a line of their own; more are shown as
// their median between the least and the most.
const ownLines = 5

var timeAxis = figure.Axis{Name: "time", Of: figure.Seconds}

// counted are the streams of one direction at the end that counts: the receiver, or
// the sender where that one reports no samples.
func counted(r *bulk.Result, d bulk.Direction) (streams []bulk.Stream, by string) {
	for _, streams := range []struct {
		all []bulk.Stream
		by  string
	}{{r.Receivers(d), "as the receiver read it"}, {r.Senders(d), "as the sender wrote it: the far end reports no samples"}} {
		for _, s := range streams.all {
			if len(s.Samples) > 1 {
				return streams.all, streams.by
			}
		}
	}
	return nil, ""
}

// goodputFigure is goodput over time, by stream.
func goodputFigure(p picked, d bulk.Direction, way *path.Direction) *figure.Chart {
	streams, by := counted(p.result, d)
	slices.SortStableFunc(streams, func(a, b bulk.Stream) int { return cmp.Compare(a.ID, b.ID) })
	over := stretch(p.result, d, streams)
	lines := each(streams, func(s *bulk.Stream) []figure.Point { return goodputRate(s, over) })
	if len(lines) == 0 {
		return nil
	}
	panel := figure.Panel{Y: figure.Axis{Name: "goodput", Of: figure.Rate}}
	if len(lines) > 1 {
		panel.Series = append(panel.Series, figure.Series{Name: fmt.Sprintf("all %d streams", len(lines)), Look: figure.Stairs, Points: total(lines)})
	}
	if len(lines) <= ownLines {
		for i, line := range lines {
			panel.Series = append(panel.Series, figure.Series{Name: fmt.Sprintf("stream %d", streams[i].ID), Look: figure.Stairs, Points: line})
		}
	} else {
		panel.Series = append(panel.Series, figure.Series{Name: "median of them, least to most", Look: figure.Band, Points: spread(lines)})
	}
	mean := p.result.Goodput(d)
	if mean > 0 {
		panel.Levels = append(panel.Levels, figure.Level{Name: "mean " + mean.String(), At: float64(mean)})
	}
	if way != nil && way.Capacity.Measured() && mean > way.Capacity.Rate/4 {
		panel.Levels = append(panel.Levels, figure.Level{Name: "path's capacity " + way.Capacity.Rate.String(), At: float64(way.Capacity.Rate)})
	}
	if over > 0 {
		by += fmt.Sprintf("; each step is the mean of %s or more", unit.Milliseconds(time.Duration(over*float64(time.Second))))
	}
	return &figure.Chart{
		Title: "Goodput over time" + ofDirection(p.result, d), Says: fmt.Sprintf("%v, %s.", mean, by),
		X: timeAxis, Panels: []figure.Panel{panel}, Spans: omitted(streams),
	}
}

// ofDirection names the direction where there are two.
func ofDirection(r *bulk.Result, d bulk.Direction) string {
	if r.Spec.Direction != bulk.Both {
		return ""
	}
	return map[bulk.Direction]string{bulk.Forward: ", forward", bulk.Reverse: ", reverse"}[d]
}

// omitted is the time at the beginning that does not count.
func omitted(streams []bulk.Stream) []figure.Span {
	for _, s := range streams {
		n := len(s.Samples)
		if n > 1 && s.Samples[0].Omitted && s.Began-s.Samples[0].At > (s.Samples[n-1].At-s.Samples[0].At)/50 { // less is not seen
			return []figure.Span{{Name: "not counted", From: seconds(s.Samples[0].At), To: seconds(s.Began)}}
		}
	}
	return nil
}

// windowsFigure is what the sender's kernel saw: the round trip, and the windows
// which, divided by it, bound the rate.
func windowsFigure(p picked, d bulk.Direction) *figure.Chart {
	senders := p.result.Senders(d)
	trips := each(senders, func(s *bulk.Stream) []figure.Point {
		return gauges(s.Samples, func(s *bulk.Sample) float64 {
			if s.TCP.RTT == 0 {
				return nan
			}
			return float64(s.TCP.RTT) / 1e6
		})
	})
	if len(trips) == 0 {
		return nil
	}
	sum := func(value func(*bulk.Sample) float64) []figure.Point {
		return total(each(senders, func(s *bulk.Stream) []figure.Point { return gauges(s.Samples, value) }))
	}
	cwnd := sum(func(s *bulk.Sample) float64 { return float64(s.TCP.SndCwnd) * float64(s.TCP.SndMSS) })
	flight := sum(func(s *bulk.Sample) float64 { return float64(s.TCP.Inflight()) })
	window := sum(func(s *bulk.Sample) float64 {
		if !s.TCP.HasSndWnd() {
			return nan
		}
		return float64(s.TCP.SndWnd)
	})
	trip := figure.Series{Name: "smoothed round trip", Look: figure.Line, Points: trips[0]}
	of := ""
	if len(trips) > 1 {
		trip = figure.Series{Name: "median of the streams, least to most", Look: figure.Band, Points: spread(trips)}
		of = " of all streams"
	}
	f := p.result.Figures(d)
	upper := figure.Panel{Y: figure.Axis{Name: "round trip", Of: figure.RTT}, Series: []figure.Series{trip}}
	if f.LeastRTT > 0 {
		upper.Levels = []figure.Level{{Name: "least " + unit.Milliseconds(f.LeastRTT), At: f.LeastRTT.Seconds()}}
	}
	lower := figure.Panel{Y: figure.Axis{Name: "windows" + of, Of: figure.Size, Scale: figure.ScaleOf(figure.Doubles, 12, values(cwnd, window)...)}}
	for _, s := range []figure.Series{{Name: "congestion window", Points: cwnd}, {Name: "receive window", Points: window}, {Name: "in flight", Points: flight}} {
		if something(s.Points) {
			lower.Series = append(lower.Series, s)
		}
	}
	says := ""
	if f.LoadedRTT != nil {
		says = fmt.Sprintf("The median round trip under load is %s.", unit.Milliseconds(f.LoadedRTT.Median))
	}
	if w := f.Waited; w != nil {
		says += fmt.Sprintf(" The sender waited for the receiver's window %s of the time, for its send buffer %s, for the path %s.",
			unit.Percent(w.Window), unit.Percent(w.Buffer), unit.Percent(w.Path))
	}
	return &figure.Chart{
		Title: "Round trip and windows" + ofDirection(p.result, d), Says: says,
		X: timeAxis, Panels: []figure.Panel{upper, lower}, Spans: omitted(senders),
	}
}

// acksFigure sets the data segments that one ACK answered beside their rate, as
// figure 3 of the GigaSwift article does.
func acksFigure(p picked, d bulk.Direction) *figure.Chart {
	f := p.result.Figures(d)
	acks, by := f.SenderACKs, "by the sender's count"
	if acks == nil || len(acks.Series) == 0 {
		acks, by = f.ReceiverACKs, "by the receiver's count"
	}
	if acks == nil || len(acks.Series) == 0 {
		return nil
	}
	began := time.Duration(0)
	if streams := p.result.Senders(d); len(streams) > 0 {
		began = streams[0].Began
	}
	if began >= acks.Series[0].At {
		began = 0
	}
	var rate, ratio []figure.Point
	for i, point := range acks.Series {
		if i == 0 {
			rate = append(rate, figure.Point{X: seconds(began), Y: point.Rate})
			ratio = append(ratio, figure.Point{X: seconds(began), Y: none(point.Ratio)})
		}
		rate = append(rate, figure.Point{X: seconds(point.At), Y: point.Rate})
		ratio = append(ratio, figure.Point{X: seconds(point.At), Y: none(point.Ratio)})
	}
	return &figure.Chart{
		Title: "Data segments for each ACK" + ofDirection(p.result, d), Says: fmt.Sprintf("One ACK came back for %s data segments, %s.", number(acks.Ratio), by),
		X: timeAxis, Panels: []figure.Panel{
			{Y: figure.Axis{Name: "data segments", Of: figure.PerSecond}, Series: []figure.Series{{Name: "data segments", Look: figure.Stairs, Points: rate}}},
			{Y: figure.Axis{Name: "data segments for each ACK"}, Series: []figure.Series{{Name: "data segments for each ACK", Look: figure.Stairs, Points: ratio}}},
		},
	}
}

// none makes a gap of what is not there.
func none(v float64) float64 {
	if v == 0 {
		return nan
	}
	return v
}
