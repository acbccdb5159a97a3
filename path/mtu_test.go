package path

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/unit"
)

// lossyPath is an asker for a path of one MTU that loses a share of the asked
// sizes, but not both tries of one.
func lossyPath(mtu int, loss float64, seed uint64, rounds *int) asker {
	chance := rand.New(rand.NewPCG(seed, 0))
	lost := map[int]bool{}
	return func(_ context.Context, sizes []int) (int, error) {
		*rounds++
		for _, size := range sizes {
			if size > mtu {
				continue
			}
			if !lost[size] && chance.Float64() < loss {
				lost[size] = true
				continue
			}
			return size, nil
		}
		return 0, nil
	}
}

// The search is exact, despite loss, and quick; it asks for no size twice at once, nor
// for one that is known to pass, and where the link's own passes it asks once.
func TestSearchMTU(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		link := rapid.OneOf(rapid.SampledFrom(commonMTUs), rapid.IntRange(68, 65535)).Draw(t, "link")
		mtu := rapid.OneOf(rapid.Just(link), rapid.IntRange(68, link)).Draw(t, "mtu")
		loss := rapid.SampledFrom([]float64{0, 0.1, 0.5}).Draw(t, "loss")
		rounds, passed := 0, 0
		ask := lossyPath(mtu, loss, rapid.Uint64().Draw(t, "seed"), &rounds)
		got, err := searchMTU(t.Context(), link, func(ctx context.Context, sizes []int) (int, error) {
			for i, size := range sizes {
				if size <= passed || size > link || i > 0 && size >= sizes[i-1] {
					t.Fatalf("%v is asked for, and %d passed", sizes, passed)
				}
			}
			got, err := ask(ctx, sizes)
			passed = max(passed, got)
			return got, err
		})
		if err != nil || got != mtu {
			t.Fatalf("found %d (%v)", got, err)
		}
		if rounds > 11 || rounds > 1 && mtu == link && loss == 0 {
			t.Fatalf("took %d rounds", rounds)
		}
	})
}

func TestSearchMTUNothingPasses(t *testing.T) {
	rounds := 0
	if got, err := searchMTU(t.Context(), 1500, lossyPath(0, 0, 1, &rounds)); got != 0 || err != nil {
		t.Errorf("found %d (%v) where nothing passes", got, err)
	}
	broken := errors.New("broken")
	for fails := range 3 {
		asked := 0
		_, err := searchMTU(t.Context(), 1500, func(context.Context, []int) (int, error) {
			if asked++; asked > fails {
				return 0, broken
			}
			return 0, nil
		})
		if !errors.Is(err, broken) || asked != fails+1 {
			t.Errorf("error %v after %d questions, want %v after %d", err, asked, broken, fails+1)
		}
	}
}

func TestBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		passes := rapid.IntRange(68, 65000).Draw(t, "passes")
		fails := passes + rapid.IntRange(2, 5000).Draw(t, "gap")
		sizes := between(passes, fails)
		if len(sizes) == 0 || len(sizes) > 24 {
			t.Fatalf("%d sizes", len(sizes))
		}
		descending := slices.IsSortedFunc(sizes, func(a, b int) int { return b - a })
		if !descending || sizes[0] >= fails || sizes[len(sizes)-1] <= passes {
			t.Fatalf("%v is not inside (%d, %d), largest first", sizes, passes, fails)
		}
	})
}

func TestProbedMTU(t *testing.T) {
	for _, c := range []struct {
		found, link, kernel int
		note                string
	}{
		{1500, 1500, 1500, ""},
		{1400, 1500, 1400, "the kernel knows of the limit, by an ICMP error or from its routes"},
		{1500, 1500, 1280, "the kernel keeps to packets of 1280 bytes, although larger ones pass"},
		{1400, 1500, 1500, "packets above 1400 bytes vanish without an ICMP error"},
		{1400, 1500, 0, ""}, // nobody asked the kernel
		{9216, 0, 0, ""},
	} {
		if got := probedMTU(c.found, c.link, c.kernel); got.Note != c.note || got.Bytes != c.found || got.BlackHole != strings.Contains(c.note, "vanish") {
			t.Errorf("found %d on a link of %d, kernel %d: %+v, want note %q", c.found, c.link, c.kernel, got, c.note)
		}
	}
}

func TestCapacityIsBelieved(t *testing.T) {
	for _, c := range []struct {
		capacity            Capacity
		plausible, measured bool
	}{
		{Capacity{Rate: 1, Low: 1, High: 1}, true, true},
		{Capacity{Rate: 1, Low: 1}, true, false}, // a lower bound
		{Capacity{Rate: 1, High: 1, Assumed: true}, true, false},
		{Capacity{}, false, false},
		{Capacity{Rate: -1, High: 1}, false, false},
		{Capacity{Rate: Fastest, High: 1}, false, false},
		{Capacity{Rate: Fastest * 0.999, High: Fastest * 0.999}, true, true},
		{Capacity{Rate: 1, High: Fastest}, false, false},
		{Capacity{Rate: unit.Rate(math.NaN()), High: 1}, false, false},
	} {
		if p, m := c.capacity.Plausible(), c.capacity.Measured(); p != c.plausible || m != c.measured {
			t.Errorf("%+v: plausible %v, measured %v", c.capacity, p, m)
		}
	}
	if share := PayloadShare(1500, Headers); math.Abs(share-1448.0/1500) > 1e-9 {
		t.Errorf("of 1500 bytes %v is payload", share)
	}
	if share := PayloadShare(40, Headers); share != 0 {
		t.Errorf("of packets that are smaller than their headers %v is payload", share)
	}
}
