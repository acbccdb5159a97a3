package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/law"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// LawName is a law that is held beside the data.
type LawName string

// The laws (package law).
const (
	WindowLaw   LawName = "window"      // min(C, W/RTT)
	MathisLaw   LawName = "mathis"      // Reno's response to loss
	CUBICLaw    LawName = "cubic"       // CUBIC's
	Scalability LawName = "scalability" // the Universal Scalability Law
)

// Law is how the data agree with the law that should hold.
type Law struct {
	Name     LawName   `json:"name"`
	Formula  string    `json:"formula"`
	Source   string    `json:"source"`
	Residual *float64  `json:"residual"`               // root of the mean square of ln(measured / law), as a share; null: nothing could be compared
	Points   int       `json:"points"`                 // that were compared
	Capacity unit.Rate `json:"capacity_bps,omitempty"` // C
	Curves   []Curve   `json:"curves,omitempty"`       // of scalability: one for each combination of the other factors
	Says     string    `json:"says"`
}

// Curve is a scalability law that was fitted.
type Curve struct {
	Where map[string]Value `json:"where"`
	law.Scalability
	Peak     *float64 `json:"peak,omitempty"` // absent: it never falls
	Residual float64  `json:"residual"`
}

var formulas = map[LawName][2]string{
	WindowLaw:   {"min(C, connections x W / RTT)", "RFC 7323, section 1.1; W: the window that the receiver offered, or less where the send buffer holds less"},
	MathisLaw:   {"min(C, connections x 1.22 MSS / (RTT sqrt(p)))", "Mathis, Semke, Mahdavi, Ott, Computer Communication Review 27, 1997"},
	CUBICLaw:    {"min(C, connections x MSS/RTT max(1.054 (RTT/p)^(3/4), 1.22/sqrt(p)))", "RFC 9438, section 5.1"},
	Scalability: {"n One / (1 + sigma (n-1) + kappa n (n-1))", "Gunther, Guerrilla Capacity Planning, 2007, chapter 4"},
}

// holdBeside compares the points with the experiment's law, and gives each what the
// law has for it. C is what the point's path carries; the most that was measured on it
// where that is more, or nothing is known.
func (d *Document) holdBeside(name LawName, factors Factors, about About) {
	if name == "" {
		return
	}
	carries := map[float64]unit.Rate{} // by the path's rate; 0: it was left as it is
	for i := range d.Points {
		p := &d.Points[i]
		rate := p.pathRate()
		if rate == 0 {
			carries[0] = max(carries[0], about.Capacity)
		} else {
			carries[rate] = max(carries[rate], unit.Rate(rate*about.Share))
		}
		carries[rate] = max(carries[rate], p.Goodput)
	}
	l := &Law{Name: name, Formula: formulas[name][0], Source: formulas[name][1]}
	if len(carries) == 1 {
		l.Capacity = slices.Collect(maps.Values(carries))[0]
	}
	d.Law = l
	if name == Scalability {
		l.Capacity = 0
		d.fitCurves(factors)
	} else {
		for i := range d.Points {
			p := &d.Points[i]
			p.Law = p.predicted(name, carries[p.pathRate()])
		}
	}
	var measured, predicted []float64
	for _, p := range d.Points {
		if p.Law != nil && p.Runs > 0 {
			measured, predicted = append(measured, float64(p.Goodput)), append(predicted, float64(*p.Law))
		}
	}
	l.Points = len(measured)
	if r := law.Residual(measured, predicted); !math.IsNaN(r) {
		l.Residual = &r
		if l.Says == "" {
			l.Says = fmt.Sprintf("the law %s is off by %s over %s", l.Formula, unit.Percent(r), unit.Count(l.Points, "point"))
		}
	} else if l.Says == "" {
		l.Says = "no point has all that the law needs to know"
	}
}

// pathRate is that of the point's path in bit/s, if the experiment says it; else 0.
func (p *PointResult) pathRate() float64 {
	if v, ok := p.Factors["path.rate"]; ok && v.IsNumber() {
		return v.Number
	}
	return 0
}

