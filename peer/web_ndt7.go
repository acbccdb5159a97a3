package peer

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/peer/ndt7"
	"github.com/fullbore/fullbore/unit"
)

// NDT7 is what a far end does differently for ndt7's clients, which are browsers
// mostly.
type NDT7 struct {
	// Foreign is how many tests at once web pages of other hosts may begin, of
	// those that there may be of all: 0: one, below: none. See package ndt7 for
	// why it is not more.
	Foreign int
}

func isTest(r *http.Request) bool {
	return r.Method == http.MethodGet && (r.URL.Path == ndt7.DownloadPath || r.URL.Path == ndt7.UploadPath)
}

// newNDT7 is the handler of tests; running counts them.
func (s *Server) newNDT7(running *sync.WaitGroup) http.Handler {
	foreign := s.ndt7.Foreign
	if foreign == 0 {
		foreign = 1
	}
	tests := &ndt7.Handler{Admit: s.admitTest, Foreign: max(0, foreign), Longest: s.public.Transfer, Done: s.reportTest,
		Refused: func(error) { s.tally.refused(ofNDT7) }}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running.Add(1)
		defer running.Done()
		tests.ServeHTTP(w, r)
	})
}

// admitTest gives a test one of the places of all transfers.
func (s *Server) admitTest(r *http.Request) (release func(), err error) {
	who := callerOf(r.Context())
	limits := s.limits(who)
	place, err := s.places.take(who.from.Addr(), limits.Transfers, limits.each(), ndt7.LongestTest)
	if busy, ok := errors.AsType[*busyError](err); ok {
		return nil, &ndt7.Busy{After: busy.soonest}
	}
	if err != nil {
		return nil, err
	}
	return place.Leave, nil
}

// reportTest logs one line a test, as transfers do.
func (s *Server) reportTest(t ndt7.Served) {
	s.tally.ended(ofNDT7, []bulk.Stream{{Sender: t.Direction == bulk.Reverse, Bytes: t.Bytes}}, t.Err != nil)
	attributes := []any{"client", t.Client, "took", t.Elapsed.Round(time.Millisecond)}
	if t.Origin != "" {
		attributes = append(attributes, "page", oneLine(t.Origin))
	}
	rate := unit.RateOf(t.Bytes, t.Elapsed)
	if t.Direction == bulk.Reverse {
		attributes = append(attributes, "test", "download", "sent", rate)
	} else {
		attributes = append(attributes, "test", "upload", "goodput", rate)
	}
	if t.Err != nil {
		s.log.Warn("ndt7 test ended early", append(attributes, "err", t.Err)...)
		return
	}
	s.log.Info("ndt7 test done", attributes...)
}
