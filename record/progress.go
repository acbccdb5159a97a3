package record

import (
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// Progress is how far the transfer is that runs now, as the end sees it where the
// command runs. It is for those who watch; stores do not keep it.
type Progress struct {
	At       time.Duration `json:"at_ns"`              // since the run started
	Transfer time.Duration `json:"transfer_ns"`        // since the transfer began
	Omitting bool          `json:"omitting,omitempty"` // no stream has passed Spec.Omit yet
	Sends    unit.Rate     `json:"sends_bps"`          // since the look before: what the far end acknowledged
	Receives unit.Rate     `json:"receives_bps"`       // since the look before: what the application here read
	Count    int           `json:"count"`              // of streams
	Streams  []StreamNow   `json:"streams,omitempty"`  // none where there are more than MostStreams
}

// StreamNow is one stream at one instant. What the system does not tell is 0.
type StreamNow struct {
	ID            int           `json:"id"`
	Sender        bool          `json:"sender,omitempty"`               // this end sends
	Rate          unit.Rate     `json:"bps"`                            // as Sends and Receives
	RTT           time.Duration `json:"rtt_ns,omitempty"`               // smoothed by the kernel
	Cwnd          int64         `json:"cwnd_bytes,omitempty"`           // of a sender
	SendWindow    int64         `json:"send_window_bytes,omitempty"`    // that the far end advertises
	ReceiveWindow int64         `json:"receive_window_bytes,omitempty"` // that this end advertises
	InFlight      int64         `json:"in_flight_bytes,omitempty"`      // of a sender
	Retransmits   int64         `json:"retransmits,omitempty"`          // segments that a sender sent again so far
}

// MostStreams bounds what a Progress tells of each stream: some 20 KB of JSON.
const MostStreams = 128

// lookEvery is the least time between two of a transfer: eyes follow four a second.
const lookEvery = 240 * time.Millisecond // a little less, as the engine's looks come every 100 ms

// watching makes each Progress of a run out of what the engine tells.
type watching struct {
	seen  time.Duration // of the transfer, when the engine told last
	at    time.Duration // of the transfer, at the latest Progress; 0: there is none yet
	bytes map[int]int64 // of each stream then
}

// look gives the next one; false: it is too early.
func (w *watching) look(p bulk.Progress, since time.Duration) (Progress, bool) {
	if p.At <= w.seen { // the next transfer has begun
		*w = watching{}
	}
	w.seen = p.At
	if w.at > 0 && p.At-w.at < lookEvery {
		return Progress{}, false
	}
	now := Progress{At: since, Transfer: p.At, Omitting: p.Omitting, Count: len(p.Streams)}
	bytes := make(map[int]int64, len(p.Streams))
	for i := range p.Streams {
		s := streamNow(&p.Streams[i])
		key, moved := 2*s.ID, moved(&p.Streams[i])
		if s.Sender {
			key++
		}
		bytes[key] = moved
		s.Rate = unit.RateOf(max(0, moved-w.bytes[key]), p.At-w.at)
		if s.Sender {
			now.Sends += s.Rate
		} else {
			now.Receives += s.Rate
		}
		if len(p.Streams) <= MostStreams {
			now.Streams = append(now.Streams, s)
		}
	}
	w.at, w.bytes = p.At, bytes
	return now, true
}

// moved are the bytes of a stream so far: those that were acknowledged, where the
// kernel tells, else those that the application wrote or read.
func moved(s *bulk.Look) int64 {
	if s.Sender && s.TCP.HasBytesAcked() {
		return int64(s.TCP.BytesAcked)
	}
	return s.Bytes
}

func streamNow(s *bulk.Look) StreamNow {
	t := &s.TCP
	now := StreamNow{ID: s.ID, Sender: s.Sender, RTT: time.Duration(t.RTT) * time.Microsecond, SendWindow: int64(t.SndWnd), ReceiveWindow: int64(t.RcvWnd)}
	if s.Sender {
		now.Cwnd, now.InFlight, now.Retransmits = int64(t.SndCwnd)*int64(t.SndMSS), t.Inflight(), int64(t.TotalRetrans)
	}
	return now
}
