package sweep

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// simulated is a path whose goodput at every value is known.
type simulated struct {
	name    string
	carries func(value float64) float64
	start   float64
	enough  float64 // the value that a search should find
}

// buffers of 4 KiB to 64 MiB on paths that have every shape of curve.
var simulations = []simulated{
	{"a window that is far too small, and a path that needs 1 MiB", func(v float64) float64 { return min(1e9, v*1000) }, 65536, 1 << 20},
	{"a present value that is just enough", func(v float64) float64 { return min(1e9, v*1000) }, 1 << 20, 1 << 20},
	{"a plateau from the start: a sixteenth would do", func(v float64) float64 { return min(1e9, v*16_000) }, 1 << 20, 65536},
	{"no gain at all, whatever the value", func(v float64) float64 { return 1e9 }, 1 << 20, 4096},
	{"a peak: beyond 256 KiB it gets worse", func(v float64) float64 {
		if v > 262144 {
			return 1e9 * math.Pow(262144/v, 0.3)
		}
		return v * 4000
	}, 32768, 262144},
	{"a present value beyond the peak", func(v float64) float64 {
		if v > 262144 {
			return 1e9 * math.Pow(262144/v, 0.3)
		}
		return v * 4000
	}, 1 << 22, 262144},
	{"a gain that is never worth another doubling", func(v float64) float64 { return 1e9 * math.Pow(v, 0.02) }, 1 << 20, 1 << 20},
	{"more than can be set", func(v float64) float64 { return v }, 1 << 20, 1 << 26},
}

// find runs a search on a simulated path whose runs scatter by a share.
func (p simulated) find(scatter float64, seed uint64) (s *search, transfers int) {
	random := rand.New(rand.NewPCG(seed, 99))
	factors := Factors{{setting: setting{name: "buffers", kind: Bytes}, Values: []Value{present}}}
	least := 4096.0
	if p.enough == p.start && p.carries(p.start/2) > p.carries(p.start)*0.97 {
		least = p.start // that going back is not asked for
	}
	s = newSearch(p.start, least, 1<<26, 0.03, 8, seed, func(v float64) Point { return Point{factors, []Value{number(v)}} })
	for {
		t, more := s.next()
		if !more {
			return s, transfers
		}
		transfers++
		if transfers > 1000 {
			panic("a search without end")
		}
		s.tell(p.carries(t.point.values[0].Number) * math.Exp(scatter*random.NormFloat64()))
	}
}

// TestSearchFindsEnough: on simulated paths whose truth is known, with runs that
// scatter by nothing, by 1 and by 3 %, a search finds the smallest value that is
// enough. How often is what a thousand seeds give, less a little.
func TestSearchFindsEnough(t *testing.T) {
	const seeds = 1000
	for scatter, least := range map[float64]float64{0: 1, 0.01: 0.99, 0.03: 0.9} {
		for _, p := range simulations {
			right, transfers := 0.0, 0
			for seed := range uint64(seeds) {
				s, n := p.find(scatter, seed+1)
				transfers += n
				if got, _ := s.enough(); got == p.enough {
					right++
				}
			}
			t.Logf("scatter %g, %s: right in %.1f %%, %d transfers in the mean", scatter, p.name, 100*right/seeds, transfers/seeds)
			if right/seeds < least {
				t.Errorf("scatter %g, %s: right in %.1f %%, want %.0f %%", scatter, p.name, 100*right/seeds, 100*least)
			}
		}
	}
}