// predicted is what a law has for a point; nil if what it needs is not known.
func (p *PointResult) predicted(name LawName, capacity unit.Rate) *unit.Rate {
	if p.Runs == 0 || p.rtt <= 0 || p.Factors["direction"].Word == string(bulk.Both) { // each way has a share that is not known
		return nil
	}
	connections := unit.Rate(max(1, p.streams))
	var rate unit.Rate
	switch name {
	case WindowLaw:
		if p.window <= 0 {
			return nil
		}
		rate = law.Window(capacity/connections, p.window, p.rtt) * connections
	case MathisLaw, CUBICLaw:
		if p.loss < 0 || p.mss <= 0 {
			return nil
		}
		window := law.Reno(p.loss)
		if name == CUBICLaw {
			window = law.CUBIC(p.loss, p.rtt)
		}
		rate = law.Packets(capacity/connections, window, p.mss, p.rtt) * connections
	}
	return &rate
}

// fitCurves fits a scalability law to each combination of the other factors.
func (d *Document) fitCurves(factors Factors) {
	over := "cpus"
	if f := factors.of(over); f == nil || len(f.Values) < 2 {
		over = "connections"
	}
	if factors.of(over) == nil {
		d.Law.Says = "the scalability law is over connections or cpus, and the experiment varies neither"
		return
	}
	var failed error
	for _, group := range d.groups(over) {
		var n, rates []float64
		for _, p := range group {
			if v := p.Factors[over]; v.IsNumber() && p.Runs > 0 {
				n, rates = append(n, v.Number), append(rates, float64(p.Goodput))
			}
		}
		fit, err := law.Fit(n, rates)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		c := Curve{Where: group[0].point.elsewhere(over), Scalability: fit}
		if peak := fit.Peak(); !math.IsInf(peak, 1) {
			c.Peak = &peak
		}
		var has []float64
		for i := range n {
			has = append(has, fit.At(n[i]))
		}
		c.Residual = law.Residual(rates, has)
		d.Law.Curves = append(d.Law.Curves, c)
		for _, p := range group {
			if v := p.Factors[over]; v.IsNumber() {
				rate := unit.Rate(fit.At(v.Number))
				p.Law = &rate
			}
		}
	}
	if len(d.Law.Curves) == 0 && failed != nil {
		says, _, _ := strings.Cut(failed.Error(), "\n")
		d.Law.Says = says
	}
}

// needed takes from a point's runs what laws need to know of it.
func (p *PointResult) needed(all []Measured, byPath bool) {
	var rtts, losses, sizes []float64
	var widest float64
	p.loss = -1
	for i := range all {
		m := &all[i]
		if m.Run == nil || len(m.Run.Figures) == 0 {
			continue
		}
		f := &m.Run.Figures[0]
		switch {
		case f.LeastRTT > 0:
			rtts = append(rtts, float64(f.LeastRTT))
		case f.LoadedRTT != nil:
			rtts = append(rtts, float64(f.LoadedRTT.Min))
		}
		if f.Repeated != nil && f.Repeated.Share != nil && !byPath {
			losses = append(losses, *f.Repeated.Share)
		}
		if f.Arrived != nil {
			widest = max(widest, float64(f.Arrived.Window))
		}
		if f.Connection.MSS > 0 {
			sizes = append(sizes, float64(f.Connection.MSS))
		}
		p.streams = f.Streams
	}
	if len(rtts) > 0 {
		p.rtt = time.Duration(stat.Median(rtts))
	}
	if len(losses) > 0 {
		p.loss = stat.Median(losses)
	}
	if v, ok := p.Taken["path.loss"]; ok && byPath && v.IsNumber() {
		p.loss = v.Number
	}
	if len(sizes) > 0 {
		p.mss = stat.Median(sizes)
	}
	p.window = unit.Size(offered(p.Factors, p.Taken, widest))
}

// offered is the window that set buffers offer, in bytes; 0 if none was set. The
// receiver's is the widest that its kernel says it offered: Linux gives that share of a
// receive buffer to the window which data has of the memory of the packets that came
// (tcp_measure_rcv_mss, net/ipv4/tcp_input.c, since 6.6). Where it does not say, it is
// half of what the kernel counts as buffer, which is what was set, as it doubles that. A
// sender keeps five sixths of its buffer in flight (diagnose.SenderShare).
func offered(asked, got map[string]Value, widest float64) float64 {
	w := 0.0
	for _, name := range []string{"buffers", "send_buffer", "receive_buffer", "window"} {
		a, ok := asked[name]
		v := got[name]
		if !ok || a.Present() || !v.IsNumber() {
			continue
		}
		if name != "receive_buffer" {
			w = least(w, float64(diagnose.SenderWindow(unit.Size(2*v.Number))))
		}
		if name != "send_buffer" {
			w = least(w, cmp.Or(widest, v.Number))
		}
	}
	return w
}
