package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/unit"
)

// healed measures goodput with the fault taken away: the same transfer, with the
// same timing. It is kept beside the evidence.
func (b *bench) healed(ctx context.Context, j *job) (unit.Rate, error) {
	x, err := examine.Read(evidenceFile(b.keep, j))
	if err != nil {
		return 0, err
	}
	spec := x.Evidence.Transfer.Spec
	scenario := j.document.clone()
	scenario.reseed(j.run)
	heal(scenario)
	file, err := scenario.write(b.dir, j.name()+".healed")
	if err != nil {
		return 0, err
	}
	goodput, err := b.goodput(ctx, file, spec)
	if err != nil {
		return 0, err
	}
	data, err := json.Marshal(healedFile{Goodput: goodput})
	if err != nil {
		return 0, err
	}
	return goodput, os.WriteFile(healedName(b.keep, j), data, 0o644)
}

// goodput is that of one transfer in a scenario.
func (b *bench) goodput(ctx context.Context, scenario string, spec bulk.Spec) (unit.Rate, error) {
	var document struct {
		FullBore bulk.Result `json:"fullbore"`
	}
	err := b.call(ctx, &document, "test", "--json", "--no-record", "--lab", scenario,
		"--time", seconds(spec.Duration.Seconds()), "--omit", seconds(spec.Omit.Seconds()), "--parallel", strconv.Itoa(spec.Streams))
	return document.FullBore.Goodput(spec.Direction), err
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) }

// healedFile is what is kept of a healed path.
type healedFile struct {
	Goodput unit.Rate `json:"goodput_bps"`
}

func healedName(dir string, j *job) string { return filepath.Join(dir, j.name()+".healed.json") }

// readHealed gives 0 where the healed path was not measured.
func readHealed(dir string, j *job) (unit.Rate, error) {
	data, err := os.ReadFile(healedName(dir, j))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read goodput of a healed path: %w", err)
	}
	var h healedFile
	if err := json.Unmarshal(data, &h); err != nil {
		return 0, fmt.Errorf("read %s: %w", healedName(dir, j), err)
	}
	return h.Goodput, nil
}

// measuredGain is the factor on goodput that healing brought; 0: not measured.
func (o *outcome) measuredGain() float64 {
	if o.Healed <= 0 || o.Goodput <= 0 {
		return 0
	}
	return float64(o.Healed / o.Goodput)
}

// gainError is how far the prediction was off, as a share of the measured gain;
// false where there is none to compare: only a right verdict predicts what the
// healing of the planted fault brings.
func (o *outcome) gainError() (share float64, ok bool) {
	measured := o.measuredGain()
	if measured == 0 || o.Predicted <= 0 || !o.right() || o.Invalid {
		return 0, false
	}
	return math.Abs(o.Predicted-measured) / measured, true
}
