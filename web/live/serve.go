package live

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"time"
)

// Times of a stream.
const (
	heartbeat   = 15 * time.Second       // proxies give up on a connection that is silent for a minute
	writeWithin = 10 * time.Second       // a browser that takes nothing for so long has vanished
	comeBack    = 2 * time.Second        // how long a browser waits before it connects again
	pace        = 100 * time.Millisecond // between two writes to one browser
	perReader   = 5 * time.Millisecond   // the same for each browser: all together get some 200 writes a second
	slowest     = 2 * time.Second        // but each one every so often
)

// mostAsked runs and tasks may be in one query.
const mostAsked = 8

// ServeHTTP sends one browser what it asks for, until it goes or the hub is closed.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
		return
	}
	asks, err := parseAsked(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	reader, err := h.join(asks)
	if err != nil {
		w.Header().Set("Retry-After", "10")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer h.leave(reader)
	s := stream{w: w, control: http.NewResponseController(w), times: h.times}
	// The server's own deadline is for answers that end: each write has one here.
	if err := s.control.SetWriteDeadline(time.Now().Add(s.times.writeWithin)); err != nil {
		http.Error(w, "this server cannot send events: "+err.Error(), http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // nginx: pass events on as they come
	first := fmt.Appendf(nil, "retry: %d\n\n", comeBack.Milliseconds())
	if cursor := cursorOf(r); cursor != "" && !reader.resume(cursor) {
		first = append(first, resetText...)
	}
	if s.write([][]byte{first}) == nil {
		s.run(r.Context().Done(), reader)
	}
}

// cursorOf is where a browser was: it says so itself when it comes again.
func cursorOf(r *http.Request) string {
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		return last
	}
	return r.URL.Query().Get("after")
}

// resume makes the reader go on behind a cursor; false: it is none of this hub's.
func (r *reader) resume(cursor string) bool {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	number, ok := r.hub.resume(cursor)
	if ok {
		r.after = number
	}
	return ok
}

var identifier = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// parseAsked reads the query.
func parseAsked(query url.Values) (asked, error) {
	a := asked{runs: unique(query["run"]), tasks: unique(query["task"])}
	if len(a.runs)+len(a.tasks) > mostAsked {
		return a, fmt.Errorf("%d runs and tasks: ask for %d at most", len(a.runs)+len(a.tasks), mostAsked)
	}
	for _, id := range slices.Concat(a.runs, a.tasks) {
		if !identifier.MatchString(id) {
			return a, fmt.Errorf("%.80q is no identifier of a run or task", id)
		}
	}
	for _, id := range a.tasks {
		a.topics = append(a.topics, OfTask(id))
	}
	for _, topic := range []Topic{Runs, Tasks, Flows} {
		if query.Has(string(topic)) {
			a.topics = append(a.topics, topic)
		}
	}
	if len(a.runs)+len(a.topics) == 0 {
		return a, errors.New("say what to watch: ?run=ID, ?task=ID, ?runs, ?tasks or ?flows")
	}
	return a, nil
}

func unique(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return slices.Compact(texts)
}

// join counts a browser in, if there is room.
func (h *Hub) join(a asked) (*reader, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, errors.New("the page ends")
	case h.readers >= h.bounds.readers:
		return nil, fmt.Errorf("%d pages are live already: reload this one later", h.bounds.readers)
	}
	h.readers++
	for _, topic := range a.topics {
		h.watched[topic]++
	}
	close(h.joined)
	h.joined = make(chan struct{})
	return &reader{hub: h, asked: a, seen: map[Topic]uint64{}}, nil
}

func (h *Hub) leave(r *reader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readers--
	for _, topic := range r.asked.topics {
		if h.watched[topic]--; h.watched[topic] == 0 {
			delete(h.watched, topic)
		}
	}
}

// gap is the least time between two writes to one browser.
func (h *Hub) gap() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return min(max(h.times.pace, time.Duration(h.readers)*perReader), slowest)
}
