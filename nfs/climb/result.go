package climb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/nfs/limit"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// Schema of [Result].
const Schema = "fullbore/nfs-tune/1"

// Result of a climb; docs/json.md describes it key by key.
type Result struct {
	Schema   string     `json:"schema"`
	Target   string     `json:"target"`
	Before   Figure     `json:"before"`
	After    Figure     `json:"after"`
	Gain     float64    `json:"gain"` // factor on requests a second
	GainCI95 [2]float64 `json:"gain_ci95"`
	Verdict  Verdict    `json:"verdict"` // of what limited most, as it was found
	Steps    []Step     `json:"steps"`
	Kept     []Outcome  `json:"kept"`
	PutBack  []Outcome  `json:"put_back"`
	Advice   []string   `json:"advice"`
	Diff     string     `json:"diff,omitempty"` // for patch(1), of what mounts the file at boot

	from, to State
	inOrder  unit.Size           // as in Options
	mounted  bool                // as in Options
	worths   map[Setting]float64 // factor that is lost without it
	doubt    string              // why it is not certain that nothing helps
}

// Figure is what a state came to.
type Figure struct {
	IOPS    float64   `json:"iops"` // median of the runs
	Goodput unit.Rate `json:"goodput_bps"`
	Latency struct {
		P50 float64 `json:"p50"`
		P99 float64 `json:"p99"`
	} `json:"latency_ms"`
	Runs []float64 `json:"runs_iops"` // run by run
}

// Verdict is what limited most.
type Verdict struct {
	Cause string `json:"cause"`
	Says  string `json:"says"`
}

// Step is a setting that was raised on top of those that had helped.
type Step struct {
	Setting string    `json:"setting"`
	From    string    `json:"from"`
	To      string    `json:"to"`
	IOPS    float64   `json:"iops"` // with it
	Goodput unit.Rate `json:"goodput_bps"`
	Was     []float64 `json:"before_runs_iops"` // without it, run by run; some are of the step before
	Runs    []float64 `json:"runs_iops"`        // with it
	Helps   bool      `json:"helps"`
	Says    string    `json:"says"`
}

// Outcome is what became of a setting.
type Outcome struct {
	Setting string `json:"setting"`
	From    string `json:"from"`
	To      string `json:"to"`
	Effect  string `json:"effect"`
}

// Windows says whether larger windows are among what helped.
func (r *Result) Windows() bool { return r.to.Windows && !r.from.Windows }

// Best is the state that was proven to be the fastest.
func (r *Result) Best() State { return r.to }

// Changed says what windows and slots needed of the hosts, the change sets that keep it, and
// what could not be changed from here.
func (r *Result) Changed(h *Hosts, sets []string) {
	for _, c := range h.Changes {
		o := Outcome{c.Tunable + " on " + c.Host, c.From, c.To, "larger windows"}
		if r.Windows() {
			r.Kept = append(r.Kept, o)
		} else {
			r.PutBack = append(r.PutBack, o)
		}
	}
	for _, c := range h.Others {
		r.Advise("on %s, set %s to %s: %s", c.Host, c.Tunable, c.To, c.Why)
	}
	if r.to.Threads != r.from.Threads && len(sets) > 0 {
		r.Advise("the server has %d threads until it is started again; for good: %s", r.to.Threads, keepThreads(r.to.Threads))
	}
	if n := h.Client.needs(r.to.Depth); n > 0 && len(sets) > 0 {
		r.Kept = append(r.Kept, Outcome{slots + " on " + h.Client.Host, strconv.Itoa(h.Client.Slots), strconv.Itoa(n), "slots for so many requests"})
		r.Advise("a mount has the slots that it asked for when it was made: unmount and mount it, and it asks for %d", n)
	}
	for _, undo := range sets {
		r.Advise("to undo, %s", undo)
	}
}

// mounts says how clients that mount the file get what helped.
func (r *Result) mounts() {
	if r.mounted {
		r.readers()
		return
	}
	if n := r.to.Connections; n > r.from.Connections {
		r.Advise("mount with nconnect=%d, and watch for hangs: not all servers take many connections of one client well", n)
	}
	switch n := r.to.Depth; {
	case n <= r.from.Depth:
	case r.inOrder == 0:
		r.readers()
	default:
		r.Advise("raise the mount's read-ahead: read_ahead_kb %d on its clients (nfsrahead sets it for each mount); nothing was changed for that", limit.ReadAheadOf(n, r.inOrder)/unit.KiB)
	}
}

