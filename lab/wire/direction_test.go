package wire

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml/parser"

	"github.com/fullbore/fullbore/lab/schema"
	"github.com/fullbore/fullbore/unit"
)

// with sets one key of a direction, as a scenario would.
func (d Direction) with(t *testing.T, key, value string) Direction {
	t.Helper()
	file, err := parser.ParseBytes([]byte(key+": "+value), 0)
	if err != nil {
		t.Fatal(err)
	}
	if wrong := schema.Decode(file.Docs[0].Body, &d); wrong != nil {
		t.Fatal(wrong)
	}
	return d
}

// train is what comes out of a lane for 40 s of traffic: a SYN, then every 80 ms
// three super-packets of 40 segments of 1500 bytes.
func train(t *testing.T, d Direction) (out []arrival, stats DirectionStats) {
	t.Helper()
	l := newLane(d, d.Delay, 1500)
	admit := func(buf []byte, now time.Duration) {
		p := new(packet)
		if err := p.parse(buf); err != nil {
			t.Fatal(err)
		}
		l.admit(p, int64(now))
	}
	admit(superPacket{version: 4, flags: flagSYN, options: []byte{2, 4, 5, 180, 4, 2, 1, 3, 3, 7, 1, 1}}.build(), 0)
	full := superPacket{version: 4, payload: make([]byte, 40*1460), mss: 1460, ecn: 2}.build()
	for i := range 500 {
		for range 3 {
			admit(full, time.Duration(i)*80*time.Millisecond)
		}
	}
	for way := l.next(); way != nil; way = l.next() {
		c := *way.at(0)
		way.pop()
		out = append(out, arrival{due: c.due, id: c.first, ce: c.ce, spoilt: c.spoilt})
		l.delivered(&c, c.due, false)
	}
	return out, l.stats()
}

// TestEveryKeyActs takes the example of every key of a direction: a lane with it
// does other things to the same packets than without, and of an impairment it is
// told what it did.
func TestEveryKeyActs(t *testing.T) {
	impairments := 0
	for key, field := range schema.Keys(reflect.TypeFor[Direction]()) {
		base := Direction{Rate: 15 * unit.Mbps, Delay: 20 * time.Millisecond} // on which only the queue drops
		if key == "seed" {
			base.Loss.Share = 0.1
		}
		before, without := train(t, base)
		d := base.with(t, key, field.Tag.Get("example"))
		if faults := d.Faults(2*d.Delay, 1500); faults != nil {
			t.Errorf("%s: the example is refused: %v", key, faults)
		}
		after, stats := train(t, d)
		if slices.Equal(before, after) && stats == without {
			t.Errorf("%s: the lane does the same with and without", key)
		}
		for name, impairment := range d.Impairments() {
			if name != key {
				continue
			}
			impairments++
			if impairment.Says() == "" {
				t.Errorf("%s is not drawn", key)
			}
			if own := slices.ContainsFunc(stats.Events(), func(event string) bool {
				_, what, _ := strings.Cut(event, " ")
				return !strings.Contains(strings.Join(without.Events(), "\n"), what)
			}); !own {
				t.Errorf("%s: nothing is told of it: %q happens without it, %q with it", key, without.Events(), stats.Events())
			}
		}
	}
	if impairments < 10 {
		t.Errorf("only %d impairments were tried", impairments)
	}
}

