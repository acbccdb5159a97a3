package flow

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"
)

var native = binary.NativeEndian

func addressWithPort(port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr("198.18.0.2"), port)
}

// counters sets some of a message's counters.
func counters(m *message, acked, received, sent uint64, segments uint32) {
	native.PutUint64(m.info[120:], acked)
	native.PutUint64(m.info[128:], received)
	native.PutUint64(m.info[200:], sent)
	native.PutUint32(m.info[156:], segments) // data_segs_out
}

func TestTrack(t *testing.T) {
	m := captured(t)
	counters(m, 1_000_000, 500, 1_000_000, 0)
	tr := newTrack(m, 0)
	if f := tr.flow; f.ID != "ff" || f.State != "established" || !f.Sends || f.Goodput != 0 || f.Bytes != 1_000_000 || f.RTT != 22059*time.Microsecond || f.Idle {
		t.Errorf("first seen: %+v", f)
	}
	counters(m, 3_000_000, 500, 3_000_000, 1000)
	tr.observe(m, time.Second, time.Second)
	if f := tr.flow; f.Goodput != 16*mbps || f.Bytes != 3_000_000 || f.Idle {
		t.Errorf("after a second: %+v", f)
	}
	counters(m, 3_000_000, 4_000_500, 3_000_000, 1000)
	tr.observe(m, 2*time.Second, time.Second)
	if f := tr.flow; f.Sends || f.Goodput != 32*mbps || f.Bytes != 4_000_500 {
		t.Errorf("now it receives: %+v", f)
	}
	m.unread, m.unsent = 0, 0
	native.PutUint32(m.info[144:], 0) // notsent
	counters(m, 3_000_000, 4_000_600, 3_000_000, 1000)
	tr.observe(m, 3*time.Second, time.Second)
	if !tr.flow.Idle || len(tr.history) != 1 {
		t.Errorf("100 bytes: %+v", tr.flow)
	}
	if tr.rests(m) {
		t.Error("it is at rest although 100 bytes moved")
	}
	tr.observe(m, 4*time.Second, time.Second)
	if !tr.rests(m) || tr.flow.Goodput != 0 || !tr.flow.Idle {
		t.Errorf("at rest: %+v", tr.flow)
	}
	m.unsent = 1
	if tr.rests(m) {
		t.Error("data waits to be sent")
	}
}

// A sample that was taken between two looks does not hide what moved before it.
func TestMovedBeforeASample(t *testing.T) {
	m := captured(t)
	m.unread, m.unsent = 0, 0
	native.PutUint32(m.info[144:], 0)
	counters(m, 1000, 0, 1000, 0)
	tr := newTrack(m, 0)
	counters(m, 9_001_000, 0, 9_001_000, 6000)
	tr.add(m, 900*time.Millisecond)
	if tr.rests(m) {
		t.Error("the look passes over 9 MB")
	}
	tr.observe(m, time.Second, time.Second)
	if tr.flow.Goodput != 72*mbps {
		t.Errorf("got %v", tr.flow.Goodput)
	}
}

// The cookies of old kernels are used again.
func TestCookieUsedAgain(t *testing.T) {
	m := captured(t)
	counters(m, 1_000_000, 500, 1_000_000, 0)
	tr := newTrack(m, 0)
	if !tr.same(m) {
		t.Error("not itself")
	}
	counters(m, 1000, 500, 1000, 0)
	if tr.same(m) {
		t.Error("a flow that has acknowledged less than before")
	}
	counters(m, 2_000_000, 500, 2_000_000, 0)
	m.id[1]++
	if tr.same(m) {
		t.Error("a flow from another port")
	}
}

// Losses are counted on over what the history forgets, and older ones count less.
func TestLossesAreRemembered(t *testing.T) {
	m := captured(t)
	lose := func(tr *track, at time.Duration, packets uint32) {
		segments := native.Uint32(m.info[156:])
		native.PutUint32(m.info[156:], segments+1000)
		native.PutUint32(m.info[100:], native.Uint32(m.info[100:])+packets) // total_retrans
		tr.add(m, at)
	}
	tr := newTrack(m, 0)
	lose(tr, 10*time.Millisecond, 3)
	lose(tr, memory, 0)
	if l := tr.losses; l.Packets != 3 || l.Events != 1 || l.Segments != 2000 {
		t.Errorf("%+v", l)
	}
	tr.forget()
	lose(tr, memory+1, 0)
	if l := tr.losses; l.Packets != 1.5 || l.Events != 0.5 || l.Segments != 2000 {
		t.Errorf("after a while: %+v", l)
	}
	lose(tr, 2*memory, 1)
	if l := tr.losses; l.Packets != 2.5 || l.Events != 1.5 || l.Segments != 3000 {
		t.Errorf("and again: %+v", l)
	}
}

// A history is bounded however often it is added to, and a view keeps one sample
// to count from.
func TestHistoryIsBounded(t *testing.T) {
	m := captured(t)
	tr := newTrack(m, 0)
	for i := range 10 * maxHistory {
		tr.add(m, time.Duration(i)*ms)
		if len(tr.history) > maxHistory {
			t.Fatalf("%d samples", len(tr.history))
		}
	}
	newest := tr.last().At
	tr.trim(50 * ms)
	if n := len(tr.history); n != 51 || tr.history[0].At != newest-50*ms {
		t.Errorf("%d samples from %v to %v", n, tr.history[0].At, newest)
	}
}

// Who looks once a minute is told something, too.
func TestRareLooks(t *testing.T) {
	m := captured(t)
	counters(m, 0, 0, 0, 0)
	tr := newTrack(m, 0)
	for i := range uint64(4) {
		counters(m, 1e9*(i+1), 0, 1e9*(i+1), 1e6*uint32(i+1))
		tr.observe(m, time.Duration(i+1)*time.Minute, time.Minute)
	}
	f := tr.limit(settings618)
	if elapsed := tr.last().At - tr.history[0].At; f.Says == measuring.Says || elapsed != 2*time.Minute {
		t.Errorf("after %v: %s", elapsed, f.Says)
	}
}
