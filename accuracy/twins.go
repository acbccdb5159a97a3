package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
)

// Twins: a scenario is tuned, its twin is made from that run alone, and tuned too. A
// good twin has the same verdict, and the same goodput before and after.

// chosen gives n scenarios in which every cause is represented as evenly as can be:
// causes and their scenarios in an order drawn with a fixed seed, then one of each
// cause in turn.
func chosen(all []entry, n int) []entry {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	random := rand.New(rand.NewPCG(twinsSeed, 0))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var causes []string
	of := map[string][]entry{}
	for _, e := range all {
		cause := fold(e.Expect.Cause)
		if of[cause] == nil {
			causes = append(causes, cause)
		}
		of[cause] = append(of[cause], e)
	}
	var picked []entry
	for round := 0; len(picked) < min(n, len(all)); round++ {
		for _, cause := range causes {
			if round < len(of[cause]) && len(picked) < n {
				picked = append(picked, of[cause][round])
			}
		}
	}
	return picked
}

// tuning90 is how long a tuning may take whose budget is 90 s of traffic.
const tuning90 = 4 * time.Minute

// twinsSeed was chosen before any twin was made: the number of the first draw.
const twinsSeed = 1

// tuned is what is read of `fullbore tune --json` (docs/json.md).
type tuned struct {
	Verdict struct {
		Cause string `json:"cause"`
	} `json:"verdict"`
	Before struct {
		Goodput unit.Rate `json:"goodput_bps"`
	} `json:"before"`
	After struct {
		Goodput unit.Rate `json:"goodput_bps"`
	} `json:"after"`
	Error string `json:"error,omitempty"` // ours: why it did not end well
}

// twinned is what came of a scenario and of its twin.
type twinned struct {
	Scenario string `json:"scenario"`
	Expect   string `json:"expect"`
	Original tuned  `json:"original"`
	Twin     tuned  `json:"twin"`
	Again    *tuned `json:"again,omitempty"` // the original once more: what chance alone does
	Long     *long  `json:"long,omitempty"`  // of paths where chance decides
	Problem  string `json:"problem,omitempty"`
}

// alike is within 10 % of the original, or as much nothing as that.
const alike = 0.1

// nothing arrives where fewer bits a second do than a retransmission timeout now and
// then lets through.
const nothing = 50 * unit.Kbps

func like(original, other unit.Rate) bool {
	if original < nothing && other < nothing {
		return true
	}
	return math.Abs(float64(other/original)-1) <= alike
}

func (t *twinned) sameVerdict() bool {
	return t.Twin.Verdict.Cause != "" && fold(t.Twin.Verdict.Cause) == fold(t.Original.Verdict.Cause)
}

// sameGoodput is by what tune itself measured.
func (t *twinned) sameGoodput() bool {
	return t.Twin.Verdict.Cause != "" && like(t.Original.Before.Goodput, t.Twin.Before.Goodput) && like(t.Original.After.Goodput, t.Twin.After.Goodput)
}

// alike is by longer transfers where there are some: before tuning, and also after it
// where tune could do nothing and has that figure twice.
func (t *twinned) alike() bool {
	if t.Long == nil || t.Twin.Verdict.Cause == "" {
		return t.sameGoodput()
	}
	nothingDone := t.Original.After == t.Original.Before && t.Twin.After == t.Twin.Before
	return math.Abs(t.Long.ratio().Gain-1) <= alike && (nothingDone || like(t.Original.After.Goodput, t.Twin.After.Goodput))
}

// twins makes and tunes those that are not in the directory yet, and gives all.
func (o *options) makeTwins(ctx context.Context, all []entry, p *progress) ([]twinned, error) {
	dir := o.record
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "fullbore-twins"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if o.fullbore == "" {
		remove, err := o.build(ctx)
		if err != nil {
			return nil, err
		}
		defer remove()
	}
	own := *o
	own.deadline = max(o.deadline, tuning90)
	b := &bench{options: &own, dir: dir, keep: dir}
	var results []twinned
	for i := range all {
		t, err := b.twinOf(ctx, &all[i])
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
		if err != nil {
			t.Problem = err.Error()
		}
		fmt.Fprintf(p.out, "%3d/%d %-50s %-18s %-18s %10s %10s %10s %10s %s\n", i+1, len(all), t.Scenario,
			t.Original.Verdict.Cause, t.Twin.Verdict.Cause, t.Original.Before.Goodput, t.Twin.Before.Goodput, t.Original.After.Goodput, t.Twin.After.Goodput, t.Problem)
		results = append(results, t)
	}
	return results, nil
}

// twinOf tunes a scenario, makes its twin, and tunes that; what is there from a former
// time is read instead.
func (b *bench) twinOf(ctx context.Context, e *entry) (t twinned, err error) {
	t = twinned{Scenario: e.Name, Expect: fold(e.Expect.Cause)}
	done := filepath.Join(b.keep, e.Name+".twinned.json")
	if read, err := readTwinned(done); err == nil {
		if (!b.again || read.Again != nil) && (read.Long != nil || !byChance(e)) {
			return read, nil
		}
		t = read
	}
	if err := os.Setenv(record.Variable, filepath.Join(b.keep, e.Name+".db")); err != nil {
		return t, err
	}
	file, err := e.document.write(b.keep, e.Name)
	if err != nil {
		return t, err
	}
	twin := filepath.Join(b.keep, e.Name+".twin.yaml")
	if t.Twin.Verdict.Cause == "" {
		if t.Original, err = b.tune(ctx, file); err != nil {
			return t, err
		}
		var made json.RawMessage
		if err := b.call(ctx, &made, "lab", "twin", record.Latest, "--json", "-o", twin); err != nil {
			return t, fmt.Errorf("make the twin: %w", err)
		}
		if t.Twin, err = b.tune(ctx, twin); err != nil {
			return t, fmt.Errorf("tune the twin: %w", err)
		}
	}
	if t.Long == nil && byChance(e) {
		if t.Long, err = b.overLong(ctx, e, twin); err != nil {
			return t, err
		}
	}
	if b.again && t.Again == nil {
		again, err := b.tune(ctx, file)
		if err != nil {
			return t, err
		}
		t.Again = &again
	}
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return t, err
	}
	return t, os.WriteFile(done, data, 0o644)
}

func readTwinned(name string) (t twinned, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(data, &t); err != nil {
		return t, fmt.Errorf("read %s: %w", name, err)
	}
	if t.Scenario == "" {
		return t, fmt.Errorf("read %s: %w", name, fs.ErrInvalid)
	}
	return t, nil
}

// tune runs it once: again if the lab itself failed, but not more than once. A path on
// which nothing arrives makes tune fail, and yet has a verdict.
func (b *bench) tune(ctx context.Context, scenario string) (t tuned, err error) {
	for range 2 {
		t = tuned{}
		err = b.call(ctx, &t, "tune", "--json", "--lab", scenario)
		if !errors.Is(err, lab.ErrInvalid) {
			break
		}
	}
	if err != nil && t.Verdict.Cause != "" && !errors.Is(err, lab.ErrInvalid) && ctx.Err() == nil {
		t.Error, err = err.Error(), nil
	}
	return t, err
}
