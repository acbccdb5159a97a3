package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/near"
	"github.com/fullbore/fullbore/tunable"
)

// Why a plan is not carried out on a host.
var (
	ErrStale     = errors.New("the plan does not fit this host") // any more, or never did: it is to be made again
	ErrElsewhere = errors.New("the plan is for other hosts")
)

// Of gives the changes that a plan has for a host of that name, which is now as its
// facts say. A plan may be old, or come from anywhere: values are checked against
// the catalogue, and what would lower anything is an ErrStale. A plan that has
// changes for others only is an ErrElsewhere; any other error is the plan's own.
func (p *Plan) Of(name string, h *host.Facts) ([]Change, error) {
	var all []Change
	var others []string
	for _, step := range p.Steps {
		for _, c := range step.Changes {
			if c.Host == name {
				all = append(all, c)
			} else if !slices.Contains(others, c.Host) {
				others = append(others, c.Host)
			}
		}
	}
	switch {
	case len(all) == 0 && len(others) == 0:
		return nil, errors.New("the plan has no changes: there is nothing to apply")
	case len(all) == 0:
		return nil, fmt.Errorf("%w: it has nothing for %s, only for %q", ErrElsewhere, name, others)
	}
	for _, c := range all {
		if err := c.fits(h); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// fits says why a change cannot be made on a host.
func (c *Change) fits(h *host.Facts) error {
	knob, ok := tunable.Lookup(h.OS, c.Tunable)
	if !ok {
		return fmt.Errorf("plan sets %s, which the catalogue for %s does not have%s",
			c.Tunable, h.OS, near.DidYouMean(c.Tunable, slices.Sorted(maps.Keys(h.Tunables))))
	}
	if err := knob.Check(c.To); err != nil {
		return fmt.Errorf("plan sets %s: %w", c.Tunable, err)
	}
	present, ok := h.Tunables[c.Tunable]
	if !ok {
		return fmt.Errorf("%w: it does not have %s", ErrStale, c.Tunable)
	}
	if raised, _ := knob.Raise(present, c.To); raised != tunable.Normalise(c.To) {
		return fmt.Errorf("%w: %s = %s would lower the present %s", ErrStale, c.Tunable, c.To, present)
	}
	return nil
}
