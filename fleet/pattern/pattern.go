// Package pattern is who sends to whom, and when: rounds, each of which begins once all of its hosts
// are free.
package pattern

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/near"
)

// Flow is one host that sends to another: their places in the list of hosts.
type Flow struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Round is what runs at the same time.
type Round []Flow

// Pattern makes rounds for so many hosts. Of those with a centre, that is the one that all others
// send to or get from.
type Pattern struct {
	Name   string
	Says   string // in words
	Centre bool
	Mesh   bool // each host meets each other, in rounds that are alike for all
	rounds func(hosts, centre int) []Round
}

// All are the patterns, by name.
var All = []Pattern{
	{"pairs", "disjoint pairs, each host with each other, one way and then the other", false, true, func(n, _ int) []Round { return pairs(n) }},
	{"shift", "each host sends to the next one, then to the one behind that, and so on; all at once", false, true, func(n, _ int) []Round { return shift(n) }},
	{"incast", "all others send to one at once", true, false, func(n, centre int) []Round { return []Round{toOne(n, centre, false)} }},
	{"fan-out", "one sends to all others at once", true, false, func(n, centre int) []Round { return []Round{toOne(n, centre, true)} }},
	{"all", "each host sends to each other, all at once", false, false, func(n, _ int) []Round { return []Round{slices.Concat(shift(n)...)} }},
}

// Named is the pattern of that name.
func Named(name string) (Pattern, error) {
	var names []string
	for _, p := range All {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Pattern{}, fmt.Errorf("no pattern %q%s: there are %s", name, near.DidYouMean(name, append(names, Listed)), strings.Join(append(names, Listed), ", "))
}

// Rounds are those for so many hosts, two at least; centre is the place of the one host that a
// pattern may be about.
func (p Pattern) Rounds(hosts, centre int) ([]Round, error) {
	switch {
	case hosts < 2:
		return nil, fmt.Errorf("pattern %s needs two hosts at least, not %d", p.Name, hosts)
	case p.Centre && (centre < 0 || centre >= hosts):
		return nil, fmt.Errorf("pattern %s is about host %d of %d", p.Name, centre, hosts)
	}
	return p.rounds(hosts, centre), nil
}

// pairs has each host meet each other once, in as few rounds as there can be: by the circle method,
// in which one host stands still and the others go round (E. Lucas, Récréations mathématiques 2,
// 1883). With an odd number one has nobody to meet in each round. Each round then comes the other way.
func pairs(n int) (rounds []Round) {
	even := n + n%2
	for r := range even - 1 {
		var round, back Round
		for i := range even / 2 {
			a, b := seat(r, i, even), seat(r, even-1-i, even)
			if a < n && b < n {
				round, back = append(round, Flow{a, b}), append(back, Flow{b, a})
			}
		}
		rounds = append(rounds, round, back)
	}
	return rounds
}

// seat is who sits at a place of the table in a round.
func seat(round, place, hosts int) int {
	if place == 0 {
		return hosts - 1
	}
	return (round + place) % (hosts - 1)
}

// shift has each host send to the one so many behind it.
func shift(n int) (rounds []Round) {
	for by := 1; by < n; by++ {
		var round Round
		for i := range n {
			round = append(round, Flow{i, (i + by) % n})
		}
		rounds = append(rounds, round)
	}
	return rounds
}

func toOne(n, centre int, back bool) (round Round) {
	for i := range n {
		switch {
		case i == centre:
		case back:
			round = append(round, Flow{centre, i})
		default:
			round = append(round, Flow{i, centre})
		}
	}
	return round
}

// Apart are the flows in rounds of at most so many, no host in two of them.
func Apart(flows []Flow, most int) (rounds []Round) {
	for left := slices.Clone(flows); len(left) > 0; {
		var round Round
		var later []Flow
		used := map[int]bool{}
		for _, f := range left {
			if len(round) == max(1, most) || used[f.From] || used[f.To] {
				later = append(later, f)
				continue
			}
			round = append(round, f)
			used[f.From], used[f.To] = true, true
		}
		rounds, left = append(rounds, round), later
	}
	return rounds
}
