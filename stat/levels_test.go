package stat

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// noisy gives n values around a level.
func noisy(random *rand.Rand, n int, level, noise float64) []float64 {
	var x []float64
	for range n {
		x = append(x, level*(1+noise*random.NormFloat64()))
	}
	return x
}

// On a path that stays as it is, a new level is said to be there in about 1 %
// of histories, however many runs they have and however noisy they are.
func TestLevelsOfNoise(t *testing.T) {
	const histories = 400
	for _, runs := range []int{8, 20, 60} {
		for _, noise := range []float64{0.01, 0.3} {
			random, found := rand.New(rand.NewPCG(uint64(runs), 7)), 0
			for range histories {
				if len(Levels(noisy(random, runs, 1e9, noise))) > 0 {
					found++
				}
			}
			t.Logf("%d runs with %.0f %% of noise: a level in %.1f %%", runs, 100*noise, 100*float64(found)/histories)
			if found > histories*25/1000 { // 1 % and 3 standard deviations
				t.Errorf("%d runs with %.0f %% of noise: a level in %d of %d histories", runs, 100*noise, found, histories)
			}
		}
	}
}

// A step of five times the noise is found where it is, and a second one too.
func TestLevelsOfSteps(t *testing.T) {
	const histories = 200
	for name, test := range map[string]struct {
		levels []float64 // of 15 runs each
		want   []int
	}{
		"up":          {[]float64{900, 1000}, []int{15}},
		"down":        {[]float64{1000, 900}, []int{15}},
		"up and back": {[]float64{900, 1000, 900}, []int{15, 30}},
		"twice up":    {[]float64{100, 300, 900}, []int{15, 30}},
	} {
		random, exact := rand.New(rand.NewPCG(3, 4)), 0
		for range histories {
			var x []float64
			for _, level := range test.levels {
				x = append(x, noisy(random, 15, level, 0.02)...)
			}
			if slices.Equal(Levels(x), test.want) {
				exact++
			}
		}
		t.Logf("%s: exactly as it was in %.1f %%", name, 100*float64(exact)/histories)
		if exact < histories*85/100 {
			t.Errorf("%s: found exactly in %d of %d", name, exact, histories)
		}
	}
}

// Too few values have one level, and so has what is always the same.
func TestLevelsOfLittle(t *testing.T) {
	for _, x := range [][]float64{nil, {1}, {1, 1, 1, 9, 9, 9}, {5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5}} {
		if got := Levels(x); len(got) != 0 {
			t.Errorf("%v has new levels at %v", x, got)
		}
	}
	if got := Levels([]float64{1, 1, 1, 1, 1, 1, 1, 9, 9, 9, 9, 9, 9, 9}); !slices.Equal(got, []int{7}) {
		t.Errorf("new levels at %v, want 7", got)
	}
}

// The unit does not matter, nor does what all values have in common.
func TestLevelsOfOtherUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.IntRange(0, 50), 0, 40).Draw(t, "values")
		var plain, scaled []float64
		for _, v := range x {
			plain = append(plain, float64(v))
			scaled = append(scaled, 1024*float64(v)+4096)
		}
		if a, b := Levels(plain), Levels(scaled); !slices.Equal(a, b) {
			t.Fatalf("%v and, in another unit, %v", a, b)
		}
	})
}
