package schedule

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/lab/schema"
)

const whole = `
experiments:
  - {name: mesh, every: 6h, jitter: 10m, between: 22:00-06:00}
  - {name: into-the-store, every: 24h, pattern: incast, at: store1, hosts: [store1, node1, node2], time: 10s, omit: 2s, streams: 4}
daily: 500GB
webhook: https://alerts.example.org/fullbore
`

// TestParse: what a file leaves out is as fleet run has it.
func TestParse(t *testing.T) {
	s, err := Parse("file", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	want := Experiment{Name: "mesh", Every: 6 * time.Hour, Jitter: 10 * time.Minute, Between: Window{22 * 60, 6 * 60}, Verb: Test, Pattern: "pairs", Time: 5 * time.Second, Omit: time.Second, Streams: 1}
	if !reflect.DeepEqual(s.Experiments[0], want) {
		t.Errorf("%+v", s.Experiments[0])
	}
	if e := s.Experiments[1]; e.Jitter != 144*time.Minute || e.Streams != 4 || e.Spec().Omit != 2*time.Second {
		t.Errorf("%+v", e)
	}
	if s.Daily != 500e9 {
		t.Errorf("%d bytes a day", s.Daily)
	}
}

// TestParseFails: what is wrong is said with its place.
func TestParseFails(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "file:1:1: not a schedule",
		"daily: 1GB":                           "file:1:1: a schedule needs experiments",
		"experiments: [{name: a}]":             `say how often with every`,
		"experiments: [{name: A, every: 1h}]":  `name "A": use 1 to 50 small letters`,
		"experiments: [{name: a, every: 5ms}]": "every 5ms is not within 1s and 8784h",
		"experiments: [{name: a, evry: 5s}]":   `did you mean every?`,
		"experiments: [{name: a, every: 1h, jitter: 2h}]":                            "jitter 2h0m0s is longer than the interval",
		"experiments: [{name: a, every: 1h}, {name: a, every: 1h}]":                  `file:1:`,
		"experiments: [{name: a, every: 1h, between: 25:00-06:00}]":                  `"25:00-06:00" is no part of a day`,
		"experiments: [{name: a, every: 1h, between: 06:00-06:00}]":                  `no time at all`,
		"experiments: [{name: a, every: 1h, pattern: pears}]":                        `pattern "pears" is not one of`,
		"experiments: [{name: a, every: 1h, pattern: incast}]":                       "name it with at",
		"experiments: [{name: a, every: 1h, at: b}]":                                 "at is for incast and fan-out",
		"experiments: [{name: a, every: 1h, pattern: incast, at: c, hosts: [a, b]}]": "c is not among the hosts",
		"experiments: [{name: a, every: 1h, hosts: [a]}]":                            "two hosts at least",
		"experiments: [{name: a, every: 1h, hosts: [a, a]}]":                         "a is there twice",
		"experiments: [{name: a, every: 1h}]\nwebhook: mailto:me":                    "file:2:10: webhook",
		"experiments: [{name: a, every: 1h}]\ndaily: 3":                              "file:2:8: daily 3",
		"experiments: [{name: a, every: 1h":                                          "file:",
	} {
		if _, err := Parse("file", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestDue (property): an experiment starts in its window, never before an interval less half of its jitter is over,
// and if nothing is in the way no later than the other half.
func TestDue(t *testing.T) {
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		e := Experiment{Every: time.Minute + time.Duration(r.Int64N(int64(100*time.Hour)))}
		e.Jitter = time.Duration(r.Float64() * float64(e.Every))
		if r.IntN(2) == 0 {
			e.Between = Window{r.IntN(day), r.IntN(day)}
			if e.Between.From == e.Between.To {
				continue
			}
		}
		now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(r.Int64N(int64(1000 * time.Hour))))
		last := now.Add(-time.Duration(r.Int64N(int64(2 * e.Every))))
		if r.IntN(5) == 0 {
			last = time.Time{}
		}
		due := e.Due(last, now, r.Float64())
		says := fmt.Sprintf("seed %d: %+v, last %v, now %v: due %v", seed, e, last, now, due)
		if due.Before(now) || !e.Between.has(due) {
			t.Fatal(says)
		}
		if !last.IsZero() && due.Before(last.Add(e.Every-e.Jitter/2)) {
			t.Fatal("too early: " + says)
		}
		latest := now.Add(time.Minute)
		if at := last.Add(e.Every + e.Jitter/2); at.After(latest) {
			latest = at
		}
		if e.Between != (Window{}) {
			latest = latest.Add(48*time.Hour + e.Jitter)
		}
		if due.After(latest) {
			t.Fatal("too late: " + says)
		}
	}
}

// TestKeysAreExplained: each key that says so has an example that can be read.
func TestKeysAreExplained(t *testing.T) {
	for _, of := range []reflect.Type{reflect.TypeFor[Schedule](), reflect.TypeFor[Experiment]()} {
		for name, field := range schema.Keys(of) {
			example := field.Tag.Get("example")
			if name == "experiments" {
				continue
			}
			text := "experiments: [{name: a, every: 24h}]\n" + name + ": " + example
			if of == reflect.TypeFor[Experiment]() {
				rest := map[string]string{"name": "every: 24h", "at": "name: a, every: 24h, pattern: incast", "every": "name: a"}[name]
				if rest == "" {
					rest = "name: a, every: 24h"
				}
				text = fmt.Sprintf("experiments: [{%s, %s: %s}]", rest, name, example)
			}
			if _, err := Parse("file", []byte(text)); err != nil || example == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// FuzzParse: whatever a file has, it is a schedule or an error.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("file", data)
		if (s == nil) == (err == nil) {
			t.Errorf("%v, %v", s, err)
		}
	})
}

// TestManual: docs/fleet.md has a row for each key with what it takes, and a schedule that can be read.
func TestManual(t *testing.T) {
	text, err := os.ReadFile("../../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []reflect.Type{reflect.TypeFor[Schedule](), reflect.TypeFor[Experiment]()} {
		for name, field := range schema.Keys(of) {
			row := regexp.MustCompile("(?m)^\\| (?:`[a-z]+`, )*`" + name + "`.*").FindString(string(text))
			least, _, _ := strings.Cut(schema.Range(field), " to ")
			if words := field.Tag.Get("of"); words != "" {
				least = "`" + strings.Join(strings.Fields(words), "`, `") + "`"
				row = strings.ReplaceAll(row, " (default)", "")
			}
			if name == "time" || name == "omit" || name == "streams" {
				continue // they are those of fleet run
			}
			if row == "" || name != "experiments" && !strings.Contains(row, least) {
				t.Errorf("docs/fleet.md has no row of %s, from %s: %q", name, least, row)
			}
		}
	}
	_, example, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	if s, err := Parse("docs/fleet.md", []byte(example)); err != nil || len(s.Experiments) != 2 {
		t.Errorf("%v: %s", err, example)
	}
}
