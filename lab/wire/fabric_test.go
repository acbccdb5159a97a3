package wire

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/unit"
)

// through drives a packet of segments of 1000 bytes through links in a row, and gives when they
// arrive and what became of the links.
func through(f *Fabric, segments int) (due []int64, lanes []*lane) {
	lanes = f.lanes(1500)
	p := new(packet)
	if err := p.parse(superPacket{version: 4, payload: make([]byte, segments*960), mss: 960}.build()); err != nil {
		panic(err)
	}
	lanes[0].admit(p, 0)
	for i, l := range lanes {
		for way := l.next(); way != nil; way = l.next() {
			c := *way.at(0)
			way.pop()
			if i+1 < len(lanes) {
				l.passed(&c)
				lanes[i+1].take(c)
				continue
			}
			for range c.n {
				due = append(due, c.due)
			}
			l.delivered(&c, c.due, false)
		}
	}
	return due, lanes
}

// Segments pass links one behind the other as store-and-forward has it: the last arrives when the
// slowest link has sent all of them, and each other link one.
func TestLinksInARow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, segments := &Fabric{}, rapid.IntRange(1, 60).Draw(t, "segments")
		want, slowest := 0.0, 0.0
		for i := range rapid.IntRange(1, 5).Draw(t, "links") {
			d := Direction{Rate: unit.Rate(rapid.Float64Range(1e6, 1e11).Draw(t, "rate")), Delay: time.Duration(rapid.IntRange(0, 1e8).Draw(t, "delay")), Queue: Queue{Bytes: unit.GiB}}
			f.Links = append(f.Links, Link{Name: fmt.Sprint(i), Direction: d})
			each := 8000e9 / float64(d.Rate)
			want, slowest = want+float64(d.Delay)+each, max(slowest, each)
		}
		want += float64(segments-1) * slowest
		due, lanes := through(f, segments)
		if len(due) != segments {
			t.Fatalf("%d of %d segments arrived", len(due), segments)
		}
		if last := float64(due[segments-1]); math.Abs(last-want) > 20 {
			t.Errorf("the last arrives at %.0f ns, want %.0f", last, want)
		}
		for i, l := range lanes {
			if c := l.count.read(); c.SegmentsIn != uint64(segments) || c.SegmentsOut != uint64(segments) || c.BytesIn != c.BytesOut || c.Waiting != 0 {
				t.Errorf("link %d: %+v", i, c)
			}
		}
	})
}

// What happened to a segment on one link is still so behind the next.
func TestLinksKeepMarks(t *testing.T) {
	marks := Direction{Rate: unit.Gbps, ECN: ECN{Above: Queue{Packets: 3}}}
	spoils := Direction{Rate: unit.Gbps, Corrupt: 1}
	f := &Fabric{Links: []Link{{Name: "marks", Direction: marks}, {Name: "spoils", Direction: spoils}, {Name: "carries", Direction: Direction{Rate: unit.Gbps}}}}
	lanes := f.lanes(1500)
	p := new(packet)
	if err := p.parse(superPacket{version: 4, payload: make([]byte, 9600), mss: 960, ecn: 2}.build()); err != nil {
		t.Fatal(err)
	}
	lanes[0].admit(p, 0)
	marked, spoilt := 0, 0
	for i, l := range lanes {
		for way := l.next(); way != nil; way = l.next() {
			c := *way.at(0)
			way.pop()
			if i < 2 {
				lanes[i+1].take(c)
				continue
			}
			if c.ce {
				marked += c.n
			}
			if c.spoilt {
				spoilt += c.n
			}
		}
	}
	if marked != 6 || spoilt != 10 || lanes[2].count.Corrupted.Load() != 0 {
		t.Errorf("%d of 10 are marked, want 6; %d are spoilt, want all", marked, spoilt)
	}
}

// A port may take all of the memory that it shares, and then there is none for others.
func TestSharedBuffer(t *testing.T) {
	port := Direction{Rate: unit.Gbps}
	limited := port
	limited.Queue = Queue{Packets: 5}
	f := &Fabric{Buffers: []unit.Size{20_000}, Links: []Link{{Name: "crowded", Direction: port, Buffer: 1}, {Name: "other", Direction: port, Buffer: 1}, {Name: "limited", Direction: limited, Buffer: 1}, {Name: "apart", Direction: port}}}
	lanes := f.lanes(1500)
	send := func(link, segments int, at time.Duration) (dropped uint64) {
		p := new(packet)
		if err := p.parse(superPacket{version: 4, payload: make([]byte, segments*960), mss: 960}.build()); err != nil {
			t.Fatal(err)
		}
		before := lanes[link].count.Drops.Queue.Load()
		lanes[link].admit(p, int64(at))
		return lanes[link].count.Drops.Queue.Load() - before
	}
	for _, step := range []struct {
		link, segments int
		at             time.Duration
		drops          uint64
	}{
		{2, 10, 0, 5},                       // its own limit
		{0, 30, 0, 15},                      // all that is left
		{1, 1, 0, 1},                        // which was the last
		{3, 30, 0, 0},                       // has a queue of its own
		{1, 1, 8 * time.Microsecond, 0},     // one has gone
		{1, 30, 120 * time.Microsecond, 10}, // the crowded port has drained all its 15, and what was behind them
	} {
		if got := send(step.link, step.segments, step.at); got != step.drops {
			t.Errorf("%d segments to %s at %v: %d dropped, want %d", step.segments, f.Links[step.link].Name, step.at, got, step.drops)
		}
	}
}

func TestFabricChecks(t *testing.T) {
	whole := func() *Fabric {
		return &Fabric{
			Links:   []Link{{Name: "ab", Direction: Direction{Rate: unit.Gbps}}},
			Buffers: []unit.Size{unit.MiB},
			Devices: []Device{{Name: "a"}, {Name: "b"}},
			Routes:  [][][]int{{nil, {0}}, {{0}, nil}},
		}
	}
	if err := whole().check(1500); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Fabric){
		"link ab: there is no buffer 2":            func(f *Fabric) { f.Links[0].Buffer = 2 },
		"link ab: jitter":                          func(f *Fabric) { f.Links[0].Jitter = time.Second },
		"a buffer of 100 bytes is below the MTU":   func(f *Fabric) { f.Buffers[0] = 100 },
		"routes are not those between all devices": func(f *Fabric) { f.Routes[1] = nil },
		"over link 1, which there is not":          func(f *Fabric) { f.Routes[0][1] = []int{1} },
		"over 17 links: at most 16 are possible":   func(f *Fabric) { f.Routes[0][1] = make([]int, 17) },
	} {
		f := whole()
		spoil(f)
		if err := f.check(1500); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestDestination(t *testing.T) {
	for _, version := range []byte{4, 6} {
		ip := superPacket{version: version, payload: []byte("x")}.build()[vnetLen:]
		want := map[byte]string{4: "198.18.0.2", 6: "fd00::2"}[version]
		if got := destination(ip); version == 4 && got != netip.MustParseAddr(want) || !got.IsValid() {
			t.Errorf("version %d: %v, want %s", version, got, want)
		}
		if got := destination(ip[:10]); got.IsValid() {
			t.Errorf("of ten bytes: %v", got)
		}
	}
}
