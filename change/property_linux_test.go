package change

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestWhollyOldOrWhollyNew runs random work with random faults: errors at any
// touch of a tunable or a file, and at most one death of the process. What
// happened, the next process finds every set wholly old or wholly new, and can
// undo all.
func TestWhollyOldOrWhollyNew(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			r.Fatal(err)
		}
		w := newWorld(dir)
		initial := w.values()
		w.faults = drawFaults(r)
		work(r, t, w)

		// The next process comes after every deadline, and nothing fails any more.
		w.faults = nil
		w.now = w.now.Add(time.Hour)
		m := w.manager(t)
		sets, err := m.List(context.Background())
		if err != nil {
			r.Fatalf("list: %v", err)
		}
		want := initial
		for _, set := range slices.Backward(sets) { // oldest first
			if set.Trouble != "" {
				r.Fatalf("set is in trouble: %s", set.Trouble)
			}
			switch set.State {
			case Confirmed:
				for _, v := range set.Values {
					want = with(want, v.Tunable, v.New)
				}
			case Reverted:
			default:
				r.Fatalf("set is %s (%s): %v", set.State, set.Note, set.Values)
			}
		}
		if diff := cmp.Diff(want, w.values()); diff != "" {
			r.Fatalf("half done (-want +got):\n%s", diff)
		}
		for _, set := range sets { // newest first
			if _, err := m.Revert(context.Background(), set.ID); err != nil {
				r.Fatalf("revert: %v", err)
			}
		}
		if diff := cmp.Diff(initial, w.values()); diff != "" {
			r.Fatalf("not undone (-initial +got):\n%s", diff)
		}
		if text := w.dropIn(t); text != "" {
			r.Fatalf("drop-in is left:\n%s", text)
		}
	})
}

func drawFaults(r *rapid.T) map[int]fault {
	faults := map[int]fault{}
	for _, at := range rapid.SliceOfN(rapid.IntRange(1, 120), 0, 8).Draw(r, "errors at") {
		faults[at] = rapid.SampledFrom([]fault{failBefore, failAfter}).Draw(r, "error")
	}
	if rapid.Bool().Draw(r, "dies") {
		faults[rapid.IntRange(1, 120).Draw(r, "dies at")] = rapid.SampledFrom([]fault{crashBefore, crashAfter}).Draw(r, "death")
	}
	return faults
}

// work does random things until it is done, or the process dies.
func work(r *rapid.T, t *testing.T, w *world) {
	defer func() {
		if died := recover(); died != nil {
			if _, ok := died.(crash); !ok {
				panic(died)
			}
		}
	}()
	ctx := context.Background()
	m := w.manager(t)
	var known []string
	settings := rapid.SliceOfNDistinct(rapid.SampledFrom([]Setting{
		{rmem, bigger}, {rmem, biggest}, {wmem, "4096 16384 67108864"}, {wmem, "4096 65536 67108864"},
		{idle, "0"}, {idle, "1"}, {congestion, "bbr"}, {congestion, "cubic"},
	}), 1, 4, func(s Setting) string { return s.Tunable })
	for range rapid.IntRange(1, 20).Draw(r, "calls") {
		w.now = w.now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Second, 40 * time.Second}).Draw(r, "later"))
		call := rapid.IntRange(0, 9).Draw(r, "call")
		if call == 0 || len(known) == 0 {
			if id, err := m.Begin(ctx, "property", minute); err == nil {
				known = append(known, id)
			}
			continue
		}
		id := rapid.SampledFrom(known).Draw(r, "set")
		switch call {
		case 1, 2, 3, 4:
			_ = m.Apply(ctx, id, settings.Draw(r, "settings"))
		case 5:
			_ = m.PutBack(ctx, id, rapid.SampledFrom([]string{rmem, wmem, idle}).Draw(r, "tunable"))
		case 6:
			_ = m.PutBack(ctx, id)
		case 7:
			_ = m.Confirm(ctx, id, rapid.Bool().Draw(r, "persist"))
		case 8:
			_, _ = m.Revert(ctx, id)
		case 9:
			_, _ = m.List(ctx)
		}
	}
}

func with(values map[string]string, name, value string) map[string]string {
	out := map[string]string{name: value}
	for n, v := range values {
		if n != name {
			out[n] = v
		}
	}
	return out
}