// TestSearchEnds: whatever the transfers give, also failures, a search ends within the
// number of transfers that it announced, keeps within its range, and every step's values
// are a pair that it compared.
func TestSearchEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.Float64Range(1, 1e6).Draw(t, "start")
		least := start / rapid.Float64Range(1, 1e5).Draw(t, "down")
		most := start * rapid.Float64Range(1, 1e5).Draw(t, "up")
		pairs := rapid.IntRange(1, 12).Draw(t, "pairs")
		factors := Factors{{setting: setting{name: "buffers", kind: Bytes}}}
		s := newSearch(start, least, most, 0.03, pairs, rapid.Uint64().Draw(t, "seed"), func(v float64) Point { return Point{factors, []Value{number(v)}} })
		announced := s.left()
		for n := 0; ; n++ {
			turn, more := s.next()
			if !more {
				break
			}
			if n >= announced {
				t.Fatalf("%d transfers were announced", announced)
			}
			if left := s.left(); n+left > announced || left < 1 {
				t.Fatalf("after %d transfers %d are left, and %d were announced", n, left, announced)
			}
			if v := turn.point.values[0].Number; v < math.Floor(least) || v > math.Ceil(most) {
				t.Fatalf("%g is tried, between %g and %g", v, least, most)
			}
			s.tell(rapid.SampledFrom([]float64{0, 1, 1, 1.01, 1.5, 3}).Draw(t, "goodput"))
		}
		if value, _ := s.enough(); value < math.Floor(least) || value > math.Ceil(most) {
			t.Fatalf("found %g", value)
		}
		if s.left() != 0 {
			t.Fatalf("over, and %d are left", s.left())
		}
		if len(s.decided) > 0 {
			if why := s.why(func(v float64) string { return number(v).Text(Bytes) }); why == "" {
				t.Fatal("without a reason")
			}
		}
	})
}

// TestPairs: runs come in pairs of both values, sometimes the one first and sometimes the
// other, each pair a block of its own; the table has each value once, in order.
func TestPairs(t *testing.T) {
	factors := Factors{{setting: setting{name: "buffers", kind: Bytes}}}
	s := newSearch(1000, 250, 64000, 0.03, 8, 5, func(v float64) Point { return Point{factors, []Value{number(v)}} })
	var order []float64
	for n := 0; ; n++ {
		turn, more := s.next()
		if !more {
			break
		}
		if turn.block != n/2 {
			t.Fatalf("transfer %d is in block %d", n, turn.block)
		}
		if again, _ := s.next(); again.point.Key() != turn.point.Key() {
			t.Fatal("the next one is another before it is told of")
		}
		v := turn.point.values[0].Number
		order = append(order, v)
		s.tell(min(v, 8000))
	}
	rising := 0
	for i := 0; i+1 < len(order); i += 2 {
		switch order[i+1] {
		case 2 * order[i]:
			rising++
		case order[i] / 2:
		default:
			t.Errorf("%g is held against %g", order[i], order[i+1])
		}
	}
	if pairs := len(order) / 2; pairs != 12 || rising < 2 || rising > pairs-2 { // 1000 to 16000, in threes
		t.Errorf("%d of %d pairs begin with the smaller value", rising, pairs)
	}
	var values []float64
	for _, p := range s.points() {
		values = append(values, p.values[0].Number)
	}
	if !slices.Equal(values, []float64{1000, 2000, 4000, 8000, 16000}) {
		t.Errorf("%v", values)
	}
	if found, sure := s.enough(); found != 8000 || !sure {
		t.Errorf("%g is enough", found)
	}
}

// TestSearchStopsAtWhatCannotBeSet: the largest value that could be is what remains.
func TestSearchStopsAtWhatCannotBeSet(t *testing.T) {
	factors := Factors{{setting: setting{name: "buffers", kind: Bytes}}}
	s := newSearch(65536, 65536, 1<<30, 0.03, 8, 1, func(v float64) Point { return Point{factors, []Value{number(v)}} })
	for {
		turn, more := s.next()
		if !more {
			break
		}
		v := turn.point.values[0].Number
		if v > 1<<20 {
			v = 0 // it is refused
		}
		s.tell(v)
	}
	value, sure := s.enough()
	why := s.why(func(v float64) string { return number(v).Text(Bytes) })
	if value != 1<<20 || !sure || why != "1 MiB carries 2 times what 512 KiB does (95 %: 2 to 2 times); 2 MiB could not be set" {
		t.Errorf("%g, %v, %s", value, sure, why)
	}
}