// readers says who is to have more requests in flight, where that helped.
func (r *Result) readers() {
	switch n := r.to.Depth; {
	case n <= r.from.Depth || r.inOrder > 0:
	case r.from.Depth == 1:
		r.Advise("have %d requests in flight: no setting makes a program ask before it has the last answer, so let it read in %d places at once, or more programs; a mount's slots must allow it (sunrpc.tcp_max_slot_table_entries, nfs.max_session_slots)", n, n)
	default:
		r.Advise("have %d requests in flight: so many readers, or reads ahead; a mount's slots must allow it (sunrpc.tcp_max_slot_table_entries, nfs.max_session_slots)", n)
	}
}

func newResult() *Result {
	return &Result{
		Schema: Schema, Gain: 1, GainCI95: [2]float64{1, 1}, Steps: []Step{}, Kept: []Outcome{}, PutBack: []Outcome{}, Advice: []string{}, worths: map[Setting]float64{},
	}
}

// Advise adds what remains to be done by hand.
func (r *Result) Advise(format string, args ...any) {
	r.Advice = append(r.Advice, fmt.Sprintf(format, args...))
}

func (r *Result) step(move []Setting, from, to *point, helps bool, says string) {
	f := figureOf(to)
	r.Steps = append(r.Steps, Step{named(move), from.values(move), to.values(move), f.IOPS, f.Goodput, from.rates(), f.Runs, helps, says})
}

func named(move []Setting) string {
	var names []string
	for _, s := range move {
		names = append(names, string(s))
	}
	return strings.Join(names, " and ")
}

func (r *Result) worth(setting Setting, factor float64) { r.worths[setting] = factor }

func (r *Result) unneeded(setting Setting, start, best *point) {
	r.PutBack = append(r.PutBack, Outcome{string(setting), start.value(setting), best.value(setting), "as fast without it"})
}

func (r *Result) unproven(from, to State, says string) {
	r.doubt = "what seemed to is not proven: " + says
	for _, setting := range settings {
		if from.value(setting) != to.value(setting) {
			r.PutBack = append(r.PutBack, Outcome{string(setting), from.value(setting), to.value(setting), "not proven: " + says})
		}
	}
}

// conclude says what is kept, and what limited most: the setting without which most is lost.
func (r *Result) conclude() {
	r.Verdict = Verdict{diagnose.Healthy, r.nothing()}
	if r.doubt != "" {
		r.Verdict = Verdict{diagnose.Unknown, "Nothing was shown to make it faster, but " + r.doubt + "."}
	}
	most := 1.0
	for _, setting := range settings {
		from, to := r.from.value(setting), r.to.value(setting)
		if from == to {
			continue
		}
		worth, effect := r.worths[setting], "helped when it was tried"
		if worth > 0 {
			effect = unit.Factor(worth) + " by it"
		}
		r.Kept = append(r.Kept, Outcome{string(setting), from, to, effect})
		if worth > most {
			most, r.Verdict = worth, r.cause(setting)
		}
	}
	r.mounts()
}

// nothing says what was raised in vain.
func (r *Result) nothing() string {
	if r.from.Threads > 0 {
		return "Neither larger windows, nor more connections, nor more requests in flight, nor more threads of the server make it faster."
	}
	return "Neither larger windows, nor more connections, nor more requests in flight make it faster."
}

