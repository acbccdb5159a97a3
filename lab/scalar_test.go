package lab

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/unit"
)

func TestQueue(t *testing.T) {
	for word, want := range map[string]Queue{
		"256KB":  {Bytes: 256_000},
		"256KiB": {Bytes: 262_144},
		"1500":   {Bytes: 1500},
		"100p":   {Packets: 100},
		"20ms":   {Time: 20 * time.Millisecond},
		"150us":  {Time: 150 * time.Microsecond},
		"1bdp":   {BDP: 1},
		"0.5BDP": {BDP: 0.5},
	} {
		got, err := parseQueue(word)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", word, err, diff)
		}
	}
	for _, word := range []string{"", "p", "bdp", "0bdp", "0", "0p", "-1p", "1.5p", "1x", "NaNbdp", "1e9bdp", "-20ms", "20 parsecs"} {
		if got, err := parseQueue(word); err == nil {
			t.Errorf("%q: accepted as %+v", word, got)
		}
	}
}

func TestQueueSize(t *testing.T) {
	const rate, bdp = 100 * unit.Mbps, unit.Size(1_000_000)
	for word, want := range map[string]unit.Size{"64KB": 64_000, "8ms": 100_000, "2bdp": 2_000_000} {
		q, err := parseQueue(word)
		if got := q.size(rate, bdp); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", word, got, err, want)
		}
	}
}

func TestShare(t *testing.T) {
	for word, want := range map[string]float64{"0.01%": 0.0001, "100%": 1, "0": 0, "0%": 0, "2 %": 0.02} {
		if got, err := parseShare(word); err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", word, got, err, want)
		}
	}
	for _, word := range []string{"", "%", "0.01", "101%", "-1%", "NaN%", "Inf%", "1%%"} {
		if got, err := parseShare(word); err == nil {
			t.Errorf("%q: accepted as %v", word, got)
		}
	}
}

func TestGilbertMean(t *testing.T) {
	l := Loss{Model: "gilbert", P: 0.01, R: 0.19, Loss: 1}
	if got, want := l.Mean().String(), "5%"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzParse: whatever the file, the answer is a complete scenario or an error,
// never a panic. A scenario can be drawn and given to the wire.
func FuzzParse(f *testing.F) {
	for _, s := range Builtin() {
		data, err := scenarioFiles.ReadFile("scenarios/" + s.Name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("name: x\npath: {a_to_b: {rate: 1gbit, loss: {model: gilbert, p: 1%, r: 2%}}}\ntraffic: [{from: a, to: b, flows: 1}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("fuzz.yaml", data)
		if err != nil {
			return
		}
		if s.Path.MTU == 0 || s.Path.BToA == nil || s.Name == "" {
			t.Errorf("incomplete: %+v", s)
		}
		_ = s.Draw()
		_ = s.Path.direction(&s.Path.AToB)
	})
}
