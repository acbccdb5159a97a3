package experiment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/examine"
)

// Variant is one of the settings that an experiment runs in turns.
type Variant struct {
	Args     string // what makes it differ, for people
	Spec     bulk.Spec
	Transfer func(ctx context.Context, watch func(bulk.Progress)) (*bulk.Result, error)

	name string // one word: "A"
	runs []Run  // that count
}

// turns runs variants one after the other, round by round. In every second round
// they run in the order of the round before turned round, which is drawn at random
// (for two: ABBA or BAAB): what drifts with time, or is left behind by another
// variant, falls on all alike.
type turns struct {
	variants []*Variant
	seed     uint64
	watch    examine.Watcher
	runs     []Run    // of all variants, as they ran
	order    []string // names of the variants as they ran, without the warm-ups
}

// run warms each variant up by a run that does not count, and goes on until enough
// says so, which is asked before each round. What ran until an error stays.
func (t *turns) run(ctx context.Context, enough func(rounds int) bool) error {
	for _, v := range t.variants {
		if err := t.one(ctx, v, "warm-up", true); err != nil {
			return err
		}
	}
	random := rand.New(rand.NewPCG(t.seed, 0))
	var order []int
	for rounds := 0; !enough(rounds); rounds++ {
		if rounds%2 == 0 {
			order = random.Perm(len(t.variants))
		} else {
			slices.Reverse(order)
		}
		for _, i := range order {
			if err := t.one(ctx, t.variants[i], fmt.Sprintf("round %d", rounds+1), false); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *turns) one(ctx context.Context, v *Variant, name string, warmUp bool) error {
	t.watch.Phase(fmt.Sprintf("%s, %s: %s", name, v.name, v.Args))
	began := time.Now()
	result, err := v.Transfer(ctx, t.watch.Progress)
	if err != nil {
		return fmt.Errorf("variant %s: %w", v.name, err)
	}
	run := NewRun(began, result)
	run.Variant, run.WarmUp = v.name, warmUp
	t.watch.Result(run.Goodput.String())
	t.runs = append(t.runs, run)
	if !warmUp {
		v.runs = append(v.runs, run)
		t.order = append(t.order, v.name)
	}
	return nil
}
