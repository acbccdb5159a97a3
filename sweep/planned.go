package sweep

import (
	"fmt"
	"os"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// Planned says what an experiment would measure in a world, and what that costs. Of a
// search the points are those that are known before it starts.
func Planned(spec *Spec, world World) (Cost, []Point, error) {
	r, err := begin(spec, world, &Memory{}, unwatched{})
	if err != nil {
		return Cost{}, nil, err
	}
	return r.cost, r.order.points(), nil
}

// unwatched is a Watch that ignores everything.
type unwatched struct{}

func (unwatched) Phase(string)                      {}
func (unwatched) Progress(bulk.Progress)            {}
func (unwatched) Result(string)                     {}
func (unwatched) Starts(Cost, int)                  {}
func (unwatched) Kept(Measured, *bulk.Result, Left) {}

// Best is the largest goodput of a point; 0 if nothing was measured.
func (d *Document) Best() unit.Rate {
	var best unit.Rate
	for i := range d.Points {
		best = max(best, d.Points[i].Goodput)
	}
	return best
}

// Remove closes the journal of an experiment that has come to its end, and removes it.
func (j *Journal) Remove() error {
	if err := j.file.Close(); err != nil {
		return fmt.Errorf("close journal: %w", err)
	}
	if err := os.Remove(j.file.Name()); err != nil {
		return fmt.Errorf("remove journal: %w", err)
	}
	return nil
}
