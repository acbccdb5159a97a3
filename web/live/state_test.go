package live

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/record"
)

// small is a hub of which everything is soon too much.
func small() *Hub {
	h := NewHub()
	h.bounds = bounds{points: 5, steps: 4, readers: 10, batch: 300}
	return h
}

// drain takes all that there is for a reader.
func drain(r *reader, b *browser) error {
	for {
		texts, changed := r.next()
		if err := b.takeAll(texts); err != nil {
			return err
		}
		if changed != closedChannel {
			return nil
		}
	}
}

// However slowly a browser reads, loses its connection and comes again, or comes late: once it has
// caught up it shows the same as one that was fast, and the same as the page that the hub gives whole.
func TestSlowSeesTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := small()
		want := asked{runs: []string{"r1", "r2"}, topics: []Topic{Runs, Flows}}
		join := func() *reader {
			r, err := h.join(asked{append([]string{}, want.runs...), nil, want.topics})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		h.tell("t1", "r1", begins("r1"))
		h.tell("t2", "r2", begins("r2"))
		fast, slow := newBrowser(h), newBrowser(h)
		fastReader, slowReader := join(), join()
		for i := range rapid.IntRange(0, 60).Draw(t, "messages") {
			run := rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "run")
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0, 1, 2, 3:
				h.tell("t", run, point(i))
			case 4, 5:
				h.tell("t", run, step(fmt.Sprintf("step %d <\n\ndata: {}>", i)))
			case 6:
				h.tell("t", run, record.Message{Transfer: &record.Transfer{Phase: fmt.Sprint(i)}})
			case 7:
				h.Publish(Flows, i)
			case 8:
				if i > 50 {
					h.tell("t", run, ends(record.Done))
				}
			case 9:
				h.tell("t", run, record.Message{Host: &record.Host{}})
			}
			if err := drain(fastReader, fast); err != nil {
				t.Fatal(err)
			}
			switch rapid.IntRange(0, 5).Draw(t, "slow") {
			case 0: // a bit
				texts, _ := slowReader.next()
				if err := slow.takeAll(texts); err != nil {
					t.Fatal(err)
				}
			case 1: // the connection is lost, with what was on its way
				slowReader.next()
				h.leave(slowReader)
				slowReader = join()
				if slow.last != "" && !slowReader.resume(slow.last) {
					t.Fatal("it does not go on behind ", slow.last)
				}
			}
		}
		late, lateReader := newBrowser(h), join()
		for _, err := range []error{drain(fastReader, fast), drain(slowReader, slow), drain(lateReader, late)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for name, other := range map[string]*browser{"slow": slow, "late": late} {
			if diff := cmp.Diff(fast.runs, other.runs); diff != "" {
				t.Fatalf("%s, fast to it: %s", name, diff)
			}
			if diff := cmp.Diff(fast.topics, other.topics); diff != "" {
				t.Fatalf("%s, fast to it: %s", name, diff)
			}
		}
		for id, kept := range fast.runs {
			run, ok := h.Run(id)
			points := []string{}
			for _, p := range run.Points {
				text, _ := json.Marshal(p)
				points = append(points, fmt.Sprintf(`{"run":%q,%s`, id, text[1:]))
			}
			if diff := cmp.Diff(append([]string{}, kept.Points...), points); !ok || diff != "" {
				t.Fatalf("%s, by its events to the whole: %s", id, diff)
			}
		}
	})
}

// What a page shows, and then reads on after, is all: nothing is missing between, nothing comes twice.
func TestReadOnAfterThePage(t *testing.T) {
	h := NewHub()
	h.tell("t", "r", begins("r"))
	for i := range 10 {
		h.tell("t", "r", point(i))
	}
	h.tell("t", "r", step("before"))
	run, ok := h.Run("r")
	if !ok || len(run.Points) != 10 || len(run.Steps) != 1 || run.Task != "t" || run.Header.State != record.Running {
		t.Fatalf("%+v", run)
	}
	h.tell("t", "r", step("after"))
	reader, _ := h.join(asked{runs: []string{"r"}})
	if !reader.resume(run.Cursor) {
		t.Fatal(run.Cursor)
	}
	if texts, _ := reader.next(); len(texts) != 1 {
		t.Errorf("%q", texts)
	}
	h.tell("t", "r", ends(record.Failed))
	if run, _ = h.Run("r"); run.Header.State != record.Failed || run.Header.Goodput != 7 || len(h.Running()) != 0 {
		t.Errorf("%+v", run)
	}
}

// An event is encoded once: all browsers are sent the same bytes.
func TestEncodedOnce(t *testing.T) {
	h := NewHub()
	h.tell("t", "r", begins("r"))
	h.tell("t", "r", step("one"))
	h.Publish(Flows, "some")
	var first [][]byte
	for range 200 {
		r, _ := h.join(asked{runs: []string{"r"}, topics: []Topic{Flows}})
		texts, _ := r.next()
		if first == nil {
			first = texts
		}
		if len(texts) != 3 {
			t.Fatalf("%q", texts)
		}
		for i := range texts {
			if &texts[i][0] != &first[i][0] {
				t.Fatalf("%s was encoded anew", texts[i])
			}
		}
	}
}

// A run that ended some runs ago is forgotten, and whoever still asks for it is told so.
func TestForgottenRuns(t *testing.T) {
	h := NewHub()
	for i := range MostEnded + 2 {
		id := fmt.Sprint("r", i)
		h.tell("t", id, begins(id))
		if i > 0 { // the first goes on
			h.tell("t", id, ends(record.Done))
		}
	}
	for id, want := range map[string]bool{"r0": true, "r1": false, "r2": true, "r5": true, "never": false} {
		if _, ok := h.Run(id); ok != want {
			t.Errorf("%s is known: %v", id, ok)
		}
	}
	r, _ := h.join(asked{runs: []string{"r1"}})
	texts, _ := r.next()
	if len(texts) != 1 || string(texts[0]) != "event: gone\ndata: {\"run\":\"r1\"}\n\n" {
		t.Errorf("%q", texts)
	}
	if texts, _ = r.next(); len(texts) != 0 {
		t.Errorf("again %q", texts)
	}
}
