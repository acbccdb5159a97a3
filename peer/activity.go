package peer

import (
	"sync"

	"github.com/fullbore/fullbore/bulk"
)

// Activity is what a far end is doing, and has done since it began.
type Activity struct {
	Running  int     // tests that have a place, of all protocols
	Finished []Tests // of each protocol that it speaks, in their order
}

// Tests are those that clients asked for by one protocol.
type Tests struct {
	Protocol string // "fullbore", "iperf3" or "ndt7"
	Done     int64  // came to their end
	Failed   int64  // ended early, by either end
	Refused  int64  // never began: no place was free, more was asked for than is allowed, or nobody who may
	Received int64  // bytes that this end's application read
	Sent     int64  // bytes that it wrote
}

// The protocols of tests.
const (
	ofFullbore = iota
	ofIPerf3
	ofNDT7
)

// tally counts tests.
type tally struct {
	mu    sync.Mutex
	tests [3]Tests
}

func newTally() *tally {
	return &tally{tests: [3]Tests{ofFullbore: {Protocol: "fullbore"}, ofIPerf3: {Protocol: "iperf3"}, ofNDT7: {Protocol: "ndt7"}}}
}

// refused counts a test that did not begin.
func (a *tally) refused(protocol int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tests[protocol].Refused++
}

// ended counts a test with what this end moved in it.
func (a *tally) ended(protocol int, streams []bulk.Stream, early bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := &a.tests[protocol]
	if early {
		t.Failed++
	} else {
		t.Done++
	}
	for i := range streams {
		if streams[i].Sender {
			t.Sent += streams[i].Bytes + streams[i].Omitted
		} else {
			t.Received += streams[i].Bytes + streams[i].Omitted
		}
	}
}

// Activity is what the far end is doing, and has done.
func (s *Server) Activity() Activity {
	s.tally.mu.Lock()
	defer s.tally.mu.Unlock()
	return Activity{Running: s.places.running(), Finished: append([]Tests{}, s.tally.tests[:]...)}
}
