package live

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Publish makes data, as JSON, the latest state of a topic.
func (h *Hub) Publish(topic Topic, data any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.publish(topic, data)
}

func (h *Hub) publish(topic Topic, data any) {
	text, err := json.Marshal(data)
	if err == nil && len(text) > mostPublished {
		err = fmt.Errorf("it is larger than %d bytes", mostPublished)
	}
	if err != nil { // a page that shows it says why it does not move
		text, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	name, _, _ := strings.Cut(string(topic), " ")
	h.last++
	h.latest[topic] = entry{number: h.last, text: fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, text)}
	h.wake()
}

// Forget drops a topic that nobody asks for any more, such as a task's.
func (h *Hub) Forget(topic Topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.latest, topic)
}

// Watched says whether any browser watches a topic.
func (h *Hub) Watched(topic Topic) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.watched[topic] > 0
}

// Feed publishes what look gives, at once and then with so much time between, while any
// browser watches the topic: nothing is looked for that nobody sees. It ends with ctx,
// or when the hub is closed.
func (h *Hub) Feed(ctx context.Context, topic Topic, every time.Duration, look func(context.Context) any) {
	for {
		h.mu.Lock()
		joined, anybody := h.joined, h.watched[topic] > 0
		h.mu.Unlock()
		var pause <-chan time.Time
		if anybody {
			h.Publish(topic, look(ctx))
			pause, joined = time.After(every), nil
		}
		select {
		case <-joined:
		case <-pause:
		case <-ctx.Done():
			return
		case <-h.finished:
			return
		}
	}
}
