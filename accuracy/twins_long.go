package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// Where packets are lost, damaged or held back by chance, the seconds that a tuning
// spends on a path are a small sample: some ten losses to a hundred, which move goodput
// by a tenth to a half. A host that may use a small part of a processor moves twice as
// much in one minute as in the next. There the path and its twin, as found, are compared
// over more time, in turns.
const (
	longSeeds = 5 // other courses of chance
	longTime  = 30 * time.Second
	longOmit  = 2 * time.Second
)

// long is goodput before tuning over longTime each.
type long struct {
	Original []unit.Rate `json:"original_bps"`
	Twin     []unit.Rate `json:"twin_bps"`
}

// ratio of the twin's goodput to the original's, with its 95 % interval.
func (l *long) ratio() stat.Effect { return stat.Ratio(floats(l.Original), floats(l.Twin)) }

func (l *long) String() string {
	e := l.ratio()
	return fmt.Sprintf("%.2f (%.2f to %.2f): %s → %s", e.Gain, e.Low, e.High,
		unit.Rate(stat.Mean(floats(l.Original))), unit.Rate(stat.Mean(floats(l.Twin))))
}

func floats(rates []unit.Rate) []float64 {
	all := make([]float64, len(rates))
	for i, r := range rates {
		all[i] = float64(r)
	}
	return all
}

// byChance says whether chance decides about single packets of the scenario, or about
// what a host gets of its quota of a processor.
func byChance(e *entry) bool {
	if e.Hosts.A.CPUs > 0 || e.Hosts.B.CPUs > 0 {
		return true
	}
	for _, way := range e.document.ways() {
		for _, key := range []string{"loss", "corrupt", "reorder"} {
			if way[key] != nil {
				return true
			}
		}
	}
	return false
}

// overLong measures a scenario and its twin, a transfer of each in turn.
func (b *bench) overLong(ctx context.Context, e *entry, twin string) (*long, error) {
	data, err := os.ReadFile(twin)
	if err != nil {
		return nil, err
	}
	other, err := parseDocument(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", twin, err)
	}
	l := &long{}
	for seed := range longSeeds {
		for _, side := range []struct {
			document
			each *[]unit.Rate
		}{{e.document, &l.Original}, {other, &l.Twin}} {
			goodput, err := b.longTransfer(ctx, side.document, e.Name+".long", seed)
			if err != nil {
				return nil, err
			}
			*side.each = append(*side.each, goodput)
		}
	}
	return l, nil
}

// longTransfer is the goodput of one, with a course of chance of its own.
func (b *bench) longTransfer(ctx context.Context, d document, name string, seed int) (unit.Rate, error) {
	d = d.clone()
	d.reseed(seed)
	file, err := d.write(b.dir, name)
	if err != nil {
		return 0, err
	}
	defer os.Remove(file) //nolint:errcheck // it is no result
	goodput, err := b.goodput(ctx, file, bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: longTime, Omit: longOmit})
	if err != nil {
		return 0, fmt.Errorf("a transfer of %v: %w", longTime, err)
	}
	return goodput, nil
}
