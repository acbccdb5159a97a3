package sweep

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawnFactors has one to three factors with a few values each.
func drawnFactors(t *rapid.T) Factors {
	var factors Factors
	for _, name := range []string{"buffers", "connections", "direction"}[:rapid.IntRange(1, 3).Draw(t, "factors")] {
		s, err := lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		f := Factor{setting: s}
		if name == "direction" {
			f.Values = []Value{word("forward"), word("reverse")}
		} else {
			for i := range rapid.IntRange(1, 5).Draw(t, name) {
				f.Values = append(f.Values, number(float64(i+1)*4096))
			}
		}
		factors = append(factors, f)
	}
	return factors
}

func keys(b *blocks, most int) (all []string) {
	for range most {
		turn, more := b.next()
		if !more {
			break
		}
		all = append(all, place(turn.block, turn.point.Key()))
		b.tell(1)
	}
	return all
}

// TestBlocksAreComplete: each block has every point once, the present setting among
// them; the same seed gives the same order, and another one another.
func TestBlocksAreComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points, usual := drawnFactors(t).points()
		count, seed := rapid.IntRange(1, 5).Draw(t, "blocks"), rapid.Uint64().Draw(t, "seed")
		if points[usual].Key() != points[usual].factors.usual().Key() {
			t.Fatalf("%s is not the present setting", points[usual])
		}
		order := keys(newBlocks(points, count, seed), 1000)
		if len(order) != len(points)*count {
			t.Fatalf("%d transfers of %d points in %d blocks", len(order), len(points), count)
		}
		for block := range count {
			var want []string
			for _, p := range points {
				want = append(want, place(block, p.Key()))
			}
			got := slices.Sorted(slices.Values(order[block*len(points) : (block+1)*len(points)]))
			slices.Sort(want)
			if !slices.Equal(got, want) || len(slices.Compact(got)) != len(points) {
				t.Fatalf("block %d is %v, want %v", block, got, want)
			}
		}
		if !slices.Equal(order, keys(newBlocks(points, count, seed), 1000)) {
			t.Fatal("the same seed gives another order")
		}
		if len(points) > 5 && slices.Equal(order[:len(points)], keys(newBlocks(points, 1, seed+1), 1000)) && slices.Equal(order[:len(points)], keys(newBlocks(points, 1, seed+2), 1000)) {
			t.Fatal("three seeds give the same order")
		}
	})
}

// TestMoreBlocksBeginAlike: an experiment that is repeated with more blocks goes on
// where the shorter one ended.
func TestMoreBlocksBeginAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points, _ := drawnFactors(t).points()
		few, more := newBlocks(points, 2, 7), newBlocks(points, 5, 7)
		if short := keys(few, 1000); !slices.Equal(short, keys(more, len(short))) {
			t.Fatal("the order depends on how many blocks there are to be")
		}
	})
}

