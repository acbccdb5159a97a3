package live

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// asked is what a browser wants to be sent.
type asked struct {
	runs   []string
	tasks  []string
	topics []Topic
}

// reader is where one browser is. All that it holds of the runs is a number.
type reader struct {
	hub   *Hub
	asked asked
	after uint64           // entries of runs up to this one have been sent
	seen  map[Topic]uint64 // the same of topics
}

// cursor is how a browser names an entry.
func (h *Hub) cursor(number uint64) string { return h.epoch + "-" + strconv.FormatUint(number, 10) }

// resume reads what cursor wrote; false: it is none of this hub's.
func (h *Hub) resume(cursor string) (uint64, bool) {
	epoch, text, _ := strings.Cut(cursor, "-")
	number, err := strconv.ParseUint(text, 10, 64)
	return number, err == nil && epoch == h.epoch && number <= h.last
}

var resetText = []byte("event: reset\ndata: {}\n\n")

// next gives what to write now, in the order in which it came, and a channel that is
// closed when there is something new. The texts are shared: they must not be changed.
func (r *reader) next() (texts [][]byte, changed <-chan struct{}) {
	h := r.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, topic := range r.asked.topics {
		if e, ok := h.latest[topic]; ok && e.number > r.seen[topic] {
			r.seen[topic] = e.number
			texts = append(texts, e.text)
		}
	}
	var news []entry
	for _, run := range r.wanted() {
		if run.begin.number > r.after {
			news = append(news, run.begin)
		}
		for _, kept := range [][]entry{run.steps, h.latestPoints(run)} {
			from, _ := slices.BinarySearchFunc(kept, r.after+1, func(e entry, n uint64) int { return cmp.Compare(e.number, n) })
			news = append(news, kept[from:]...)
		}
	}
	slices.SortFunc(news, func(a, b entry) int { return cmp.Compare(a.number, b.number) })
	bytes := 0
	for _, e := range news {
		if bytes > 0 && bytes+len(e.text) > h.bounds.batch {
			return texts, closedChannel // there is more already
		}
		bytes += len(e.text)
		texts = append(texts, e.text)
		r.after = e.number
	}
	r.asked.runs = slices.DeleteFunc(r.asked.runs, func(id string) bool {
		if h.runs[id] == nil {
			texts = append(texts, fmt.Appendf(nil, "event: gone\ndata: {\"run\":%q}\n\n", id))
		}
		return h.runs[id] == nil
	})
	return texts, h.changed
}

// wanted are the runs that were asked for and are known.
func (r *reader) wanted() []*run {
	var all []*run
	for _, id := range r.hub.order {
		run := r.hub.runs[id]
		if slices.Contains(r.asked.runs, id) || slices.Contains(r.asked.tasks, run.task) {
			all = append(all, run)
		}
	}
	return all
}

var closedChannel = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