func (r *Result) cause(setting Setting) Verdict {
	p50 := time.Duration(r.Before.Latency.P50 * float64(time.Millisecond))
	switch {
	case setting == Windows:
		return Verdict{limit.Window, "The windows of both hosts are smaller than what the path holds."}
	case setting == Threads:
		return Verdict{limit.Threads, fmt.Sprintf("Requests wait for the server's %s: with more of them it serves more at once.", unit.Count(r.from.Threads, "thread"))}
	case setting == Connections:
		return Verdict{limit.Connections, "One connection carries less than the path: it is one window, and one core at each end."}
	case r.inOrder > 0:
		return Verdict{limit.ReadAhead, fmt.Sprintf("A program reads in order, and the client keeps only %s of %v in flight for it: as they make %.0f a second, each takes %.3g ms (Little's law).",
			unit.Count(r.from.Depth, "request"), r.inOrder, r.Before.IOPS, 1000*float64(r.from.Depth)/r.Before.IOPS)}
	case r.from.Depth == 1:
		return Verdict{limit.OneReader, fmt.Sprintf("Who waits for each answer before asking again gets one in each round trip: %.3g ms make %.0f a second, whatever the settings.", r.Before.Latency.P50, 1/p50.Seconds())}
	}
	return Verdict{limit.Slots, fmt.Sprintf("%d requests in flight of %.3g ms each make %.0f a second (Little's law).", r.from.Depth, r.Before.Latency.P50, float64(r.from.Depth)/p50.Seconds())}
}

// remains says what holds requests back where the climb ended, by laws. Where nothing was
// kept, it is the verdict, unless it is a setting that was raised in vain.
func (r *Result) remains(found []limit.Finding) {
	if len(found) == 0 || found[0].Cause == diagnose.Unknown {
		return
	}
	f := found[0]
	switch {
	case len(r.Kept) > 0:
		r.Advise("what holds requests back now is %s: %s To do: %s", f.Cause, f.Says, f.Action)
	case r.inVain(f.Cause):
	case f.Cause == limit.Path: // all is well
		r.Advise("%s", f.Says)
	default:
		r.Verdict = Verdict{f.Cause, f.Says}
		r.Advise("%s; that is nothing that 'nfs tune' can change", f.Action)
	}
}

// inVain says whether that cause's setting was raised, and brought nothing.
func (r *Result) inVain(cause string) bool {
	setting := map[string]Setting{limit.Window: Windows, limit.Connections: Connections, limit.OneReader: Depth, limit.Slots: Depth, limit.ReadAhead: Depth, limit.Threads: Threads}[cause]
	return slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Setting == string(setting) && !s.Helps })
}

func figureOf(p *point) (f Figure) {
	var goodputs, p50, p99 []float64
	for _, r := range p.readings {
		goodputs = append(goodputs, float64(r.Goodput))
		p50, p99 = append(p50, ms(r.P50)), append(p99, ms(r.P99))
	}
	f.IOPS, f.Goodput, f.Runs = p.rate(), unit.Rate(stat.Median(goodputs)), p.rates()
	f.Latency.P50, f.Latency.P99 = stat.Median(p50), stat.Median(p99)
	return f
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// rate is the median of the runs, in requests a second.
func (p *point) rate() float64 { return stat.Median(p.rates()) }

func (p *point) String() string {
	f := figureOf(p)
	return Reading{IOPS: f.IOPS, Goodput: f.Goodput}.String()
}

func (r Reading) String() string {
	text := fmt.Sprintf("%.0f requests a second", r.IOPS)
	if r.Goodput > 0 {
		text += fmt.Sprintf(" (%v)", r.Goodput)
	}
	return text
}

func (s State) String() string {
	text := fmt.Sprintf("%s in flight over %s, windows %s", unit.Count(s.Depth, "request"), unit.Count(s.Connections, "connection"), s.value(Windows))
	if s.Threads > 0 {
		text += ", " + unit.Count(s.Threads, "thread") + " of the server"
	}
	return text
}

func (s State) values(move []Setting) string {
	var values []string
	for _, setting := range move {
		values = append(values, s.value(setting))
	}
	return strings.Join(values, ", ")
}

// value is a setting as people read it.
func (s State) value(setting Setting) string {
	switch setting {
	case Connections:
		return strconv.Itoa(s.Connections)
	case Depth:
		return strconv.Itoa(s.Depth)
	case Threads:
		return strconv.Itoa(s.Threads)
	}
	if s.Windows {
		return "as the path needs them"
	}
	return "as found"
}

// with is the state with one setting as another state has it.
func (s State) with(setting Setting, other State) State {
	switch setting {
	case Windows:
		s.Windows = other.Windows
	case Connections:
		s.Connections = other.Connections
	case Depth:
		s.Depth = other.Depth
	case Threads:
		s.Threads = other.Threads
	}
	return s
}
