package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/fullbore/fullbore/unit"
)

// reportTwins makes them, and reports.
func (o *options) reportTwins(ctx context.Context, all []entry, stdout io.Writer, p *progress) error {
	results, err := o.makeTwins(ctx, all, p)
	f := plainText
	if o.markdown {
		f = markdown
	}
	if o.json {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return errors.Join(err, encoder.Encode(results))
	}
	return errors.Join(err, writeTwins(stdout, results, f))
}

// writeTwins reports how alike twins and originals are.
func writeTwins(out io.Writer, all []twinned, f form) error {
	w := &writer{out: out, form: f}
	verdicts, goodputs, short, longer, noise, again := 0, 0, 0, 0, 0, 0
	var rows [][]string
	for i := range all {
		t := &all[i]
		verdict, goodput := t.sameVerdict(), t.alike()
		if t.sameGoodput() {
			short++
		}
		if verdict {
			verdicts++
		}
		if goodput {
			goodputs++
		}
		said := "alike"
		switch {
		case t.Problem != "":
			said = t.Problem
		case !verdict && !goodput:
			said = "other verdict and goodput"
		case !verdict:
			said = "other verdict"
		case !goodput:
			said = "other goodput"
		}
		row := []string{
			t.Scenario, t.Original.Verdict.Cause, t.Twin.Verdict.Cause,
			pair(t.Original), pair(t.Twin), ratios(&t.Original, &t.Twin), "", said,
		}
		if t.Long != nil {
			longer++
			row[6] = t.Long.String()
		}
		if t.Again != nil {
			again++
			if like(t.Original.Before.Goodput, t.Again.Before.Goodput) && like(t.Original.After.Goodput, t.Again.After.Goodput) {
				noise++
			}
			row = append(row, ratios(&t.Original, t.Again))
		}
		rows = append(rows, row)
	}
	head := []string{"scenario", "verdict", "of the twin", "before → after", "of the twin", "ratios", "over " + (longSeeds * longTime).String(), ""}
	if again > 0 {
		head = append(head, "the original again")
		for i := range rows {
			for len(rows[i]) < len(head) {
				rows[i] = append(rows[i], "")
			}
		}
	}
	w.table(head, rows)
	w.printf("\nThe same verdict in %d of %d, goodput before and after within %.0f %% in %d of %d.\n", verdicts, len(all), 100*alike, goodputs, len(all))
	if longer > 0 {
		w.printf("Of %d, where chance decides, goodput before tuning is that over %v; by the transfers of the tunings alone it is %d of %d.\n",
			longer, longSeeds*longTime, short, len(all))
	}
	if again > 0 {
		w.printf("Of %d originals tuned a second time, goodput before and after was within %.0f %% of the first time in %d.\n", again, 100*alike, noise)
	}
	return w.err
}

func pair(t tuned) string {
	return fmt.Sprintf("%s → %s", t.Before.Goodput, t.After.Goodput)
}

// ratios of goodput before and after, the other's by the original's.
func ratios(original, other *tuned) string {
	return ratioOf(original.Before.Goodput, other.Before.Goodput) + ", " + ratioOf(original.After.Goodput, other.After.Goodput)
}

func ratioOf(original, other unit.Rate) string {
	if original < nothing {
		if other < nothing {
			return "both nothing"
		}
		return "from nothing"
	}
	return fmt.Sprintf("%.2f", float64(other/original))
}
