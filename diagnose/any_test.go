package diagnose

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/unit"
)

// leaves are all figures, texts, lists and pointers in a value, those of the same
// field of all streams and samples together, under the name of that field.
func leaves(v reflect.Value, name string, found map[string][]reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		found[name] = append(found[name], v)
		if !v.IsNil() {
			leaves(v.Elem(), name, found)
		}
	case reflect.Slice:
		found[name] = append(found[name], v)
		for i := range v.Len() {
			leaves(v.Index(i), name+"[]", found)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			leaves(v.Field(i), name+"."+v.Type().Field(i).Name, found)
		}
	default:
		found[name] = append(found[name], v)
	}
}

// spoil puts something into a field that no honest end would report.
func spoil(t *rapid.T, v reflect.Value) {
	if !v.CanSet() {
		return
	}
	odd := rapid.SampledFrom([]float64{0, 1, -1, 3, 1e3, 1e6, 1e12, 1e30, -1e30, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 5e-324})
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(rapid.SampledFrom([]int64{0, 1, -1, 7, 1448, 1 << 20, 1 << 40, math.MaxInt64, math.MinInt64}).Draw(t, "int"))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(rapid.SampledFrom([]uint64{0, 1, 7, 1448, 1 << 20, math.MaxUint32, 1 << 40, math.MaxUint64}).Draw(t, "uint"))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(odd.Draw(t, "float"))
	case reflect.String:
		v.SetString(rapid.SampledFrom([]string{"", "bbr", "reno", "reverse", "forward", "\x1b[2J\n", "x y z", "9999999999999999999999"}).Draw(t, "text"))
	case reflect.Pointer, reflect.Map:
		v.SetZero()
	case reflect.Slice:
		if v.Len() > 0 {
			v.Set(v.Slice(0, rapid.IntRange(0, v.Len()-1).Draw(t, "length")))
		}
	}
}

// damaged evidence is that of a scene in which some fields were spoiled: at one
// place, or wherever they occur.
func damaged(t *rapid.T) *Evidence {
	e := anyScene(t).evidence()
	for range rapid.IntRange(0, 8).Draw(t, "spoiled fields") {
		found := map[string][]reflect.Value{}
		leaves(reflect.ValueOf(e).Elem(), "", found)
		// All that can be spoiled has a name in any draw, so that rapid can shrink.
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(found))).Draw(t, "field")
		places := found[name]
		if rapid.Bool().Draw(t, "everywhere") {
			first := places[0]
			spoil(t, first)
			for _, v := range places[1:] {
				if v.CanSet() && first.Kind() != reflect.Slice {
					v.Set(first)
				}
			}
		} else {
			spoil(t, places[rapid.IntRange(0, len(places)-1).Draw(t, "place")])
		}
	}
	return e
}

// anyScene is one of the scenes above it, with trials of others.
func anyScene(t *rapid.T) *pathScene {
	rate := rapid.SampledFrom([]unit.Rate{1000, 5 * mbps, 20 * mbps, 70 * mbps, 95 * mbps, 200 * mbps})
	draw := func(name string) scene {
		s := mid(rate.Draw(t, name), rapid.SampledFrom([]string{"cubic", "reno", "bbr"}).Draw(t, "congestion"), rapid.SampledFrom([]int{0, 1, 20, 250, 20000}).Draw(t, "loss"))
		if rapid.Bool().Draw(t, "queue") {
			s = s.queueing(rapid.SampledFrom([]time.Duration{50 * ms, 75 * ms, 300 * ms}).Draw(t, "rtt"))
		}
		s.notsent, s.assumed = rapid.Bool().Draw(t, "notsent"), rapid.Bool().Draw(t, "assumed")
		s.short = true
		return s
	}
	c := &pathScene{scene: draw("goodput"), trials: map[TrialKind]scene{}, change: trains(rapid.SampledFrom([]float64{0, 0.01, 0.4, 0.9}).Draw(t, "trains"))}
	for _, kind := range trialKinds {
		if rapid.Bool().Draw(t, string(kind)) {
			c.trials[kind] = draw("goodput of " + string(kind))
		}
	}
	return c
}

