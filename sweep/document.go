package sweep

import (
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// Document is the JSON contract of sweep (docs/json.md).
type Document struct {
	Schema     string        `json:"schema"` // "fullbore/sweep/1"
	Experiment string        `json:"experiment"`
	About      string        `json:"about,omitempty"`
	Scenario   string        `json:"scenario,omitempty"` // of the lab
	Plan       Plan          `json:"plan"`
	Factors    Factors       `json:"factors"`
	Blocks     int           `json:"blocks"`
	Seed       uint64        `json:"seed"`
	Smallest   float64       `json:"smallest_difference"`
	Cost       Cost          `json:"cost"`    // as said before it started
	Spent      Spent         `json:"spent"`   // all runs of it together
	CPUsOf     string        `json:"cpus_of"` // whose work cpus_used is: "host", or "process" where both ends share a machine
	Points     []PointResult `json:"points"`
	Steps      []Step        `json:"steps,omitempty"` // of a search
	Enough     *Enough       `json:"enough"`          // null: no factor whose value one would choose
	Law        *Law          `json:"law"`             // null: the experiment names none
	Says       string        `json:"says"`
	Error      string        `json:"error,omitempty"` // why it ended early; what was measured until then stands
}

// Spent is what the transfers took.
type Spent struct {
	Transfers int     `json:"transfers"`
	Resumed   int     `json:"resumed"` // of those, how many an earlier start had measured
	Failed    int     `json:"failed"`
	Seconds   float64 `json:"seconds"` // from setting a point to having its result
	Bytes     int64   `json:"bytes"`
}

// PointResult is what was measured of one point.
type PointResult struct {
	Factors  map[string]Value  `json:"factors"` // as asked for
	Taken    map[string]Value  `json:"taken"`   // as it was in effect
	Present  bool              `json:"present"` // the setting that was found
	Runs     int               `json:"runs"`
	Failed   int               `json:"failed,omitempty"`
	Goodput  unit.Rate         `json:"goodput_bps"`    // geometric mean
	CI95     *[2]float64       `json:"ci95"`           // of that; null: of fewer than two runs
	Each     []float64         `json:"each_bps"`       // run by run
	Blocks   []int             `json:"blocks"`         // that they were in
	Gain     *stat.Effect      `json:"gain,omitempty"` // against the present setting, block by block; absent: of another path, or too few runs
	CPUs     CPUs              `json:"cpus_used"`
	Process  CPUs              `json:"cpus_process"`
	Host     CPUs              `json:"cpus_host"`
	RTT      float64           `json:"rtt_s,omitempty"` // least that the sender's kernel saw, median of the runs
	Loaded   *float64          `json:"loaded_rtt_s,omitempty"`
	Repeated *float64          `json:"repeated_share,omitempty"`
	PerACK   *float64          `json:"data_per_ack,omitempty"`
	Series   [][]bulk.ACKPoint `json:"acks,omitempty"` // of each run, second by second
	Law      *unit.Rate        `json:"law_bps,omitempty"`
	Notes    []string          `json:"notes,omitempty"` // settings that did not take effect; failures

	point   Point
	rtt     time.Duration
	loss    float64 // below 0: not known
	mss     float64
	streams int
	window  unit.Size
}

// CPUs is how many CPUs each end used, mean of the runs; null: it does not tell.
type CPUs struct {
	Sender   *float64 `json:"sender"`
	Receiver *float64 `json:"receiver"`
}

// Step is a decision of a search.
type Step struct {
	From   Value       `json:"from"`
	To     Value       `json:"to"`
	Gain   stat.Effect `json:"gain"` // of the second against the first
	Pairs  int         `json:"pairs"`
	Gains  bool        `json:"gains"`            // by what matters
	Sure   bool        `json:"sure"`             // the interval shows it
	Failed bool        `json:"failed,omitempty"` // one of the two could not be measured
}

// results sums up what was measured of each point.
func results(points []Point, found Point, measured []Measured, shared bool) []PointResult {
	byKey := map[string][]Measured{}
	for _, m := range measured {
		byKey[m.Key] = append(byKey[m.Key], m)
	}
	usual := found.Key()
	base := byBlock(byKey[usual])
	var all []PointResult
	for _, p := range points {
		r := PointResult{Factors: p.Values(), Taken: map[string]Value{}, Present: p.Key() == usual, point: p, Each: []float64{}, Blocks: []int{}}
		r.sum(byKey[p.Key()], shared)
		if !r.Present && r.Runs > 1 && p.onPathOf(found) {
			if a, b := paired(base, byBlock(byKey[p.Key()])); len(a) > 1 {
				e := stat.PairedAt(0.95, a, b)
				r.Gain = &e
			}
		}
		all = append(all, r)
	}
	return all
}

// byBlock are the goodputs of runs by their block.
func byBlock(all []Measured) map[int]float64 {
	runs := map[int]float64{}
	for _, m := range all {
		if m.Run != nil && m.Run.Goodput > 0 {
			runs[m.Block] = float64(m.Run.Goodput)
		}
	}
	return runs
}

func (r *PointResult) sum(all []Measured, shared bool) {
	var loaded, repeated, perACK []float64
	host, process := [2][]float64{}, [2][]float64{}
	numbers := map[string][]float64{}
	for _, m := range all {
		for _, note := range m.Notes {
			if !slices.Contains(r.Notes, note) && len(r.Notes) < 10 {
				r.Notes = append(r.Notes, note)
			}
		}
		if m.Run == nil || m.Run.Goodput <= 0 {
			r.Failed++
			if note := "failed: " + m.Error; !slices.Contains(r.Notes, note) && len(r.Notes) < 10 {
				r.Notes = append(r.Notes, note)
			}
			continue
		}
		r.Runs++
		r.Each, r.Blocks = append(r.Each, float64(m.Run.Goodput)), append(r.Blocks, m.Block)
		for name, v := range m.Taken {
			if v.IsNumber() {
				numbers[name] = append(numbers[name], v.Number)
			} else {
				r.Taken[name] = v
			}
		}
		if len(m.Run.Figures) == 0 {
			continue
		}
		f := &m.Run.Figures[0]
		for i, cost := range []*bulk.Cost{f.SenderCPU, f.ReceiverCPU} {
			if cost != nil {
				process[i] = append(process[i], cost.Process)
				if cost.Host != nil {
					host[i] = append(host[i], *cost.Host)
				}
			}
		}
		if f.LoadedRTT != nil {
			loaded = append(loaded, f.LoadedRTT.Median.Seconds())
		}
		if f.Repeated != nil && f.Repeated.Share != nil {
			repeated = append(repeated, *f.Repeated.Share)
		}
		if f.SenderACKs != nil {
			perACK = append(perACK, f.SenderACKs.Ratio)
		}
		if m.ACKs != nil {
			r.Series = append(r.Series, m.ACKs)
		}
	}
	for name, x := range numbers {
		r.Taken[name] = number(stat.Median(x))
	}
	if r.Runs > 0 {
		interval := stat.Typical(r.Each)
		r.Goodput = unit.Rate(interval.Typical)
		if r.Runs > 1 {
			r.CI95 = &[2]float64{interval.Low, interval.High}
		}
	}
	r.Host = CPUs{mean(host[0]), mean(host[1])}
	r.Process = CPUs{mean(process[0]), mean(process[1])}
	r.CPUs = r.Host
	if shared {
		r.CPUs = r.Process
	}
	r.Loaded, r.Repeated, r.PerACK = middle(loaded), middle(repeated), middle(perACK)
	_, byPath := r.Factors["path.loss"]
	r.needed(all, byPath)
	r.RTT = r.rtt.Seconds()
}

func mean(x []float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	m := stat.Mean(x)
	return &m
}

func middle(x []float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	m := stat.Median(x)
	return &m
}

// groups are the points that differ in one factor only, in the order of the points.
func (d *Document) groups(over string) [][]*PointResult {
	var groups [][]*PointResult
	at := map[string]int{}
	for i := range d.Points {
		key := d.Points[i].point.without(over)
		g, ok := at[key]
		if !ok {
			g = len(groups)
			at[key], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], &d.Points[i])
	}
	return groups
}

