// Package sick finds the hosts and the links of a mesh that carry less than the others: in a figure
// of who got how much to whom, a host is a stripe and a link is a dot.
package sick

import (
	"cmp"
	"math"
	"slices"

	"github.com/fullbore/fullbore/fleet/pattern"
	"github.com/fullbore/fullbore/stat"
)

// Matrix is what was measured from each host (its row) to each other (its column): goodputs in bits a
// second, or anything of which more is better. 0: not measured.
type Matrix [][]float64

// NewMatrix is an empty one.
func NewMatrix(hosts int) Matrix {
	m := make(Matrix, hosts)
	for i := range m {
		m[i] = make([]float64, hosts)
	}
	return m
}

// Ways are the directions in which a host is sick.
type Ways string

// The ways of a host.
const (
	Sends    Ways = "sends"
	Receives Ways = "receives"
	Both     Ways = "sends and receives"
)

// Host is one that carries less than the others, whoever is at the other end.
type Host struct {
	Host    int     `json:"host"`
	Ways    Ways    `json:"ways"`
	Median  float64 `json:"median_bps"` // of what it has with the others, in its worse direction
	Usual   float64 `json:"usual_bps"`  // of all hosts
	Outlier float64 `json:"outlier"`    // by how many MAD it is below
}

// Has says whether a flow is one of those in which the host is sick.
func (h *Host) Has(from, to int) bool {
	return from == h.Host && h.Ways != Receives || to == h.Host && h.Ways != Sends
}

// Link is a way between two hosts that carries less than both have with others.
type Link struct {
	pattern.Flow
	Goodput float64 `json:"goodput_bps"`
	Usual   float64 `json:"usual_bps"` // what these two have with the others
	Outlier float64 `json:"outlier"`
}

// Found is what seems to be sick.
type Found struct {
	Hosts []Host `json:"hosts"`
	Links []Link `json:"links"`
}

// What is an outlier: six median absolute deviations below the median (as Intel Cluster Checker has
// it), and seven percent (as ClusterKit does: less than 93 % of the best is bad), so that neither
// chance nor what nobody would mind is accused. Measurements of goodput are never better than one
// percent, which so is the least deviation there is.
const (
	outlier    = 6.0
	matters    = 1 - Matters
	leastNoise = 0.01
)

// Matters is the share of a goodput that somebody would miss: see above.
const Matters = 0.07

// Find looks at a mesh of four hosts at least: of fewer nobody can say which one is not like the others.
func Find(m Matrix) Found {
	f := Found{Hosts: []Host{}, Links: []Link{}}
	const fewest = 4
	if len(m) < fewest {
		return f
	}
	out, in := m.medians()
	sends, receives := below(out), below(in)
	accused := map[int]bool{}
	for i := range m {
		h := Host{Host: i, Ways: Sends, Median: out[i], Usual: median(out), Outlier: sends[i]}
		if receives[i] > h.Outlier {
			h = Host{Host: i, Ways: Receives, Median: in[i], Usual: median(in), Outlier: receives[i]}
		}
		if sends[i] > 0 && receives[i] > 0 {
			h.Ways = Both
		}
		if h.Outlier > 0 {
			f.Hosts = append(f.Hosts, h)
			accused[i] = true
		}
	}
	f.Links = append(f.Links, m.links(out, in, accused)...)
	slices.SortStableFunc(f.Hosts, func(a, b Host) int { return cmp.Compare(b.Outlier, a.Outlier) })
	slices.SortStableFunc(f.Links, func(a, b Link) int { return cmp.Compare(b.Outlier, a.Outlier) })
	return f
}

// links are those that carry less than what their hosts have with others.
func (m Matrix) links(out, in []float64, accused map[int]bool) (found []Link) {
	var flows []pattern.Flow
	var shares []float64
	for i := range m {
		for j, got := range m[i] {
			if got > 0 && out[i] > 0 && in[j] > 0 {
				flows, shares = append(flows, pattern.Flow{From: i, To: j}), append(shares, got/min(out[i], in[j]))
			}
		}
	}
	for k, by := range below(shares) {
		flow := flows[k]
		if by > 0 && !accused[flow.From] && !accused[flow.To] {
			found = append(found, Link{flow, m[flow.From][flow.To], min(out[flow.From], in[flow.To]), by})
		}
	}
	return found
}

// medians are those of the rows and of the columns; 0: nothing was measured.
func (m Matrix) medians() (out, in []float64) {
	out, in = make([]float64, len(m)), make([]float64, len(m))
	for i := range m {
		var row, column []float64
		for j := range m {
			row, column = append(row, m[i][j]), append(column, m[j][i])
		}
		out[i], in[i] = median(row), median(column)
	}
	return out, in
}

// Usual is the median of all that was measured.
func (m Matrix) Usual() float64 { return median(slices.Concat(m...)) }

// median is that of what was measured.
func median(values []float64) float64 {
	measured := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return !(v > 0) })
	if len(measured) == 0 {
		return 0
	}
	return stat.Median(measured)
}

// below says of each value by how many deviations it is below the median, where that makes it an
// outlier, and 0 of the others. Ratios matter, so deviations are those of logarithms.
func below(values []float64) []float64 {
	usual := median(values)
	by := make([]float64, len(values))
	if usual == 0 {
		return by
	}
	var apart []float64
	for _, v := range values {
		if v > 0 {
			apart = append(apart, math.Abs(math.Log(v/usual)))
		}
	}
	mad := max(stat.Median(apart), leastNoise)
	for i, v := range values {
		if deviation := -math.Log(v/usual) / mad; v > 0 && v < matters*usual && deviation > outlier {
			by[i] = deviation
		}
	}
	return by
}

// Suspects are the flows to measure again before anything is called sick: those of each host, and
// each link.
func (f *Found) Suspects(hosts int) (flows []pattern.Flow) {
	seen := map[pattern.Flow]bool{}
	add := func(flow pattern.Flow) {
		if flow.From != flow.To && !seen[flow] {
			seen[flow] = true
			flows = append(flows, flow)
		}
	}
	for _, h := range f.Hosts {
		for other := range hosts {
			if h.Ways != Receives {
				add(pattern.Flow{From: h.Host, To: other})
			}
			if h.Ways != Sends {
				add(pattern.Flow{From: other, To: h.Host})
			}
		}
	}
	for _, l := range f.Links {
		add(l.Flow)
	}
	return flows
}
