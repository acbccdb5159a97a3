package peer

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/fleet/clock"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/host"
)

// orderTo has a host send to a far end for some time.
func orderTo(t *testing.T, to *farEnd, d time.Duration) job.Order {
	t.Helper()
	spec := bulk.Spec{Direction: bulk.Forward, Streams: 2, Duration: d, Rate: 5e6}
	place, err := to.dial(t, to.TokenString()).Admit(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return job.Order{Schema: job.Schema, Kind: job.Transfer, To: to.address, Place: place, Spec: spec}
}

// until asks until a job is in a phase, or has ended.
func until(t *testing.T, c *Client, id string, phase job.Phase) job.Status {
	t.Helper()
	for end := time.Now().Add(generous); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		s, err := c.Status(t.Context(), id, "")
		if err != nil {
			t.Fatal(err)
		}
		if s.Phase == phase || s.Phase == job.Done {
			return s
		}
	}
	t.Fatalf("the job is never %s", phase)
	return job.Status{}
}

// TestJob: a host sends to another at the instant it is told, by its own clock, and says what came of it.
func TestJob(t *testing.T) {
	t.Parallel()
	sender, receiver := startFarEnd(t, Config{Jobs: true}, "127.0.0.1:0"), startFarEnd(t, Config{}, "127.0.0.1:0")
	owner := sender.dial(t, sender.TokenString())
	s, err := owner.Prepare(t.Context(), orderTo(t, receiver, 300*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if s = until(t, owner, s.ID, job.Ready); s.Phase != job.Ready {
		t.Fatalf("%+v", s)
	}
	offset, err := clock.Ask(t.Context(), clock.Now, owner.Clock)
	if err != nil || offset.Ahead > offset.Bound || -offset.Ahead > offset.Bound { // it is the same clock here
		t.Errorf("%+v, %v", offset, err)
	}
	at := clock.Now() + 300*time.Millisecond
	if err := owner.Start(t.Context(), s.ID, offset.There(at)); err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(t.Context(), s.ID, offset.There(at)); !errors.Is(err, ErrRefused) {
		t.Errorf("told twice: %v", err)
	}
	s = until(t, owner, s.ID, job.Done)
	if s.Error != "" || s.Outcome == nil {
		t.Fatalf("%+v", s)
	}
	o := s.Outcome
	late := offset.Here(o.Began) - at
	t.Logf("the first byte went %v after the instant", late)
	if late < -offset.Bound || late > 200*time.Millisecond {
		t.Errorf("the first byte went %v after the instant", late)
	}
	if o.Goodput < 5e6 || o.Goodput > 15e6 || len(o.Arrived) < 2 || o.Arrived[len(o.Arrived)-1].Bytes == 0 || o.LeastRTT == 0 {
		t.Errorf("%+v", o)
	}
	if err := owner.End(t.Context(), s.ID); err != nil {
		t.Error(err)
	}
	if _, err := owner.Status(t.Context(), s.ID, ""); !errors.Is(err, ErrGone) {
		t.Errorf("once it is forgotten: %v", err)
	}
}

// TestJobsOfOtherKinds: a rehearsal starts and sends nothing, a diagnosis comes back as its finding, where
// the host makes any; and who asks how a job stands is told once that is another way.
func TestJobsOfOtherKinds(t *testing.T) {
	t.Parallel()
	receiver := startFarEnd(t, Config{}, "127.0.0.1:0")
	sender := startFarEnd(t, Config{Jobs: true, Tasks: map[job.Kind]Task{job.Diagnosis: func(ctx context.Context, doing *Doing) (s job.Status, err error) {
		s.Finding = &job.Finding{Cause: "random-loss", Confidence: 0.5, Says: "of " + doing.Far.Addr().String()}
		return s, doing.Begin(ctx)
	}}}, "127.0.0.1:0")
	owner := sender.dial(t, sender.TokenString())
	for _, kind := range []job.Kind{job.Rehearsal, job.Diagnosis} {
		s, err := owner.Prepare(t.Context(), job.Order{Schema: job.Schema, Kind: kind, To: receiver.address, Spec: bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: time.Second}})
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		s = until(t, owner, s.ID, job.Ready)
		began := time.Now()
		if s, err = owner.Status(t.Context(), s.ID, job.Ready); err != nil || s.Phase != job.Ready || time.Since(began) < job.AnswerWithin/2 {
			t.Errorf("%s: %+v after %v, %v", kind, s, time.Since(began), err)
		}
		at := clock.Now() + 300*time.Millisecond
		if err := owner.Start(t.Context(), s.ID, at); err != nil {
			t.Fatal(err)
		}
		for s.Phase != job.Done && time.Since(began) < generous {
			if s, err = owner.Status(t.Context(), s.ID, s.Phase); err != nil {
				t.Fatal(err)
			}
		}
		switch {
		case s.Error != "":
			t.Errorf("%s: %s", kind, s.Error)
		case kind == job.Rehearsal && (s.Outcome == nil || s.Outcome.Began < at || s.Outcome.Goodput != 0):
			t.Errorf("%+v", s)
		case kind == job.Diagnosis && (s.Finding == nil || s.Finding.Says != "of "+receiver.address):
			t.Errorf("%+v", s)
		}
	}
	for _, n := range receiver.Activity().Finished {
		if n.Done+n.Failed+n.Refused > 0 {
			t.Errorf("something was sent: %+v", n)
		}
	}
	without := startFarEnd(t, Config{Jobs: true}, "127.0.0.1:0")
	_, err := without.dial(t, without.TokenString()).Prepare(t.Context(), job.Order{Schema: job.Schema, Kind: job.Diagnosis, To: receiver.address})
	if !errors.Is(err, ErrRefused) && !errors.Is(err, ErrLimit) {
		t.Errorf("a diagnosis of one that makes none: %v", err)
	}
}

// TestLeave: who has a leave of another host measures and changes there as who has the token, has it do nothing to others, and
// gives no leave. It ends with its time, or before.
func TestLeave(t *testing.T) {
	t.Parallel()
	facts := func(context.Context) (*host.Facts, error) { return &host.Facts{Name: "receiver", OS: "linux"}, nil }
	receiver := startFarEnd(t, Config{Jobs: true, Facts: facts}, "127.0.0.1:0")
	owner := receiver.dial(t, receiver.TokenString())
	leave, err := owner.Leave(t.Context(), time.Minute)
	if err != nil || leave.Token == receiver.TokenString() {
		t.Fatalf("%+v, %v", leave, err)
	}
	seen := make(chan error, 4)
	sender := startFarEnd(t, Config{Jobs: true, Tasks: map[job.Kind]Task{job.Tuning: func(ctx context.Context, doing *Doing) (s job.Status, err error) {
		doing.Say("look\x1b[31m")
		_, err = doing.Far.Facts(ctx)
		seen <- err
		_, err = doing.Far.Leave(ctx, time.Minute)
		seen <- err
		_, err = doing.Far.Prepare(ctx, job.Order{Schema: job.Schema, Kind: job.Rehearsal})
		seen <- err
		_, err = doing.Far.Results(ctx)
		seen <- err
		s.Report, _ = job.NewReport(1e6, 1000, map[string]string{"schema": "x"}, "it helped\x1b[31m")
		return s, doing.Begin(ctx)
	}}}, "127.0.0.1:0")
	far := sender.dial(t, sender.TokenString())
	s, err := far.Prepare(t.Context(), job.Order{Schema: job.Schema, Kind: job.Tuning, To: receiver.address, Leave: leave.Token, Task: &job.Task{Budget: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	if s = until(t, far, s.ID, job.Ready); s.Doing != "look [31m" {
		t.Errorf("it does %q", s.Doing)
	}
	if err := far.Start(t.Context(), s.ID, clock.Now()+300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	s = until(t, far, s.ID, job.Done)
	if s.Report == nil || s.Report.Goodput != 1e6 || s.Report.Says[0] != "it helped [31m" || string(s.Report.Document) != `{"schema":"x"}` {
		t.Errorf("%+v", s)
	}
	if err := <-seen; err != nil {
		t.Errorf("facts: %v", err)
	}
	for _, what := range []string{"a leave", "a job", "results"} {
		if err := <-seen; !errors.Is(err, ErrForbidden) || !strings.Contains(err.Error(), "own token") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := owner.EndLeave(t.Context(), leave.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), receiver.address, leave.Token); !errors.Is(err, ErrToken) {
		t.Errorf("a leave that has ended: %v", err)
	}
	short, err := owner.Leave(t.Context(), 0) // a second at least
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(generous); ; time.Sleep(50 * time.Millisecond) {
		client, err := Dial(t.Context(), receiver.address, short.Token)
		if errors.Is(err, ErrToken) {
			break
		}
		if err != nil || time.Now().After(end) {
			t.Fatal(err, "a leave does not end by itself")
		}
		_ = client.Close()
	}
	if _, err := receiver.dial(t, "").Leave(t.Context(), time.Minute); !errors.Is(err, ErrForbidden) {
		t.Errorf("without a token: %v", err)
	}
	for range mostLeaves {
		if _, err = owner.Leave(t.Context(), time.Minute); err != nil {
			break
		}
	}
	if err != nil {
		t.Errorf("of %d leaves: %v", mostLeaves, err)
	}
	if _, err = owner.Leave(t.Context(), time.Minute); !errors.Is(err, ErrBusy) {
		t.Errorf("one more: %v", err)
	}
}

// TestJobsAreGuarded: who has no token, or asks for what is not allowed, has nobody send anything.
func TestJobsAreGuarded(t *testing.T) {
	t.Parallel()
	willing, receiver := startFarEnd(t, Config{Jobs: true}, "127.0.0.1:0"), startFarEnd(t, Config{}, "127.0.0.1:0")
	good := orderTo(t, receiver, time.Second)
	stranger, owner, unwilling := willing.dial(t, ""), willing.dial(t, willing.TokenString()), receiver.dial(t, receiver.TokenString())
	for name, test := range map[string]struct {
		client *Client
		spoil  func(*job.Order)
		kind   error
		says   string
	}{
		"no token":          {stranger, func(*job.Order) {}, ErrForbidden, "needs the token"},
		"not allowed there": {unwilling, func(*job.Order) {}, ErrRefused, "serve --allow-jobs"},
		"another schema":    {owner, func(o *job.Order) { o.Schema = "fullbore/job/9" }, ErrLimit, "this host takes"},
		"receives":          {owner, func(o *job.Order) { o.Spec.Direction = bulk.Reverse }, ErrLimit, "use direction forward"},
		"too long":          {owner, func(o *job.Order) { o.Spec.Duration = 2 * time.Hour }, ErrLimit, "longer than a job may be"},
		"nowhere":           {owner, func(o *job.Order) { o.To = "a:b:c:1" }, ErrLimit, "neither an address nor host:port"},
		"too many streams":  {owner, func(o *job.Order) { o.Spec.Streams = 10_000 }, ErrLimit, "streams"},
	} {
		order := good
		test.spoil(&order)
		_, err := test.client.Prepare(t.Context(), order)
		if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := stranger.Clock(t.Context()); !errors.Is(err, ErrForbidden) {
		t.Errorf("a stranger reads the clock: %v", err)
	}
	s, err := owner.Prepare(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Status(t.Context(), s.ID, ""); !errors.Is(err, ErrForbidden) {
		t.Errorf("a stranger watches: %v", err)
	}
	until(t, owner, s.ID, job.Ready)
	for _, lead := range []time.Duration{-time.Second, 0, time.Minute} {
		if err := owner.Start(t.Context(), s.ID, clock.Now()+lead); !errors.Is(err, ErrRefused) {
			t.Errorf("told to start in %v: %v", lead, err)
		}
	}
}

// TestJobWithoutPlace: who makes a place up has nothing sent: neither to a far end, which admitted nobody,
// nor to what is none.
func TestJobWithoutPlace(t *testing.T) {
	t.Parallel()
	sender, receiver := startFarEnd(t, Config{Jobs: true}, "127.0.0.1:0"), startFarEnd(t, Config{}, "127.0.0.1:0")
	owner := sender.dial(t, sender.TokenString())
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	got := make(chan int64, 1)
	go func() {
		conn, err := other.Accept()
		if err != nil {
			return
		}
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		n, _ := io.Copy(io.Discard, conn)
		_ = conn.Close()
		got <- n
	}()
	for _, to := range []string{receiver.address, other.Addr().String()} {
		order := orderTo(t, receiver, time.Second)
		order.To, order.Place.ID, order.Place.Cookie = to, "made-up", strings.Repeat("x", len(order.Place.Cookie))
		s, err := owner.Prepare(t.Context(), order)
		if err != nil {
			t.Fatal(err)
		}
		if s = until(t, owner, s.ID, job.Ready); s.Phase == job.Ready { // its connections are open, and nobody waits for them
			if err := owner.Start(t.Context(), s.ID, clock.Now()+200*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			s = until(t, owner, s.ID, job.Done)
		}
		if s.Error == "" || s.Outcome != nil {
			t.Errorf("to %s: %+v", to, s)
		}
	}
	if n := <-got; n > 64<<10 { // a greeting by TLS
		t.Errorf("what is no far end got %d bytes", n)
	}
	for _, tests := range receiver.Activity().Finished {
		if tests.Received > 0 {
			t.Errorf("the far end got %d bytes", tests.Received)
		}
	}
}

// TestJobsEnd: a job that cannot connect says why, one whose owner ends it ends, and none goes on
// when its host stops.
func TestJobsEnd(t *testing.T) {
	t.Parallel()
	sender, receiver := startFarEnd(t, Config{Jobs: true}, "127.0.0.1:0"), startFarEnd(t, Config{}, "127.0.0.1:0")
	owner := sender.dial(t, sender.TokenString())
	nobody := orderTo(t, receiver, time.Second)
	nobody.To = "127.0.0.1:1"
	s, err := owner.Prepare(t.Context(), nobody)
	if err != nil {
		t.Fatal(err)
	}
	if s = until(t, owner, s.ID, job.Done); !strings.Contains(s.Error, "127.0.0.1:1") || s.Outcome != nil {
		t.Errorf("%+v", s)
	}

	s, err = owner.Prepare(t.Context(), orderTo(t, receiver, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	until(t, owner, s.ID, job.Ready)
	if err := owner.Start(t.Context(), s.ID, clock.Now()+200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	until(t, owner, s.ID, job.Running)
	if err := owner.End(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	idle := func() bool { return receiver.Activity().Running == 0 }
	for end := time.Now().Add(generous); !idle() && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		continue
	}
	if !idle() {
		t.Error("the transfer goes on without a job")
	}

	for range job.AtOnce {
		if _, err = owner.Prepare(t.Context(), nobody); err != nil {
			break
		}
	}
	if _, err = owner.Prepare(t.Context(), nobody); !errors.Is(err, ErrBusy) {
		t.Errorf("one job more than there can be: %v", err)
	}
}

// TestJobUnheard: without a sign of its owner a job ends, and the host forgets it.
func TestJobUnheard(t *testing.T) {
	t.Parallel()
	receiver := startFarEnd(t, Config{}, "127.0.0.1:0")
	js := &jobs{known: map[string]*ownJob{}}
	s, err := js.create(context.Background(), orderTo(t, receiver, time.Minute), nil)
	if err != nil {
		t.Fatal(err)
	}
	j, err := js.by(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	js.unheard(j) // as its timer does
	js.busy.Wait()
	if now := j.now(); now.Phase != job.Done || !strings.Contains(now.Error, "nothing was heard") {
		t.Errorf("%+v", now)
	}
	if _, err := js.by(s.ID); err == nil {
		t.Error("it is still known")
	}
}