// elsewhere are the values of all factors but one.
func (p Point) elsewhere(over string) map[string]Value {
	all := p.Values()
	delete(all, over)
	return all
}

// inWordsOf writes a combination: "connections 10, direction forward".
func (f Factors) inWordsOf(where map[string]Value) string {
	var parts []string
	for i := range f {
		if v, ok := where[f[i].name]; ok {
			parts = append(parts, f[i].name+" "+v.Text(f[i].kind))
		}
	}
	return strings.Join(parts, ", ")
}

// chosen is the factor of which one value is to be found enough: the first with more
// than one number, and that one would choose; a path is as it is. Nil: there is none.
func (f Factors) chosen() *Factor {
	for i := range f {
		numbers := 0
		for _, v := range f[i].Values {
			if v.IsNumber() {
				numbers++
			}
		}
		if !f[i].path && f[i].name != "mss" && numbers > 1 {
			return &f[i]
		}
	}
	return nil
}

// findEnough says which value of the chosen factor is enough, in each combination of
// the others.
func (d *Document) findEnough(factors Factors, measured []Measured, margin float64) {
	f := factors.chosen()
	if f == nil {
		return
	}
	byKey := map[string][]Measured{}
	for _, m := range measured {
		byKey[m.Key] = append(byKey[m.Key], m)
	}
	text := func(v float64) string { return number(v).Text(f.kind) }
	var each []Enough
	for _, group := range d.groups(f.name) {
		var all []series
		for _, p := range group {
			if v := p.Factors[f.name]; v.IsNumber() {
				all = append(all, series{v.Number, byBlock(byKey[p.point.Key()])})
			}
		}
		if e, ok := enoughOf(all, margin, text); ok && len(all) > 1 {
			e.Factor, e.Where, e.kind = f.name, group[0].point.elsewhere(f.name), f.kind
			each = append(each, e)
		}
	}
	d.Enough = together(each, func(e Enough) string { return factors.inWordsOf(e.Where) })
}

// cloneRun keeps of a transfer what a sweep needs.
func newMeasured(t turn, began time.Time, r *bulk.Result, also []string) Measured {
	run := experiment.NewRun(began, r)
	m := Measured{Block: t.block, Key: t.point.Key(), Began: began, Run: &run}
	if slices.Contains(also, "acks") {
		if f := r.Figures(r.Spec.Directions()[0]); f.SenderACKs != nil {
			m.ACKs = f.SenderACKs.Series
		}
	}
	return m
}