// TestPresentIsAdded where no combination is that, and only there.
func TestPresentIsAdded(t *testing.T) {
	for text, want := range map[string]int{
		"buffers: [64KiB, 128KiB]":                                  3,
		"buffers: [present, 64KiB]":                                 2,
		"connections: [1, 10]":                                      2, // one is what a transfer has
		"connections: [2, 10]":                                      3,
		"connections: 10":                                           1, // which is not varied
		"buffers: [64KiB]\n  path.rate: 100mbit":                    1,
		"buffers: [64KiB, 128KiB]\n  path.rate: 100mbit":            3,
		"buffers: [64KiB, 128KiB]\n  connections: [1, 10]":          5,
		"buffers: [present, 64KiB]\n  connections: [10, 1]":         4,
		"write_size: [128KiB, 1KiB]":                                2,
		"direction: [reverse, forward]\n  congestion: [reno]":       2,
		"cpus: {from: 1, to: all, step: x2}":                        5, // of 8 CPUs, and unpinned
		"cpus: [3, all]\n  connections: {from: 1, to: 3, step: +1}": 7,
	} {
		spec, err := Parse("x.yaml", []byte("name: x\nfactors:\n  "+text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		factors, err := spec.Factors.with(8)
		if err != nil {
			t.Fatal(err)
		}
		if points, _ := factors.points(); len(points) != want {
			t.Errorf("%s: %d points, want %d: %v", text, len(points), want, points)
		}
	}
}

// TestRange: the values of a range; "all" CPUs are among them also where no step leads
// there.
func TestRange(t *testing.T) {
	for text, want := range map[string]string{
		"cpus: {from: 1, to: all, step: x2}":                      "1 2 4 6",
		"cpus: {from: 2, to: all, step: +2}":                      "2 4 6",
		"connections: {from: 1, to: 3, step: x1.5}":               "1 2", // rounded, and none twice; 3.375 is beyond
		"buffers: {from: 1KiB, to: 4KiB, step: x2}":               "1 KiB 2 KiB 4 KiB",
		"buffers: {from: 1KiB, to: 4KiB, step: +1.5KiB}":          "1 KiB 2560 B 4 KiB",
		"path.rtt: {from: 0ms, to: 3ms, step: +1500us}":           "0 ms 1.5 ms 3 ms",
		"path.loss: {from: 0.01%, to: 1%, step: x10}":             "0.01 % 0.1 % 1 %",
		"path.rate: {from: 1mbit, to: 1mbit, step: x10}":          "1 Mb/s",
		"near.net.core.somaxconn: {from: 128, to: 512, step: x2}": "128 256 512",
	} {
		spec, err := Parse("x.yaml", []byte("name: x\nfactors: {"+text+"}"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		factors, err := spec.Factors.with(6)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range factors[0].Values {
			got = append(got, v.Text(factors[0].Kind()))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
	for _, text := range []string{"buffers: {from: 0KiB, to: 1, step: x2}", "connections: {from: 0, to: 2, step: +1}", "path.delay: {from: 0s, to: 1s, step: x2}", "mss: {from: 88, to: 1460, step: x1.001}",
		"mss: {from: 88, to: 1460, step: x2000000}", "mss: {from: 88, to: 1460, step: +0}", "mss: {from: 88, to: present, step: x2}", "mss: {from: all, to: 1460}", "connections: {from: 1, to: all, step: x2}", "buffers: {from: 1KiB, to: 2KiB, step: x}"} {
		if _, err := Parse("x.yaml", []byte("name: x\nfactors: {"+text+"}")); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
}

// TestInterval: a short transfer is looked at more often, a long one as all are.
func TestInterval(t *testing.T) {
	points, _ := parse(t, "factors: {connections: [1, 2]}").Factors.points()
	for duration, want := range map[time.Duration]time.Duration{100 * time.Millisecond: 10 * time.Millisecond, time.Second: 50 * time.Millisecond, 2 * time.Second: 0, time.Minute: 0} {
		if got := points[0].Spec(Measure{Duration: duration}).Interval; got != want {
			t.Errorf("%v: every %v, want %v", duration, got, want)
		}
	}
}

// TestCost: points times blocks times what each transfer takes.
func TestCost(t *testing.T) {
	spec, err := Parse("x.yaml", []byte("name: x\nfactors: {buffers: [64KiB, 128KiB, present]}\nblocks: 4\nmeasure: {duration: 2s, omit: 600ms}"))
	if err != nil {
		t.Fatal(err)
	}
	points, _ := spec.Factors.points()
	got := spec.cost(spec.Factors, len(points), len(points)*spec.Blocks, 1e9)
	want := Cost{Points: 3, Transfers: 12, Time: 36 * time.Second, Bytes: 3_900_000_000, Rate: 1e9}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	lab := parse(t, "factors: {path.rtt: [1ms, 2ms]}\nmeasure: {duration: 2s, omit: 600ms}\n")
	if got := lab.cost(lab.Factors, 2, 10, 0); got.Time != 40*time.Second { // each may be another lab
		t.Errorf("%v with paths that are built", got.Time)
	}
	fixed := parse(t, "factors: {path.rtt: [1ms], connections: [1, 2]}\nmeasure: {duration: 2s, omit: 600ms}\n")
	if got := fixed.cost(fixed.Factors, 2, 10, 0); got.Time != 30*time.Second {
		t.Errorf("%v with one path", got.Time)
	}
	if text := got.String(); text != "3 points, 12 transfers, 36s, up to 3.9 GB" {
		t.Error(text)
	}
}
