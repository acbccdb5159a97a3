package main

import (
	"bytes"
	"slices"
	"testing"

	"github.com/fullbore/fullbore/diagnose"
)

// TestDraw: any seed's paths are scenarios, the same each time, of all decades of rate and round trip, with none, one or two plants of all causes;
// and what is planted can be taken out again, which leaves a scenario.
func TestDraw(t *testing.T) {
	const paths = 1000
	plantsOf, decades, counts := map[string]int{}, map[string]int{}, [3]int{}
	for n := range paths {
		p, err := draw(7, n)
		if err != nil {
			t.Fatal(err)
		}
		again, err := draw(7, n)
		if err != nil {
			t.Fatal(err)
		}
		one, _ := p.document.text()
		two, _ := again.document.text()
		if !bytes.Equal(one, two) {
			t.Fatalf("%s is another one the second time", p.Name)
		}
		counts[len(p.planted)]++
		decades[decadeOf(float64(p.Path.AToB.Rate)/1e6)+" Mb/s"]++
		decades[decadeOf(p.Path.RTT().Seconds()*1e3)+" ms"]++
		for _, cause := range p.planted {
			plantsOf[cause]++
			if !diagnose.Known(cause) {
				t.Errorf("%s plants %q, which is no cause", p.Name, cause)
			}
		}
		if len(p.planted) == 2 && p.planted[0] == p.planted[1] {
			t.Errorf("%s has the same plant twice", p.Name)
		}
	}
	t.Log(counts, decades, plantsOf)
	for _, f := range plants {
		if plantsOf[f.cause] < paths/100 {
			t.Errorf("%s is planted %d times", f.cause, plantsOf[f.cause])
		}
	}
	if len(decades) < 7 || slices.Min(counts[:]) < paths/5 {
		t.Errorf("%v, %v", decades, counts)
	}
}

func decadeOf(x float64) string {
	for _, d := range []struct {
		below float64
		name  string
	}{{1, "up to 1"}, {10, "1 to 10"}, {100, "10 to 100"}, {1000, "100 to 1000"}} {
		if x < d.below {
			return d.name
		}
	}
	return "above 1000"
}
