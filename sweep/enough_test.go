package sweep

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// curve is what values 1, 2, 4, … carry, measured in so many blocks with a scatter.
func curve(carries []float64, blocks int, scatter float64, random *rand.Rand) (all []series) {
	drift := make([]float64, blocks) // of the path, from block to block
	for b := range drift {
		drift[b] = math.Exp(0.1 * random.NormFloat64())
	}
	for i, c := range carries {
		s := series{float64(int(1) << i), map[int]float64{}}
		for b := range blocks {
			s.runs[b] = c * drift[b] * math.Exp(scatter*random.NormFloat64())
		}
		all = append(all, s)
	}
	return all
}

func plain(v float64) string { return fmt.Sprint(v) }

// TestEnoughIsRight: on curves that are known, with runs that scatter by 1 % and a path
// that drifts by 10 % from block to block, the smallest value that is enough is found.
func TestEnoughIsRight(t *testing.T) {
	for name, c := range map[string]struct {
		carries []float64
		want    float64
		least   float64 // share of cases
	}{
		"a knee at 8":            {[]float64{125, 250, 500, 1000, 1000, 1000, 1000}, 8, 0.95},
		"a knee that is round":   {[]float64{300, 600, 850, 940, 990, 1000, 1000}, 16, 0.9},
		"flat from the start":    {[]float64{1000, 1000, 1000, 1000}, 1, 0.9},
		"a peak at 4":            {[]float64{400, 800, 1000, 900, 800}, 4, 0.95},
		"rising to the end":      {[]float64{100, 200, 400, 800}, 8, 0.95},
		"falling from the start": {[]float64{1000, 900, 800}, 1, 0.95},
	} {
		right := 0.0
		const seeds = 1000
		for seed := range uint64(seeds) {
			e, ok := enoughOf(curve(c.carries, 5, 0.01, rand.New(rand.NewPCG(seed, 1))), 0.03, plain)
			if ok && e.Value.Number == c.want {
				right++
			}
		}
		t.Logf("%s: right in %.1f %%", name, 100*right/seeds)
		if right/seeds < c.least {
			t.Errorf("%s: right in %.1f %%, want %.0f %%", name, 100*right/seeds, 100*c.least)
		}
	}
}

// TestEnoughIsOneOfThem: whatever was measured, what is enough is one of the values,
// none larger than the fastest, and it says why.
func TestEnoughIsOneOfThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []series
		fastest, most := 0.0, 0.0
		for i := range rapid.IntRange(1, 8).Draw(t, "values") {
			s := series{float64(i + 1), map[int]float64{}}
			for b := range rapid.IntRange(0, 4).Draw(t, "runs") {
				s.runs[b] = rapid.Float64Range(1, 1000).Draw(t, "rate")
			}
			if len(s.runs) > 0 && typical(s.runs) > most {
				fastest, most = s.value, typical(s.runs)
			}
			all = append(all, s)
		}
		e, ok := enoughOf(all, 0.03, plain)
		if ok != (most > 0) || ok && (e.Value.Number > fastest || e.Value.Number < 1 || e.Why == "") {
			t.Fatalf("%+v, the fastest is %g", e, fastest)
		}
	})
}

// TestEnoughSays why, and whether more might be faster still.
func TestEnoughSays(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	rising, _ := enoughOf(curve([]float64{1, 2, 4}, 4, 0.001, random), 0.03, plain)
	if !strings.HasSuffix(rising.Why, "so more might be faster still") || !rising.Sure {
		t.Errorf("%+v", rising)
	}
	flat, _ := enoughOf(curve([]float64{100, 100.1}, 4, 0.0001, random), 0.03, plain)
	if flat.Value.Number != 1 || !flat.Sure || !strings.HasPrefix(flat.Why, "it carries 99.9 % of what 2 does, the fastest (90 %: ") {
		t.Errorf("%+v", flat)
	}
	noisy, _ := enoughOf(curve([]float64{100, 101}, 3, 0.2, random), 0.03, plain)
	if noisy.Sure && noisy.Value.Number == 1 {
		t.Errorf("runs that scatter by 20 %% are sure: %+v", noisy)
	}
}

// TestEnoughMargin: a value is enough whose middle is within twice the margin, if the
// runs do not show that it is below the margin; whatever the order of the values.
func TestEnoughMargin(t *testing.T) {
	runs := func(x ...float64) map[int]float64 {
		all := map[int]float64{}
		for i, v := range x {
			all[i] = v
		}
		return all
	}
	best := series{4, runs(1000, 1000, 1000)}
	for _, c := range []struct {
		name string
		runs map[int]float64
		want float64
	}{
		{"within the margin", runs(975, 976, 974), 1},
		{"within twice the margin, and it may be within the margin", runs(990, 950, 920), 1},
		{"not within twice the margin, though nothing is known", runs(1100, 950, 700), 4},
		{"surely below the margin", runs(955, 956, 954), 4},
		{"in one block only", runs(999), 4},
	} {
		sure := c.name != "within twice the margin, and it may be within the margin" && c.name != "not within twice the margin, though nothing is known" && c.name != "in one block only"
		for _, all := range [][]series{{{1, c.runs}, best}, {best, {1, c.runs}}} {
			if e, ok := enoughOf(all, 0.03, plain); !ok || e.Value.Number != c.want || e.Sure != sure {
				t.Errorf("%s: %+v, want %g, sure %v", c.name, e, c.want, sure)
			}
		}
	}
}

// TestTogether: what is enough everywhere is what the most demanding needs.
func TestTogether(t *testing.T) {
	each := []Enough{{Value: number(64), Why: "x", Where: map[string]Value{"connections": number(10)}}, {Value: number(256), Why: "y", Where: map[string]Value{"connections": number(1)}}}
	e := together(each, func(e Enough) string { return "connections " + e.Where["connections"].Text(Count) })
	if e.Value.Number != 256 || e.Why != "with connections 1, y" || len(e.Each) != 2 {
		t.Errorf("%+v", e)
	}
	if together(nil, nil) != nil {
		t.Error("enough of nothing")
	}
}

// TestOffered: the smaller of what the receiver offered and the sender can hold, and
// nothing where the system tunes the buffers.
func TestOffered(t *testing.T) {
	v := func(pairs ...any) map[string]Value {
		all := map[string]Value{}
		for i := 0; i < len(pairs); i += 2 {
			all[pairs[i].(string)] = number(float64(pairs[i+1].(int)))
		}
		return all
	}
	for _, c := range []struct {
		asked, got   map[string]Value
		widest, want float64
	}{
		{v("buffers", 1<<20), v("buffers", 1<<19), 0, 1 << 19},
		{v("buffers", 65536), v("buffers", 65536), 80_000, 80_000},
		{v("buffers", 65536), v("buffers", 65536), 120_000, 65536 * 2 * 5 / 6.},
		{v("send_buffer", 60000), v("send_buffer", 60000), 0, 100_000},
		{v("send_buffer", 60000), v("send_buffer", 60000), 1 << 20, 100_000},
		{v("send_buffer", 60000, "receive_buffer", 65536), v("send_buffer", 60000, "receive_buffer", 65536), 0, 65536},
		{v("window", 1<<20), v("window", 1<<20), 0, 1 << 20},
		{map[string]Value{"buffers": present}, v("buffers", 1<<20), 1 << 20, 0},
		{v("connections", 2), v("connections", 2), 1 << 20, 0},
	} {
		if got := offered(c.asked, c.got, c.widest); math.Abs(got-c.want) > 1 {
			t.Errorf("%v, at most %g offered: %g, want %g", c.got, c.widest, got, c.want)
		}
	}
}
