package html

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/tune"
	"github.com/fullbore/fullbore/unit"
)

// titles are those of all figures of a run, gallery by gallery.
func titles(run *record.Run) []string {
	var all []string
	for _, g := range galleries(run, 100) {
		for _, p := range g.Pictures {
			all = append(all, strings.TrimPrefix(g.Title+": "+p.Title, ": "))
		}
	}
	return all
}

// Each kind of run has the figures that its question asks for.
func TestFiguresOfARun(t *testing.T) {
	transfer := func(of string) []string {
		return []string{of + ": Goodput over time", of + ": Round trip and windows", of + ": Retransmissions and loss", of + ": Data segments for each ACK", of + ": Processor time by core"}
	}
	found, left := "The transfer as found: 2.78 Mb/s", "The transfer as left: 193 Mb/s"
	for _, test := range []struct {
		run  *record.Run
		want []string
	}{
		{diagnosed(t, "lossy-wan"), append([]string{"Latency under load"}, transfer("The transfer")...)},
		{tuned(t), slices.Concat([]string{"The climb", "Latency under load"}, slices.DeleteFunc(transfer(found), func(s string) bool { return strings.Contains(s, "loss") }), transfer(left))},
		{testedRun(t), append([]string{"Goodput of every run", "Latency under load"}, transfer("The transfer")...)},
		{sweptRun(t, "sweep-grid"), []string{"Goodput over buffers", "CPUs used over buffers"}},
		{&record.Run{}, nil},
	} {
		if got := titles(test.run); !slices.Equal(got, test.want) {
			t.Errorf("%s has the figures\n%s, want\n%s", test.run.Kind, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
	if got := titles(testedRun(t, "-C cubic", "-C bbr")); !slices.Contains(got, "The transfer A: 58.3 Mb/s: Goodput over time") || !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "The transfer B: ") }) {
		t.Errorf("a comparison has the figures %q", got)
	}
}

// Of datagrams the loss that the receiver counted is shown; of both directions each.
func TestFiguresOfDatagramsAndBothWays(t *testing.T) {
	stream := func(id int, sender bool) bulk.Stream {
		s := bulk.Stream{ID: id, Sender: sender, Elapsed: 2 * time.Second, Bytes: 2e7}
		for i := range 21 {
			sample := bulk.Sample{At: time.Duration(i) * 100 * time.Millisecond, Bytes: int64(i) * 1e6}
			if !sender {
				sample.UDP = &bulk.Datagrams{Packets: int64(i) * 100, Lost: int64(i) * 3}
			}
			s.Samples = append(s.Samples, sample)
		}
		if !sender {
			s.Datagrams = &bulk.Datagrams{Packets: 2000, Lost: 60}
		}
		return s
	}
	r := &bulk.Result{
		Spec:   bulk.Spec{Direction: bulk.Both, Streams: 1, Protocol: bulk.UDP, Duration: 2 * time.Second},
		Client: bulk.End{Host: "a", Streams: []bulk.Stream{stream(1, true), stream(2, false)}},
		Server: bulk.End{Host: "b", Streams: []bulk.Stream{stream(1, false), stream(2, true)}},
	}
	run := &record.Run{Header: record.Header{Kind: record.Test}, Transfers: []record.Transfer{{Result: r}}}
	want := []string{"The transfer: Goodput over time, forward", "The transfer: Retransmissions and loss, forward", "The transfer: Goodput over time, reverse", "The transfer: Retransmissions and loss, reverse"}
	if got := titles(run); !slices.Equal(got, want) {
		t.Errorf("the figures are %q, want %q", got, want)
	}
	c := lossFigure(picked{result: r}, bulk.Forward)
	if c.Says != "60 of 2000 datagrams were lost." || len(c.Panels[0].Series) != 1 || c.Panels[0].Series[0].Name != "datagrams lost" || int(c.Panels[0].Series[0].Points[1].Y+0.5) != 30 {
		t.Errorf("%+v", c)
	}
}

// The climb has what was found, every step with what it brought, and the proof with its
// intervals; a step whose transfers failed has a row and no value.
func TestClimb(t *testing.T) {
	run := tuned(t)
	docs := read(run)
	rows := climbFigure(docs.tune).Rows
	var names []string
	for _, r := range rows {
		names = append(names, r.Name+": "+r.Note)
	}
	want := []string{"as it was found: the limit is receiver-buffer",
		"larger receive buffers; b net.ipv4.tcp_rmem = 4096 65536 67108864: helps, x 69.4",
		"larger send buffers; a net.ipv4.tcp_wmem = 4096 16384 67108864: no difference that can be measured, +0.0 %",
		"as it was, proven: ", "with all that is kept, proven: x 69.4 (95 %: x 68 to x 70.8)"}
	if !slices.Equal(names, want) {
		t.Errorf("the steps are\n%s, want\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
	if r := rows[1]; math.Abs(r.From-2.78e6) > 1e4 || math.Abs(r.Typical-193e6) > 1e6 || r.Color != helpedColor || len(r.Dots) != 2 {
		t.Errorf("the step that helped is %+v", r)
	}
	if r := rows[2]; r.Color != plainColor || len(r.Dots) != 4 {
		t.Errorf("the step that brought nothing is %+v", r)
	}
	failed := climbFigure(&tune.Result{Steps: []tune.Step{{Idea: "jumbo frames", Before: tune.Figure{Goodput: 1e9, Runs: []unit.Rate{1e9}}, Effect: tune.Hurts, Says: "the transfer failed: timeout"}}}).Rows[1]
	if failed.Note != "the transfer failed: timeout" || !math.IsNaN(failed.Typical) || failed.Color != harmColor {
		t.Errorf("a step that failed is %+v", failed)
	}
	if r := rows[4]; r.Low <= 0 || r.Low > r.Typical || r.High < r.Typical || len(r.Dots) != 4 {
		t.Errorf("the proof is %+v", r)
	}
}
