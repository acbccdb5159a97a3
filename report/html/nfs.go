package html

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/climb"
	"github.com/fullbore/fullbore/nfs/limit"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/unit"
)

// nfsDiagnosis is nfs diagnose's document.
type nfsDiagnosis struct {
	Findings []limit.Finding `json:"findings"`
	Verdict  limit.Finding   `json:"verdict"`
	Evidence *limit.Evidence `json:"evidence"`
}

// limitRow is what holds a file's requests back, as a table has it.
type limitRow struct{ Cause, Share, Says, Without, Action string }

// millis writes ms.
func millis(ms float64) string {
	if !(ms >= 0 && ms < 1e9) {
		return "not known"
	}
	return unit.Milliseconds(time.Duration(ms * float64(time.Millisecond)))
}

// requests is a test of a file.
func (s *summary) requests(d *experiment.RequestsDocument, clean func(string) string) {
	if d.Error != "" {
		s.warn(clean(sentence(d.Error)))
	}
	s.Says = clean(sentence(asked(d.Document)))
	if r := d.Repeat; r != nil && r.IOPS.Interval != nil {
		s.Note = fmt.Sprintf("Median of %s; the 95 %% interval is %s to %s. What follows is of the last one.", unit.Count(r.Runs, "run"), report.RequestsASecond(r.IOPS.Interval.Low), report.RequestsASecond(r.IOPS.Interval.High))
	}
	s.Headline, s.Before = s.Before, ""
	server := fmt.Sprintf("NFS version %s, a file of %v; it takes reads of %v and writes of %v", d.Version, unit.Size(d.FileBytes), unit.Size(d.MaxRead), unit.Size(d.MaxWrite))
	if d.Slots > 0 {
		server += ", " + unit.Count(d.Slots, "request") + " in flight (slots)"
	}
	s.fact("file", clean(d.Target))
	s.fact("server", clean(server))
	l := d.Latency
	s.fact("latency", fmt.Sprintf("half within %s, 95 %% within %s, 99 %% within %s, 99.9 %% within %s, at most %s", millis(l.P50), millis(l.P95), millis(l.P99), millis(l.P999), millis(l.Max)))
	s.fact("in flight", fmt.Sprintf("%s on average (Little's law: %s of %s each), %d asked for", number(d.InFlight), report.RequestsASecond(d.IOPS), millis(l.Mean), d.Depth))
	if d.CPU > 0 {
		s.fact("processor", fmt.Sprintf("%s µs of this host a request, %s processors in all", number(d.CPU), number(d.CPU*d.IOPS/1e6)))
	}
	if w, ok := throughWindows(d.Document); ok {
		s.fact("windows", fmt.Sprintf("let %v through at most, of which %s was used", unit.Rate(w), unit.Percent(d.Goodput/w)))
	}
	if d.Delays > 0 {
		s.fact("delays", fmt.Sprintf("%d times the server asked to have a request sent again later: it is short of something", d.Delays))
	}
}

// asked is what a test asks of its file.
func asked(d *nfs.Document) string {
	text := d.Op
	if d.Op == nfs.Read.String() || d.Op == nfs.Write.String() {
		text += " of " + unit.Size(d.Size).String() + ", one behind the other"
		if d.Random {
			text = strings.Replace(text, "one behind the other", "at random", 1)
		}
		if d.WriteShare > 0 {
			text += ", " + unit.Percent(d.WriteShare) + " of them writes"
		}
	}
	return fmt.Sprintf("%s, %d in flight over %s", text, d.Depth, unit.Count(d.Connections, "connection"))
}

// throughWindows is what all connections' windows let through, in bit/s; false where that is
// not known of all, or no data move.
func throughWindows(d *nfs.Document) (sum float64, ok bool) {
	for _, share := range d.Shares {
		most, ok := throughWindow(d.Op, share.TCP)
		if !ok {
			return 0, false
		}
		sum += most
	}
	return sum, sum > 0 && d.Goodput > 0
}

