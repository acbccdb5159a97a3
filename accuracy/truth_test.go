package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/unit"
)

// simulatedTruth is what measuring would give, of a path whose goodput and that of its cures is known, with log-normal scatter.
func simulatedTruth(random *rand.Rand, runs int, scatter float64, asIs float64, healed map[string]float64) *truth {
	some := func(mean float64) (all []reading) {
		for range runs {
			all = append(all, reading{Goodput: unit.Rate(mean * math.Exp(scatter*random.NormFloat64())), RTT: 50 * time.Millisecond})
		}
		return all
	}
	t := &truth{RTT: 40 * time.Millisecond, AsIs: some(asIs), Healed: map[string][]reading{}}
	for cause, mean := range healed {
		t.Healed[cause] = some(mean)
	}
	return t
}

// TestLabel: what gains most limits; what gains as much within the noise limits too; nothing that gains less than a tenth does; where two are as
// narrow as each other both are named, although neither gains anything alone; and where runs do not tell, that is said.
func TestLabel(t *testing.T) {
	const loss, buffer, policer = diagnose.RandomLoss, diagnose.ReceiverBuffer, diagnose.Policer
	random := rand.New(rand.NewPCG(13, 0))
	for _, c := range []struct {
		name    string
		scatter float64
		asIs    float64
		healed  map[string]float64
		want    []string // none: not known
	}{
		{"one fault", 0.01, 10e6, map[string]float64{loss: 95e6}, []string{loss}},
		{"a fault that does nothing", 0.005, 95e6, map[string]float64{loss: 96e6}, []string{diagnose.Healthy}},
		{"nothing to heal", 0.005, 95e6, nil, []string{diagnose.Healthy}},
		{"the narrower of two", 0.01, 10e6, map[string]float64{loss: 30e6, buffer: 10.1e6, allOfThem: 95e6}, []string{loss}},
		{"each gains as much", 0.01, 10e6, map[string]float64{loss: 20e6, buffer: 20.2e6, allOfThem: 95e6}, []string{loss, buffer}},
		{"each is as narrow as the other", 0.005, 10e6, map[string]float64{policer: 10.1e6, buffer: 10.1e6, allOfThem: 95e6}, []string{policer, buffer}},
		{"too much noise to tell", 0.5, 10e6, map[string]float64{loss: 13e6}, nil},
		{"nothing arrives", 0.01, 0, map[string]float64{diagnose.MTUBlackHole: 95e6}, []string{diagnose.MTUBlackHole}},
		{"nothing arrives, and one of two is why", 0.01, 0, map[string]float64{diagnose.MTUBlackHole: 95e6, loss: 0, allOfThem: 96e6}, []string{diagnose.MTUBlackHole}},
	} {
		right := 0
		const draws = 200
		for range draws {
			l := simulatedTruth(random, 4, c.scatter, c.asIs, c.healed).label()
			slices.Sort(l.causes)
			want := slices.Sorted(slices.Values(c.want))
			if slices.Equal(l.causes, want) {
				right++
			}
			if l.known() && !slices.Contains(c.want, l.causes[0]) && c.want != nil {
				t.Logf("%s: %v, gain %.3g", c.name, l.causes, l.gain)
			}
		}
		if right < draws*85/100 {
			t.Errorf("%s: right in %d of %d", c.name, right, draws)
		}
	}
}

// TestHealthyLabel: a path that is full is healthy, or its queue makes all wait; in between either will do.
func TestHealthyLabel(t *testing.T) {
	for _, c := range []struct {
		rtt, loaded time.Duration
		want        []string
	}{
		{40 * time.Millisecond, 60 * time.Millisecond, []string{diagnose.Healthy}},
		{40 * time.Millisecond, 300 * time.Millisecond, []string{diagnose.Bufferbloat}},
		{40 * time.Millisecond, 145 * time.Millisecond, []string{diagnose.Healthy, diagnose.Bufferbloat}},
		{300 * time.Millisecond, 500 * time.Millisecond, []string{diagnose.Healthy}}, // less than one bandwidth-delay product
		{time.Millisecond, 50 * time.Millisecond, []string{diagnose.Healthy}},        // nobody notices
	} {
		s := &truth{RTT: c.rtt, AsIs: []reading{{95e6, c.loaded}, {95e6, c.loaded}}}
		if l := s.label(); !slices.Equal(l.causes, c.want) {
			t.Errorf("%v instead of %v: %v, want %v", c.loaded, c.rtt, l.causes, c.want)
		}
	}
}

// TestCures: what is healed of a drawn path is one thing, or all, and what is left is a scenario. Healed of all, none of the plants is there.
func TestCures(t *testing.T) {
	for n := range 300 {
		d, err := draw(5, n)
		if err != nil {
			t.Fatal(err)
		}
		cures := d.cures()
		for _, cause := range d.planted {
			if cures[cause] == nil {
				t.Errorf("%s: %s is not healed", d.Name, cause)
			}
		}
		for cause, healed := range cures {
			text, err := healed.text()
			if err != nil {
				t.Fatal(err)
			}
			s, err := lab.Parse("healed.yaml", text)
			if err != nil {
				t.Errorf("%s without %s: %v", d.Name, cause, err)
				continue
			}
			way := s.Path.AToB
			clean := way.Loss.Share == 0 && way.Corrupt == 0 && way.Reorder.Share == 0 && way.Policer.Rate == 0 && way.MSSClamp == 0 && len(way.Strip) == 0 && way.BlackHoleAbove == 0 &&
				len(s.Traffic) == 0 && s.Hosts.A.CPUs == 0 && s.Hosts.B.CPUs == 0 && s.Hosts.A.Shape == 0 && s.Hosts.A.SlowWriter == 0 && s.Hosts.B.SlowReader == 0
			if cause == allOfThem && !clean {
				t.Errorf("%s: healed of all it is %+v, %+v", d.Name, way, s.Hosts)
			}
		}
	}
}
