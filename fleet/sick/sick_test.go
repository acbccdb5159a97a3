package sick

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fullbore/fullbore/fleet/pattern"
)

// world is a mesh with what is planted in it.
type world struct {
	hosts    int
	scatter  float64 // of the logarithm of each measurement
	host     int     // the sick one, -1: none
	ways     Ways
	carries  float64 // share of what others do
	link     *pattern.Flow
	linkHas  float64
	astray   float64 // share of measurements that came to less by something else
	measured *rand.Rand
}

func (w *world) measure(f pattern.Flow) float64 {
	v := 940e6 * math.Exp(w.scatter*w.measured.NormFloat64())
	if f.From == w.host && w.ways != Receives || f.To == w.host && w.ways != Sends {
		v *= w.carries
	}
	if w.link != nil && f == *w.link {
		v *= w.linkHas
	}
	if w.measured.Float64() < w.astray {
		v *= 0.3 + 0.5*w.measured.Float64()
	}
	return v
}

func (w *world) mesh() Matrix {
	m := NewMatrix(w.hosts)
	for i := range m {
		for j := range m {
			if i != j {
				m[i][j] = w.measure(pattern.Flow{From: i, To: j})
			}
		}
	}
	return m
}

// found measures, measures again what is suspect, twice, and says what is still so.
func (w *world) found() Found {
	m := w.mesh()
	f := Find(m)
	for range 2 {
		for _, flow := range f.Suspects(w.hosts) {
			m[flow.From][flow.To] = w.measure(flow)
		}
		f = Find(m)
	}
	return f
}

// TestDrawnMeshes: of drawn meshes with a sick host and a sick link, or without, nearly all are named
// rightly, and nobody else is accused; also where one measurement in fifty goes astray.
func TestDrawnMeshes(t *testing.T) {
	const worlds = 400
	right, missed, accused := 0, 0, 0
	for seed := range uint64(worlds) {
		r := rand.New(rand.NewPCG(seed, 12))
		w := &world{hosts: 6 + r.IntN(20), scatter: 0.002 + 0.02*r.Float64(), host: -1, astray: 0.02, measured: r}
		if r.IntN(4) > 0 {
			w.host, w.ways, w.carries = r.IntN(w.hosts), []Ways{Sends, Receives, Both}[r.IntN(3)], 0.1+0.6*r.Float64()
		}
		if r.IntN(4) > 0 {
			for w.link == nil || w.link.From == w.link.To || w.link.From == w.host || w.link.To == w.host {
				w.link = &pattern.Flow{From: r.IntN(w.hosts), To: r.IntN(w.hosts)}
			}
			w.linkHas = 0.1 + 0.6*r.Float64()
		}
		f := w.found()
		whole := true
		for _, h := range f.Hosts {
			if h.Host != w.host || h.Ways != w.ways {
				t.Logf("%+v: %+v", w, h)
				accused++
				whole = false
			}
		}
		for _, l := range f.Links {
			if w.link == nil || l.Flow != *w.link {
				t.Logf("%+v: %+v", w, l)
				accused++
				whole = false
			}
		}
		if w.host >= 0 && len(f.Hosts) == 0 || w.link != nil && len(f.Links) == 0 {
			missed++
			whole = false
		}
		if whole {
			right++
		}
	}
	t.Logf("%d of %d meshes named rightly, %d with something missed, %d accused in vain", right, worlds, missed, accused)
	if right < worlds*97/100 {
		t.Errorf("%d of %d meshes were named rightly", right, worlds)
	}
}

// TestFind: what is planted in a small mesh, without any scatter.
func TestFind(t *testing.T) {
	plain := func() Matrix { return (&world{hosts: 4, host: -1, measured: rand.New(rand.NewPCG(1, 1))}).mesh() }
	if f := Find(plain()); len(f.Hosts)+len(f.Links) > 0 {
		t.Errorf("a sound mesh: %+v", f)
	}
	m := plain()
	m[0][3] *= 0.94 // nobody would mind
	if f := Find(m); len(f.Hosts)+len(f.Links) > 0 {
		t.Errorf("six percent: %+v", f)
	}
	m[0][3] *= 0.5
	if f := Find(m); len(f.Hosts) > 0 || len(f.Links) != 1 || f.Links[0].Flow != (pattern.Flow{From: 0, To: 3}) || f.Links[0].Usual < 900e6 {
		t.Errorf("a link: %+v", f)
	}
	for _, unmeasured := range []Matrix{nil, NewMatrix(3), NewMatrix(9)} {
		if f := Find(unmeasured); len(f.Hosts)+len(f.Links) > 0 {
			t.Errorf("nothing was measured: %+v", f)
		}
	}
	f := Found{Hosts: []Host{{Host: 1, Ways: Receives}}, Links: []Link{{Flow: pattern.Flow{From: 0, To: 1}}, {Flow: pattern.Flow{From: 2, To: 0}}}}
	if got := f.Suspects(3); len(got) != 3 {
		t.Errorf("to be measured again: %v", got)
	}
}
