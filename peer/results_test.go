package peer

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fullbore/fullbore/fleet/clock"
	"github.com/fullbore/fullbore/fleet/job"
)

// partOf is a part of an experiment.
func partOf(experiment string, flow int) *job.Part {
	return &job.Part{Experiment: experiment, Name: "mesh", Round: 3, Flow: flow, From: "a", To: "b"}
}

// kept orders a transfer of which the result is to be kept, and starts it.
func kept(t *testing.T, owner *Client, receiver *farEnd, part *job.Part, d time.Duration) string {
	t.Helper()
	order := orderTo(t, receiver, d)
	order.Part, order.Keep = part, true
	s, err := owner.Prepare(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}
	if s = until(t, owner, s.ID, job.Ready); s.Phase != job.Ready {
		t.Fatalf("%+v", s)
	}
	if err := owner.Start(t.Context(), s.ID, clock.Now()+200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	return s.ID
}

// TestResultsAreKept: what came of a job is there until it is removed, also when the far end was stopped
// and started again, and for nobody without the token.
func TestResultsAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	receiver := startFarEnd(t, Config{}, "127.0.0.1:0")
	sender := startFarEnd(t, Config{Jobs: true, Results: dir}, "127.0.0.1:0")
	owner := sender.dial(t, sender.TokenString())
	if !slices.Contains(owner.Hello().Features, "results") {
		t.Errorf("features: %v", owner.Hello().Features)
	}
	part := partOf(uuid.NewString(), 1)
	id := kept(t, owner, receiver, part, 200*time.Millisecond)
	s := until(t, owner, id, job.Done)
	if s.Error != "" || s.Outcome == nil {
		t.Fatalf("%+v", s)
	}
	if err := owner.End(t.Context(), id); err != nil { // it is forgotten, and still there
		t.Fatal(err)
	}

	again := startFarEnd(t, Config{Jobs: true, Results: dir}, "127.0.0.1:0")
	stranger := again.dial(t, "")
	if _, err := stranger.Results(t.Context()); !errors.Is(err, ErrForbidden) {
		t.Errorf("a stranger lists results: %v", err)
	}
	if _, err := stranger.Result(t.Context(), part.Key()); !errors.Is(err, ErrForbidden) {
		t.Errorf("a stranger reads one: %v", err)
	}
	if err := stranger.Drop(t.Context(), part.Key()); !errors.Is(err, ErrForbidden) {
		t.Errorf("a stranger removes one: %v", err)
	}
	later := again.dial(t, again.TokenString())
	keys, err := later.Results(t.Context())
	if err != nil || !slices.Equal(keys, []string{part.Key()}) {
		t.Fatalf("%v, %v", keys, err)
	}
	r, err := later.Result(t.Context(), part.Key())
	if err != nil || r.Part != *part || r.Kind != job.Transfer || r.Status.Outcome == nil || r.Status.Outcome.Goodput != s.Outcome.Goodput || r.Status.ID != "" || r.Bytes() == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	for range 2 { // whoever was not sure that it was removed says so again
		if err := later.Drop(t.Context(), part.Key()); err != nil {
			t.Error(err)
		}
	}
	if _, err := later.Result(t.Context(), part.Key()); !errors.Is(err, ErrGone) {
		t.Errorf("once it is removed: %v", err)
	}
	for _, key := range []string{"..", "../x", strings.Repeat("x", 200)} {
		if _, err := later.Result(t.Context(), key); err == nil {
			t.Errorf("%q is there", key)
		}
	}
}

// TestResultOfUnheardOwner: a job whose owner is gone ends, and what it came to until then is kept.
func TestResultOfUnheardOwner(t *testing.T) {
	t.Parallel()
	receiver := startFarEnd(t, Config{}, "127.0.0.1:0")
	sender := startFarEnd(t, Config{Jobs: true, Results: t.TempDir()}, "127.0.0.1:0")
	owner := sender.dial(t, sender.TokenString())
	part := partOf(uuid.NewString(), 1)
	kept(t, owner, receiver, part, time.Minute)
	if err := owner.Close(); err != nil {
		t.Fatal(err)
	}
	later := sender.dial(t, sender.TokenString())
	for end := time.Now().Add(job.HeardWithin + generous); ; time.Sleep(100 * time.Millisecond) {
		if keys, err := later.Results(t.Context()); err != nil || time.Now().After(end) {
			t.Fatalf("%v, %v", keys, err)
		} else if len(keys) == 1 {
			break
		}
	}
	r, err := later.Result(t.Context(), part.Key())
	if err != nil || !strings.Contains(r.Status.Error, "nothing was heard") {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestOneExperimentAtATime: while a host measures for one, another one is told so, and who asks for what is to
// be kept where nothing is.
func TestOneExperimentAtATime(t *testing.T) {
	t.Parallel()
	receiver := startFarEnd(t, Config{}, "127.0.0.1:0")
	sender := startFarEnd(t, Config{Jobs: true, Results: t.TempDir()}, "127.0.0.1:0")
	owner := sender.dial(t, sender.TokenString())
	one, other := uuid.NewString(), uuid.NewString()
	id := kept(t, owner, receiver, partOf(one, 0), time.Minute)
	second := orderTo(t, receiver, time.Second)
	second.Part = partOf(one, 1)
	if s, err := owner.Prepare(t.Context(), second); err != nil {
		t.Errorf("the same experiment: %v", err)
	} else if err := owner.End(t.Context(), s.ID); err != nil {
		t.Error(err)
	}
	second.Part = partOf(other, 0)
	if _, err := owner.Prepare(t.Context(), second); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "a to b of mesh, a transfer of 1m0s") {
		t.Errorf("another one: %v", err)
	}
	if err := owner.End(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := owner.Prepare(t.Context(), second); err != nil {
		t.Errorf("once that has ended: %v", err)
	}
	plain := startFarEnd(t, Config{Jobs: true}, "127.0.0.1:0")
	second.Keep = true
	if _, err := plain.dial(t, plain.TokenString()).Prepare(t.Context(), second); !errors.Is(err, ErrRefused) {
		t.Errorf("where nothing is kept: %v", err)
	}
	second.Part = nil
	if _, err := owner.Prepare(t.Context(), second); !errors.Is(err, ErrLimit) {
		t.Errorf("of no experiment: %v", err)
	}
}
