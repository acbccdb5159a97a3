package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/unit"
)

// Scenarios of the lab as `fullbore diagnose --evidence` recorded them, with what
// `--json` said then: the words of findings are not what is tested here.
func TestDiagnosis(t *testing.T) {
	for _, name := range []string{"california-uk", "lossy-wan", "clean-wan"} {
		x := examined(t, name)
		golden.Check(t, "diagnosis/"+name+".txt", diagnosis(x, Style{}))
	}
	golden.Check(t, "diagnosis/terminal.txt", diagnosis(examined(t, "california-uk"), Style{Terminal: true}))
}

// What no recording has: a trial that failed, one that the budget did not allow,
// further findings, no path, and text that would act on a terminal.
func TestDiagnosisOfLittle(t *testing.T) {
	x := &examine.Examination{
		Evidence: diagnose.Evidence{
			Direction: bulk.Forward, Transfer: transferred(), Failed: "connection reset \x1b[2Jby peer",
			Trials: []diagnose.Trial{{Kind: diagnose.TrialPaced, Why: "Are packets still lost when they leave evenly?", Failed: "refused by \x07the far end"}},
		},
		Diagnosis: diagnose.Diagnosis{
			Verdict: diagnose.Finding{Cause: diagnose.Unknown, Gain: 1, Says: "839 Mb/s arrive, and the evidence does not say what limits them.", Action: "measure longer",
				Evidence: []diagnose.Fact{{Name: "odd\x1b", Value: 1.5, Unit: "packets", Says: "what there is\x1b[1m"}, {Name: "bare", Value: 2}}},
			Findings: []diagnose.Finding{
				{Cause: diagnose.SenderBuffer, Confidence: 0.4, Gain: 2, Predicted: 2 * unit.Gbps},
				{Cause: diagnose.PathCapacity, Confidence: 0.3, Gain: 1, Predicted: 839 * unit.Mbps},
			},
			Next: &diagnose.Trial{Kind: diagnose.TrialStreams, Why: "Do several connections get more together than one?"},
		},
	}
	golden.Check(t, "diagnosis/little.txt", diagnosis(x, Style{}))
	x.Evidence.Transfer, x.Diagnosis = nil, diagnose.Diagnosis{Verdict: diagnose.Finding{Cause: diagnose.Unknown}}
	if got := diagnosis(x, Style{}); !strings.Contains(got, "verdict    unknown\n") {
		t.Errorf("without a transfer:\n%s", got)
	}
}

// What a plan begins with is the middle of the report.
func TestVerdict(t *testing.T) {
	x := examined(t, "clean-wan")
	var out bytes.Buffer
	Verdict(&out, &x.Diagnosis, Style{})
	whole, rest := diagnosis(x, Style{}), 0
	for line := range strings.Lines(out.String()) {
		at := strings.Index(whole[rest:], line)
		if at < 0 {
			t.Fatalf("%q is not there, or comes earlier:\n%s", line, whole)
		}
		rest += at
	}
	for _, label := range []string{"verdict ", "evidence ", "do "} {
		if !strings.Contains(out.String(), "\n"+label) {
			t.Errorf("no %s:\n%s", label, &out)
		}
	}
}

// Nothing but the program named after --explain may be wider than a terminal.
func TestDiagnosisFits(t *testing.T) {
	for _, name := range []string{"california-uk", "lossy-wan", "clean-wan"} {
		for line := range strings.Lines(diagnosis(examined(t, name), Style{})) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > columns || strings.HasSuffix(line, " ") {
				t.Errorf("%s: %q is too wide or ends in blanks", name, line)
			}
		}
	}
}

