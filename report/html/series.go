package html

import (
	"math"
	"slices"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/figure"
)

// nan is a gap in a figure.
var nan = math.NaN()

// seconds of a sample are since its end started the transfer.
func seconds(d time.Duration) float64 { return d.Seconds() }

// rates are a counter's increase per second from sample to sample.
func rates(samples []bulk.Sample, grown func(was, now *bulk.Sample) float64) []figure.Point {
	var points []figure.Point
	for i := 1; i < len(samples); i++ {
		was, now := &samples[i-1], &samples[i]
		if took := (now.At - was.At).Seconds(); took > 0.001 { // the last look may come right behind another one
			if len(points) == 0 {
				points = append(points, figure.Point{X: seconds(was.At), Y: grown(was, now) / took})
			}
			points = append(points, figure.Point{X: seconds(now.At), Y: grown(was, now) / took})
		}
	}
	return points
}

// goodputRate is what the application read or wrote, in bit/s, over stretches of at
// least so many seconds.
func goodputRate(s *bulk.Stream, least float64) []figure.Point {
	return rates(spaced(s.Samples, least), func(was, now *bulk.Sample) float64 { return 8 * float64(now.Bytes-was.Bytes) })
}

// spaced leaves out samples that come sooner than so many seconds behind another: the
// last one of a transfer often does.
func spaced(samples []bulk.Sample, least float64) []bulk.Sample {
	var apart []bulk.Sample
	for i, sample := range samples {
		switch n := len(apart); {
		case n == 0 || (sample.At-apart[n-1].At).Seconds() >= least*0.99: // looks come a little early, too
			apart = append(apart, sample)
		case i == len(samples)-1 && n > 1:
			apart[n-1] = sample // what is left belongs to the last stretch
		}
	}
	return apart
}

// stretch is over how many seconds counters are averaged: the time from look to look,
// and two round trips, since data comes once in each, and over less the figure would
// show when the looks were. It is at most a twentieth of the transfer.
func stretch(r *bulk.Result, d bulk.Direction, streams []bulk.Stream) float64 {
	trip, whole := 0.0, 0.0
	if f := r.Figures(d); f.LoadedRTT != nil {
		trip = f.LoadedRTT.Median.Seconds()
	}
	for _, s := range streams {
		if n := len(s.Samples); n > 0 {
			whole = max(whole, (s.Samples[n-1].At - s.Samples[0].At).Seconds())
		}
	}
	looks := bulk.DefaultInterval.Seconds()
	if r.Spec.Interval > 0 {
		looks = r.Spec.Interval.Seconds()
	}
	return min(max(2*trip, looks), whole/20)
}

// total adds up stairs: at every place where one of them has a step, what all are
// worth there.
func total(all [][]figure.Point) []figure.Point {
	return across(all, func(x float64, values []float64) figure.Point {
		sum := 0.0
		for _, v := range values {
			sum += v
		}
		return figure.Point{X: x, Y: sum}
	})
}

// spread are the median of several series, and the least and the most.
func spread(all [][]figure.Point) []figure.Point {
	return across(all, func(x float64, values []float64) figure.Point {
		slices.Sort(values)
		return figure.Point{X: x, Y: values[len(values)/2], Low: values[0], High: values[len(values)-1]}
	})
}

// across looks at all series at once: each holds its next value until its place.
func across(all [][]figure.Point, join func(x float64, values []float64) figure.Point) []figure.Point {
	all = together(all)
	var places []float64
	for _, points := range all {
		for _, p := range points {
			places = append(places, p.X)
		}
	}
	slices.Sort(places)
	places = slices.Compact(places)
	next := make([]int, len(all))
	var joined []figure.Point
	for _, x := range places {
		var values []float64
		for i, points := range all {
			for next[i] < len(points) && points[next[i]].X < x {
				next[i]++
			}
			if next[i] < len(points) && points[0].X <= x && !math.IsNaN(points[next[i]].Y) {
				values = append(values, points[next[i]].Y)
			}
		}
		if len(values) > 0 {
			joined = append(joined, join(x, values))
		}
	}
	return joined
}

// together lets series that begin, or end, at nearly the same time do so at the same: the
// streams of a transfer are closed one after the other, within some milliseconds.
func together(all [][]figure.Point) [][]figure.Point {
	began, ended := math.Inf(1), math.Inf(-1)
	for _, points := range all {
		if len(points) > 0 {
			began, ended = min(began, points[0].X), max(ended, points[len(points)-1].X)
		}
	}
	near := (ended - began) / 40
	aligned := make([][]figure.Point, len(all))
	for i, points := range all {
		aligned[i] = slices.Clone(points)
		if n := len(points); n > 1 {
			if points[0].X-began < near {
				aligned[i][0].X = began
			}
			if ended-points[n-1].X < near {
				aligned[i][n-1].X = ended
			}
		}
	}
	return aligned
}

// gauges are what each sample of a live connection shows.
func gauges(samples []bulk.Sample, value func(*bulk.Sample) float64) []figure.Point {
	var points []figure.Point
	for i := range samples {
		if samples[i].TCP.State == bulk.StateClosed || samples[i].TCP.Length == 0 {
			continue
		}
		points = append(points, figure.Point{X: seconds(samples[i].At), Y: value(&samples[i])})
	}
	return points
}

// each applies a series to every stream.
func each(streams []bulk.Stream, of func(*bulk.Stream) []figure.Point) [][]figure.Point {
	var all [][]figure.Point
	for i := range streams {
		if points := of(&streams[i]); len(points) > 0 {
			all = append(all, points)
		}
	}
	return all
}

// values are the heights of points, for the choice of a scale.
func values(series ...[]figure.Point) []float64 {
	var all []float64
	for _, points := range series {
		for _, p := range points {
			all = append(all, p.Y)
		}
	}
	return all
}

// something says that a series is more than zeros.
func something(points []figure.Point) bool {
	return slices.ContainsFunc(points, func(p figure.Point) bool { return p.Y != 0 && !math.IsNaN(p.Y) })
}