// TestFaultsNameTheKey holds directions that programs make to the same ranges as
// those of a file.
func TestFaultsNameTheKey(t *testing.T) {
	for _, tt := range []struct {
		want string // part of the only fault; "": none
		d    Direction
	}{
		{"", Direction{}},
		{"", Direction{Rate: unit.Gbps, Delay: time.Second, Queue: Queue{Packets: 1}, MSSClamp: 1200, Strip: Strip{"sack", "wscale"}}},
		{"", Direction{Delay: time.Millisecond, Jitter: time.Millisecond}},
		{"", Direction{Rate: 8 * unit.Mbps, Queue: Queue{Bytes: 1500}}},
		{"", Direction{Rate: 8 * unit.Mbps, Queue: Queue{Time: 1500 * time.Microsecond}}},
		{"", Direction{Policer: Policer{Rate: unit.Mbps, Burst: 1500}}},
		{"", Direction{Outage: Outage{Every: 2 * time.Millisecond, For: time.Millisecond}}},
		{"", Direction{Queue: Queue{Time: maxQueueTime}}},
		{"", Direction{Queue: Queue{BDP: maxQueueBDP}}},
		{"rate: rate -1 b/s is not within 1kbit and 10000gbit", Direction{Rate: -1}},
		{"rate: rate unknown", Direction{Rate: unit.Rate(math.NaN())}},
		{"rate: rate 999 b/s", Direction{Rate: 999}},
		{"loss.loss: loss.loss 110% is not within 0% and 100%", Direction{Loss: Loss{Share: 1.1}}},
		{"corrupt: corrupt NaN", Direction{Corrupt: Corrupt(math.NaN())}},
		{"duplicate: duplicate -0.01", Direction{Duplicate: -0.01}},
		{`loss: loss model "markov" is unknown`, Direction{Loss: Loss{Model: "markov", P: 0.1, R: 0.1, Share: 1}}},
		{`loss: loss model "" is unknown`, Direction{Loss: Loss{P: 0.1, Share: 1}}},
		{`loss: loss model "" is unknown`, Direction{Loss: Loss{R: 0.1, Share: 1}}},
		{"loss: the gilbert model needs p and r", Direction{Loss: Loss{Model: "gilbert", P: 0.1, Share: 1}}},
		{"loss: the gilbert model needs p and r", Direction{Loss: Loss{Model: "gilbert", R: 0.1, Share: 1}}},
		{"delay: delay -1s is not within 0s and 10s", Direction{Delay: -time.Second}},
		{"delay: delay 10.000000001s is not within", Direction{Delay: 10*time.Second + 1}},
		{"jitter: jitter 2ms is above the delay", Direction{Delay: time.Millisecond, Jitter: 2 * time.Millisecond}},
		{"reorder: reorder needs both", Direction{Reorder: Reorder{Share: 0.1}}},
		{"reorder: reorder needs both", Direction{Reorder: Reorder{By: time.Millisecond}}},
		{"policer: policer needs both", Direction{Policer: Policer{Rate: unit.Mbps}}},
		{"policer: policer needs both", Direction{Policer: Policer{Burst: unit.MiB}}},
		{"policer: policer burst 1499 is below the MTU 1500", Direction{Policer: Policer{Rate: unit.Mbps, Burst: 1499}}},
		{"outage: outage needs both", Direction{Outage: Outage{Every: time.Second}}},
		{"outage: outage needs both", Direction{Outage: Outage{For: time.Second}}},
		{"outage: outage for 1s every 1s never ends", Direction{Outage: Outage{Every: time.Second, For: time.Second}}},
		{"outage.every: outage.every 24h0m0.000000001s is not within 1ms and 24h", Direction{Outage: Outage{Every: 24*time.Hour + 1, For: time.Second}}},
		{"queue: queue of 1499 bytes is below the MTU 1500", Direction{Rate: unit.Mbps, Queue: Queue{Bytes: 1499}}},
		{"queue: queue of 1000 bytes is below the MTU 1500", Direction{Rate: 8 * unit.Mbps, Queue: Queue{Time: time.Millisecond}}},
		{"queue: queue of 1000 bytes is below the MTU 1500", Direction{Rate: 8 * unit.Mbps, Queue: Queue{Bytes: 1000, Packets: 10}}},
		{"queue: queue: its length is negative", Direction{Queue: Queue{Packets: -1}}},
		{"queue: queue: its length is negative", Direction{Queue: Queue{Bytes: -1}}},
		{"queue: queue: its length is negative", Direction{Queue: Queue{Time: -1}}},
		{"queue: queue: its length is negative", Direction{Queue: Queue{BDP: -1}}},
		{"queue: queue: it is more than 1000", Direction{Queue: Queue{BDP: math.NaN()}}},
		{"queue: queue: its time is above 10s", Direction{Queue: Queue{Time: maxQueueTime + 1}}},
		{"ecn: ecn needs a rate", Direction{ECN: ECN{Queue{Packets: 5}}}},
		{"ecn: ecn above: its length is negative", Direction{Rate: unit.Mbps, ECN: ECN{Queue{Packets: -5}}}},
		{"mss_clamp: mss_clamp 87 is not within 88 and 65535", Direction{MSSClamp: 87}},
		{"mss_clamp: mss_clamp 65536", Direction{MSSClamp: 65536}},
		{"black_hole_above: black_hole_above 67", Direction{BlackHoleAbove: 67}},
		{`strip[0]: strip[0] "mss" is not one of wscale, sack, timestamps`, Direction{Strip: Strip{"mss"}}},
	} {
		var got []string
		for _, fault := range tt.d.Faults(2*tt.d.Delay, 1500) {
			got = append(got, fault.Key+": "+fault.Err.Error())
		}
		if tt.want == "" && got != nil || tt.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], tt.want)) {
			t.Errorf("%+v: got %q, want %q", tt.d, got, tt.want)
		}
	}
}
