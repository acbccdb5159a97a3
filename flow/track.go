package flow

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/unit"
)

// track is what is known of one flow from look to look. What a look needs of a
// flow at rest stands first, close together: with 10,000 of them, reading memory
// is what costs.
type track struct {
	id      sockID
	before  totals // at the last look
	look    uint64 // the number of the last look that saw it
	changed uint64 // and of the last at which flow changed
	moved   uint64 // bytes in the larger direction at the last look
	place   int    // among the flows that the last look met
	inode   uint32
	family  uint8
	state   uint8
	resting bool // nothing moved at the last look, and nothing waited
	asked   bool // its process was looked for
	hidden  bool // and is not to be seen

	passedOver bool // at the last look others were examined instead

	flow    Flow
	history []bulk.Sample
	losses  diagnose.Losses
	halved  time.Duration // when the losses last were
	widest  uint32        // the largest window that the peer offered while it was watched
}

// totals are counters as they stood at the last look; other samples were taken
// since.
type totals struct{ acked, received, sent, resent uint64 }

func (t *totals) of(s *bulk.TCPInfo) {
	*t = totals{s.BytesAcked, s.BytesReceived, s.BytesSent, s.BytesRetrans}
}

// memory is how long a loss counts in full. Rates of loss that matter on a long path
// are far too small for a few seconds, so the counts go back further than the
// history.
const memory = 30 * time.Second

// maxHistory bounds the samples that a flow keeps, far above what a view needs.
const maxHistory = 256

// newTrack begins with a flow's first message.
func newTrack(m *message, at time.Duration) *track {
	t := &track{family: m.family, id: m.id, history: make([]bulk.Sample, 1)}
	f := &t.flow
	f.ID = strconv.FormatUint(m.id.cookie(), 16)
	f.Local, f.Remote = m.id.ends(m.family)
	s := &t.history[0]
	s.At = at
	m.sample(s)
	t.halved = at
	t.note(m)
	f.Sends = s.TCP.BytesAcked >= s.TCP.BytesReceived
	t.describe(s)
	t.before.of(&s.TCP)
	t.widest = s.TCP.SndWnd
	f.Idle = !waits(s) && !recent(s)
	return t
}

// recent says whether data moved in the second before a flow was first seen.
func recent(s *bulk.Sample) bool {
	const second = 1000
	return s.TCP.BytesAcked > 1 && s.TCP.LastDataSent < second || s.TCP.BytesReceived > 0 && s.TCP.LastDataRecv < second
}

// same says whether a message is about this very connection. Cookies of old
// kernels are addresses in memory, which are used again.
func (t *track) same(m *message) bool {
	acked, received, _ := m.moved()
	return t.id == m.id && t.family == m.family && acked >= t.before.acked && received >= t.before.received
}

func (t *track) last() *bulk.Sample { return &t.history[len(t.history)-1] }

// rests says whether a flow at rest still is: nothing moved since the last look,
// nothing waits on either side, and it is where and whose it was.
func (t *track) rests(m *message) bool {
	acked, received, sent := m.moved()
	return t.resting && m.unread == 0 && m.unsent == 0 && m.state == t.state && m.inode == t.inode &&
		acked == t.before.acked && received == t.before.received && sent == t.before.sent
}

// observe takes what a look sees of the flow, since the look before.
func (t *track) observe(m *message, at, over time.Duration) {
	t.note(m)
	if t.passedOver {
		t.forget() // thousands of histories would fill the memory
	}
	t.add(m, at)
	now := t.last()
	acked, received := now.TCP.BytesAcked-t.before.acked, now.TCP.BytesReceived-t.before.received
	f := &t.flow
	if acked != received {
		f.Sends = acked > received
	}
	t.moved = max(acked, received)
	f.Goodput = unit.RateOf(int64(min(t.moved, math.MaxInt64)), over)
	f.Lost = min(1, ratio(float64(now.TCP.BytesRetrans-t.before.resent), float64(now.TCP.BytesSent-t.before.sent)))
	t.before.of(&now.TCP)
	t.describe(now)
	rested := f.Idle
	f.Idle = !waits(now) && t.moved < initialWindow(uint64(max(now.TCP.SndMSS, now.TCP.RcvMSS)))
	t.resting = f.Idle && t.moved == 0 && m.unread == 0 && m.unsent == 0
	if f.Idle || rested {
		// The limit is judged by the time in which it has data to send, which begins now.
		t.forget()
	}
}

// note takes what may change without data moving.
func (t *track) note(m *message) {
	if t.inode != m.inode {
		t.inode, t.asked, t.hidden = m.inode, false, false
		if m.inode == 0 { // the program is gone, the kernel sends what is left
			t.flow.PID, t.flow.Process, t.asked = 0, "", true
		}
	}
	t.state, t.flow.State = m.state, stateName(m.state)
	if string(m.congestion) != t.flow.Congestion {
		t.flow.Congestion = name(m.congestion)
	}
}

// add appends a sample.
func (t *track) add(m *message, at time.Duration) {
	if len(t.history) >= maxHistory {
		t.history = slices.Delete(t.history, 0, maxHistory/2)
	}
	t.history = append(t.history, bulk.Sample{At: at})
	s := t.last()
	m.sample(s)
	if at-t.halved > memory {
		t.losses.Halve()
		t.halved = at
	}
	t.losses.Add(&t.history[len(t.history)-2], s)
	t.widest = max(t.widest, s.TCP.SndWnd)
}

// forget keeps only the newest sample.
func (t *track) forget() { t.history = append(t.history[:0], *t.last()) }

// trim drops samples that are older than span, except one to count from, and
// two more however old they are: looks may be further apart than span.
func (t *track) trim(span time.Duration) {
	from := t.last().At - span
	old := 0
	for old+1 < len(t.history)-2 && t.history[old+1].At <= from {
		old++
	}
	t.history = slices.Delete(t.history, 0, old)
}

// describe copies the figures that are shown.
func (t *track) describe(s *bulk.Sample) {
	f := &t.flow
	f.Bytes = s.TCP.BytesReceived
	f.RTT, f.MinRTT = micros(s.TCP.RTT), 0
	if f.Sends {
		f.Bytes = s.TCP.BytesAcked
	} else if s.TCP.RcvRTT > 0 {
		f.RTT = micros(s.TCP.RcvRTT)
	}
	if s.TCP.MinRTT != math.MaxUint32 { // the kernel has none yet
		f.MinRTT = min(micros(s.TCP.MinRTT), f.RTT) // a receiver's own estimate may be lower
	}
}

// initialWindow is what a connection may send without waiting for anything, in
// bytes (RFC 6928, section 2): no flow that moves less is limited by TCP.
func initialWindow(mss uint64) uint64 { return min(10*mss, max(2*mss, 14600)) }

// waits says whether data waits to be sent, or more to be read than the window
// has room for: such a flow is held up, however little moves.
func waits(s *bulk.Sample) bool {
	return s.TCP.NotsentBytes > 0 || s.Unread > max(int(s.TCP.RcvWnd), s.Mem.RecvBuf/4)
}

func micros(us uint32) time.Duration { return time.Duration(us) * time.Microsecond }

// ratio is a/b, and 0 when there is no b.
func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

// name makes a string of a name that the kernel gave. There are few of them, and
// thousands of flows have the same.
func name(raw []byte) string {
	for _, known := range []string{"cubic", "bbr", "reno", "dctcp"} {
		if string(raw) == known {
			return known
		}
	}
	return printable.Line(string(raw))
}
