package live

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
)

// sent is one server-sent event, as a browser reads it.
type sent struct{ id, name, data string }

// readEvent reads the next one; comments are events without a name.
func readEvent(from *bufio.Reader) (sent, error) {
	var e sent
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			return e, err
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch key {
		case "":
			return e, nil
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data += value
		case ":", "retry":
		default:
			return e, fmt.Errorf("no such field: %q", line)
		}
	}
}

// browser does with events what a page does: it keeps the latest of each kind.
type browser struct {
	bounds bounds
	last   string // identifier of the latest event
	runs   map[string]*kept
	topics map[string]string
	resets int
}

type kept struct {
	Begin  string
	Steps  []string
	Points []string
}

func newBrowser(h *Hub) *browser {
	return &browser{bounds: h.bounds, runs: map[string]*kept{}, topics: map[string]string{}}
}

func (b *browser) take(e sent) error {
	if e.id != "" {
		b.last = e.id
	}
	var of struct {
		Run string `json:"run"`
	}
	if e.name != "" && !json.Valid([]byte(e.data)) {
		return fmt.Errorf("%s: no JSON: %s", e.name, e.data)
	}
	_ = json.Unmarshal([]byte(e.data), &of) // lists have none
	run := b.runs[of.Run]
	switch e.name {
	case "", "gone":
	case "reset":
		b.resets++
		clear(b.runs)
	case "begin":
		b.runs[of.Run] = &kept{Begin: e.data}
	case "step", "transfer", "end":
		run.Steps = append(run.Steps, e.name+e.data)
		run.Steps = run.Steps[max(0, len(run.Steps)-b.bounds.steps):]
	case "progress":
		run.Points = append(run.Points, e.data)
		run.Points = run.Points[max(0, len(run.Points)-b.bounds.points):]
	default:
		b.topics[e.name] = e.data
	}
	return nil
}

// takeAll takes what a reader would write.
func (b *browser) takeAll(texts [][]byte) error {
	from := bufio.NewReader(bytes.NewReader(bytes.Join(texts, nil)))
	for {
		e, err := readEvent(from)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = b.take(e)
		}
		if err != nil {
			return err
		}
	}
}

// Messages of a run.
func begins(id string) record.Message {
	return record.Message{Begin: &record.Header{ID: id, Kind: record.Tune, State: record.Running, From: "a", To: "b"}}
}

func step(text string) record.Message {
	return record.Message{Event: &record.Event{Kind: record.Phase, Text: text}}
}

func point(n int) record.Message {
	return record.Message{Progress: &record.Progress{At: time.Duration(n) * time.Second, Sends: unit.Rate(n)}}
}

func ends(state record.State) record.Message {
	return record.Message{End: &record.Outcome{State: state, Goodput: 7, Document: json.RawMessage(`{"large":true}`)}}
}

// watching opens a stream, and gives its events until the test ends. The request may be changed before.
func watching(t *testing.T, url string, change ...func(*http.Request)) (next func() sent, response *http.Response) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(request)
	}
	response, err = http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	from := bufio.NewReader(response.Body)
	return func() sent {
		t.Helper()
		for {
			e, err := readEvent(from)
			if err != nil {
				t.Fatal("the stream ended: ", err)
			}
			if e.name != "" {
				return e
			}
		}
	}, response
}

// names reads so many events, and gives their names.
func names(next func() sent, n int) []string {
	var all []string
	for range n {
		all = append(all, next().name)
	}
	return all
}

func sameWords(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