func TestMeaning(t *testing.T) {
	for _, test := range []struct {
		fact        diagnose.Fact
		value, says string
	}{
		{diagnose.Fact{Value: 2.9e6, Unit: "b/s", Says: "2.9 Mb/s reached the receiving application"}, "2.9 Mb/s", "reached the receiving application"},
		{diagnose.Fact{Value: 55193, Unit: "B", Says: "window that the receiver offers: 53.9 KiB"}, "53.9 KiB", "window that the receiver offers"},
		{diagnose.Fact{Value: 40.4, Unit: "ms", Says: "round trip of 40.4 ms while sending"}, "40.4 ms", "round trip while sending"},
		{diagnose.Fact{Value: 12.5, Unit: "%", Says: "12.5 % of the time"}, "12.5 %", "of the time"},
		{diagnose.Fact{Value: 12.5, Unit: "%", Says: "112.5 % of the time"}, "12.5 %", "112.5 % of the time"},
		{diagnose.Fact{Value: 0.0005, Unit: "per packet", Says: "packets were lost 3 times"}, "1 in 2000", "packets were lost 3 times"},
		{diagnose.Fact{Value: 0, Unit: "per packet"}, "none", ""},
		{diagnose.Fact{Value: 7, Unit: "bits", Says: "windows are shifted by 7 bits"}, "7 bits", "windows are shifted by 7 bits"},
		{diagnose.Fact{Value: 3, Says: "3 were seen"}, "3", "were seen"},
		{diagnose.Fact{Value: 1400, Unit: "B", Says: "largest packet that passes: 1400 bytes (udp probe)"}, "1400 bytes", "largest packet that passes (udp probe)"},
		{diagnose.Fact{Value: 24474, Unit: "B", Says: "the product: 23.9 KiB, which would be enough"}, "23.9 KiB", "the product, which would be enough"},
	} {
		if value, says := meaning(test.fact); value != test.value || says != test.says {
			t.Errorf("meaning of %+v is %q, %q", test.fact, value, says)
		}
	}
}

// What is said already is not said again under another name.
func TestOthers(t *testing.T) {
	for cause, want := range map[string]bool{diagnose.Healthy: false, diagnose.Bufferbloat: false, diagnose.SmallMSS: true} {
		verdict := diagnose.Finding{Cause: cause, Confidence: 0.9}
		x := &examine.Examination{Diagnosis: diagnose.Diagnosis{Verdict: verdict, Findings: []diagnose.Finding{verdict, {Cause: diagnose.PathCapacity, Confidence: 0.9}}}}
		if got := strings.Contains(diagnosis(x, Style{}), diagnose.PathCapacity); got != want {
			t.Errorf("%s: path-capacity is there: %v, want %v", cause, got, want)
		}
	}
}

func TestFitting(t *testing.T) {
	expects := func(rates ...unit.Rate) (out []diagnose.Expectation) {
		for i, r := range rates {
			out = append(out, diagnose.Expectation{Cause: string(rune('a' + i)), Goodput: r})
		}
		return out
	}
	for _, test := range []struct {
		expects  []diagnose.Expectation
		measured unit.Rate
		want     string
	}{
		{expects(100, 10), 95, "as predicted by a"},
		{expects(100, 10, 90), 95, "as predicted by a and c"},
		{expects(100, 10), 40, "nearest to a"},
		{expects(100, 10, 10), 20, "nearest to b and c"},
		{expects(100, 101), 100, ""}, // the goodput does not tell
		{expects(100), 100, ""},
		{expects(100, 0), 0, ""},
		{expects(100, 0), 20, "nearest to a"},
		{nil, 20, ""},
	} {
		if got := fitting(test.expects, test.measured); got != test.want {
			t.Errorf("%v of %v: %q, want %q", test.measured, test.expects, got, test.want)
		}
	}
}

func TestBar(t *testing.T) {
	for _, test := range []struct {
		rate, scale unit.Rate
		want        string
	}{
		{0, 100, "▏"}, {1e-9, 100, "▏"}, {50, 100, strings.Repeat("█", bars/2)}, {100, 100, strings.Repeat("█", bars)},
		{101, 100, strings.Repeat("█", bars-1) + "▶"}, {0, 0, ""},
	} {
		got := bar(test.rate, test.scale)
		if strings.TrimRight(got, " ") != test.want || utf8.RuneCountInString(got) != bars {
			t.Errorf("bar(%v, %v) = %q", test.rate, test.scale, got)
		}
	}
}

func diagnosis(x *examine.Examination, style Style) string {
	var out bytes.Buffer
	Diagnosis(&out, x, style)
	return out.String()
}

func examined(t *testing.T, name string) *examine.Examination {
	t.Helper()
	name = filepath.Join("testdata", "diagnosis", name)
	x, err := examine.Read(name + ".evidence.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	x.Diagnosis = diagnose.Diagnosis{}
	if err := json.Unmarshal(text, &x.Diagnosis); err != nil {
		t.Fatal(err)
	}
	return x
}