// throughWindow is a window over the least round trip, in bit/s.
func throughWindow(op string, tcp *nfs.TCPSummary) (float64, bool) {
	if tcp == nil || !(tcp.LeastRTT > 0) {
		return 0, false
	}
	window := tcp.ReceiveWindow
	if op == nfs.Write.String() {
		window = min(tcp.SendWindow, cmp.Or(tcp.Congestion, math.MaxUint32))
	}
	return 8 * float64(window) / (tcp.LeastRTT / 1000), window > 0
}

// limits is a diagnosis of a file.
func (s *summary) limits(d *nfsDiagnosis, l limits, clean func(string) string) {
	s.Headline, s.Says, s.Action, s.Tone = clean(d.Verdict.Cause), clean(d.Verdict.Says), clean(sentence(d.Verdict.Action)), "bad"
	e := d.Evidence
	if d.Verdict.Predicted > e.Now.IOPS {
		s.Note = fmt.Sprintf("Without that: up to %s.", report.RequestsASecond(d.Verdict.Predicted))
	}
	shown, left := first(d.Findings, l.list)
	s.Left += left
	for _, f := range shown {
		row := limitRow{clean(f.Cause), unit.Percent(f.Share), clean(f.Says), "–", clean(sentence(f.Action))}
		if f.Predicted > 0 {
			row.Without = report.RequestsASecond(f.Predicted)
		}
		s.Limits = append(s.Limits, row)
	}
	s.fact("now", fmt.Sprintf("%s, %s each; %s in flight over %s", report.RequestsASecond(e.Now.IOPS), unit.Milliseconds(e.Now.Mean), unit.Count(e.Depth, "request"), unit.Count(e.Connections, "connection")))
	if e.More.IOPS > 0 {
		s.fact("twice as many in flight", fmt.Sprintf("%s, %s each", report.RequestsASecond(e.More.IOPS), unit.Milliseconds(e.More.Mean)))
	}
	if e.Slots > 0 {
		s.fact("slots", fmt.Sprintf("the server grants %d requests in flight", e.Slots))
	}
}

// raised is a tuning of a file.
func (s *summary) raised(r *climb.Result, l limits, clean func(string) string) {
	s.Headline, s.Says, s.Tone = clean(r.Verdict.Cause), clean(r.Verdict.Says), "bad"
	s.Before, s.KeptWord = figureText(r.Before), "What was raised"
	if r.Gain > 1 {
		s.After = figureText(r.After)
		s.Gain = fmt.Sprintf("%s (95 %%: %s to %s)", unit.Factor(r.Gain), unit.Factor(r.GainCI95[0]), unit.Factor(r.GainCI95[1]))
		s.Note = fmt.Sprintf("Medians of %s as it was and as it is, in turns, made for nothing but the proof.", unit.Count(len(r.After.Runs), "run"))
	} else {
		s.Tone = "good"
		s.Note = "Nothing was raised: nothing that was tried helped, or is proven to."
	}
	outcomes := func(all []climb.Outcome) (shown []outcome) {
		some, left := first(all, l.list)
		s.Left += left
		for _, o := range some {
			host, setting := "client", o.Setting
			switch name, of, found := strings.Cut(o.Setting, " on "); {
			case found:
				host, setting = of, name
			case o.Setting == string(climb.Windows):
				host = "both"
			}
			shown = append(shown, outcome{Host: clean(host), Tunable: clean(setting), From: clean(o.From), To: clean(o.To), Effect: clean(o.Effect)})
		}
		return shown
	}
	s.Kept, s.PutBack = outcomes(r.Kept), outcomes(r.PutBack)
	told, left := first(r.Advice, l.list)
	s.Left += left
	for _, a := range told {
		s.Advice = append(s.Advice, advice{Says: clean(sentence(a))})
	}
	s.fact("file", clean(r.Target))
	s.fact("latency", fmt.Sprintf("half within %s, 99 %% within %s before; half within %s, 99 %% within %s after",
		millis(r.Before.Latency.P50), millis(r.Before.Latency.P99), millis(r.After.Latency.P50), millis(r.After.Latency.P99)))
}

func figureText(f climb.Figure) string {
	text := report.RequestsASecond(f.IOPS)
	if f.Goodput > 0 {
		text += ", " + f.Goodput.String()
	}
	return text
}
