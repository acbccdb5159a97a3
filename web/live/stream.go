package live

import (
	"net"
	"net/http"
	"time"
)

// stream writes to one browser.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	times   times
}

// run writes what is new until the browser has gone.
func (s *stream) run(gone <-chan struct{}, r *reader) {
	beat := time.NewTimer(s.times.heartbeat)
	defer beat.Stop()
	for {
		texts, changed := r.next()
		if len(texts) > 0 {
			if s.write(texts) != nil {
				return
			}
			beat.Reset(s.times.heartbeat)
			if changed != closedChannel && !sleep(r.hub.gap(), gone, r.hub.finished) {
				return
			}
			continue
		}
		select {
		case <-changed:
		case <-beat.C:
			if s.write([][]byte{[]byte(":\n\n")}) != nil {
				return
			}
			beat.Reset(s.times.heartbeat)
		case <-gone:
			return
		case <-r.hub.finished:
			return
		}
	}
}

// write sends texts, within a time: else there is nobody any more.
func (s *stream) write(texts [][]byte) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(s.times.writeWithin)); err != nil {
		return err
	}
	buffers := net.Buffers(texts)
	if _, err := buffers.WriteTo(s.w); err != nil {
		return err
	}
	return s.control.Flush()
}

// sleep pauses; false: it is time to end.
func sleep(d time.Duration, ends ...<-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ends[0]:
		return false
	case <-ends[1]:
		return false
	}
}