// sound says what is wrong with a diagnosis, "" if nothing is: whatever the
// evidence, it can be written down, shown, and acted upon.
func sound(e *Evidence, d *Diagnosis) string {
	if text, err := json.Marshal(d); err != nil {
		return err.Error() + string(text)
	}
	for _, f := range append([]Finding{d.Verdict}, d.Findings...) {
		switch {
		case !Known(f.Cause):
			return "unknown cause " + f.Cause
		case !(f.Confidence >= 0 && f.Confidence <= 1):
			return f.Cause + ": confidence out of range"
		case !(f.Gain >= 1) || math.IsInf(f.Gain, 0):
			return f.Cause + ": gain below 1, or not finite"
		case !(f.weight >= 0 && f.weight <= 1):
			return f.Cause + ": weight out of range"
		case strings.Count(f.Says, ". ") < 1 || !strings.HasSuffix(f.Says, "."):
			return f.Cause + " does not say two sentences: " + f.Says
		case f.Action == "" || f.Evidence == nil:
			return f.Cause + ": no action or no evidence"
		case f.Says != printable.Line(f.Says) || f.Action != printable.Line(f.Action):
			return f.Cause + ": cannot be printed: " + f.Says + f.Action
		}
		for _, fact := range f.Evidence {
			if fact.Name == "" || fact.Says == "" || fact.Says != printable.Line(fact.Says) {
				return f.Cause + ": a fact without words, or that cannot be printed: " + fact.Name
			}
		}
	}
	for i := 1; i < len(d.Findings); i++ {
		if d.Findings[i-1].weight*d.Findings[i-1].Confidence < d.Findings[i].weight*d.Findings[i].Confidence {
			return "findings out of order: " + d.Findings[i].Cause
		}
	}
	if d.Next == nil {
		return ""
	}
	if d.Next.Why == "" || len(d.Next.Expects) == 0 {
		return "next trial asks nothing, or expects nothing"
	}
	for _, t := range e.Trials {
		if t.Kind == d.Next.Kind {
			return "next trial was run before: " + string(t.Kind)
		}
	}
	spec := d.Next.Spec
	spec.Duration = time.Second
	given := e.Transfer.Spec
	given.Duration = time.Second
	if given.Check() != nil {
		return "" // nor could the transfer be run
	}
	if err := spec.Check(); err != nil {
		return "next trial cannot be run: " + err.Error()
	}
	if _, err := json.Marshal(d.Next); err != nil {
		return "next: " + err.Error()
	}
	return ""
}

// Whatever the evidence, there is a sound verdict, and the loop of diagnosis and
// trials ends.
func TestAnyDamage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := damaged(t)
		for round := 0; ; round++ {
			d := Diagnose(e)
			if wrong := sound(e, &d); wrong != "" {
				t.Fatalf("%s", wrong)
			}
			_ = Ceilings(e)
			if d.Next == nil {
				return
			}
			if round == 10 {
				t.Fatalf("after %d trials another: %s", round, d.Next.Kind)
			}
			result := damaged(t)
			e.Trials = append(e.Trials, Trial{Kind: d.Next.Kind, Spec: d.Next.Spec, Result: result.Transfer, Failed: rapid.SampledFrom([]string{"", "timed out"}).Draw(t, "failed")})
		}
	})
}

// Evidence as it is read from a file, of whatever sender.
func FuzzEvidence(f *testing.F) {
	for _, c := range []pathScene{
		{scene: mid(5*mbps, "cubic", 250), change: trains(0.4), trials: map[TrialKind]scene{TrialPaced: mid(12*mbps, "cubic", 0).paced(12.5 * mbps)}},
		{scene: mid(20*mbps, "cubic", 2000).queueing(60 * ms), trials: map[TrialKind]scene{TrialCongestion: mid(45*mbps, "bbr", 100).queueing(60 * ms)}},
		{scene: mid(95*mbps, "cubic", 0).queueing(70 * ms), trials: map[TrialKind]scene{TrialDepth: mid(94*mbps, "reno", 200).queueing(260 * ms)}},
	} {
		e := c.evidence()
		few(e.Transfer)
		few(e.Trials[0].Result)
		text, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"direction":"both","transfer":{"client":{"streams":[{"sender":true,"samples":[{}]}]}},"trials":[{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var e Evidence
		if json.Unmarshal(text, &e) != nil {
			return
		}
		d := Diagnose(&e)
		if wrong := sound(&e, &d); wrong != "" {
			t.Error(wrong)
		}
	})
}

// few leaves as many samples as tell a trend: a fuzzer works best on short texts.
func few(r *bulk.Result) {
	for _, streams := range [][]bulk.Stream{r.Client.Streams, r.Server.Streams} {
		for i := range streams {
			s := &streams[i]
			kept := s.Samples[:1]
			for n := 10; n < len(s.Samples); n += 12 {
				kept = append(kept, s.Samples[n])
			}
			s.Samples = kept
		}
	}
}
