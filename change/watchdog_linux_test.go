package change

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

func TestWatch(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for _, tc := range []struct {
		name  string
		ctx   context.Context
		owner io.Reader
		prior func(t *testing.T, w *world, m *Manager, id string)
		state State
		note  string
	}{
		{"is confirmed", t.Context(), nil, func(t *testing.T, _ *world, m *Manager, id string) {
			must(t, m.Confirm(t.Context(), id, false))
		}, Confirmed, ""},
		{"its owner ends", t.Context(), strings.NewReader(""), nil, Reverted, "its process ended without confirming"},
		{"its owner ends, but confirmed", t.Context(), strings.NewReader(""), func(t *testing.T, _ *world, m *Manager, id string) {
			must(t, m.Confirm(t.Context(), id, false))
		}, Confirmed, ""},
		{"is late", t.Context(), nil, func(_ *testing.T, w *world, _ *Manager, _ string) {
			w.now = w.now.Add(minute)
		}, Reverted, "nobody confirmed within 1m0s"},
		{"is late, and the clock was set back", t.Context(), nil, func(_ *testing.T, w *world, m *Manager, _ string) {
			w.now = w.now.Add(-24 * time.Hour)
			start := time.Now()
			m.steady = func() time.Time { start = start.Add(minute - time.Second); return start }
		}, Reverted, "nobody confirmed within 1m0s; the clock was set back"},
		{"was cut short", t.Context(), nil, func(t *testing.T, w *world, m *Manager, id string) {
			defer func() { _ = recover() }() // it dies with one of two values set
			w.faults[w.point+4] = crashAfter
			_ = m.Apply(t.Context(), id, []Setting{{rmem, biggest}, {idle, "0"}})
			t.Error("it is still there")
		}, Reverted, "it was cut short"},
		{"is told to stop", ended, nil, nil, Reverted, "its watchdog was asked to stop"},
		{"meets a passing fault", ended, nil, func(_ *testing.T, w *world, _ *Manager, _ string) {
			w.now = w.now.Add(minute)
			w.faults[w.point+1] = failBefore // of the journal, at the first try
		}, Reverted, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t.TempDir())
			m := w.manager(t)
			id := begin(t, m, Setting{rmem, bigger})
			if tc.prior != nil {
				tc.prior(t, w, m, id)
			}
			var said strings.Builder
			must(t, m.Watch(tc.ctx, id, tc.owner, &said))
			set, err := readSet(w.dir, id)
			must(t, err)
			if set.State != tc.state || !strings.Contains(set.Note, tc.note) || said.String() != watching {
				t.Errorf("state %s, note %q, said %q; want %s, %q", set.State, set.Note, said.String(), tc.state, tc.note)
			}
			want := "4096 131072 6291456"
			if tc.state == Confirmed {
				want = bigger
			}
			wantValue(t, w, rmem, want)
		})
	}
	t.Run("is not there", func(t *testing.T) {
		m := newWorld(t.TempDir()).manager(t)
		wantErr(t, m.Watch(t.Context(), "20261120-120000-abcdef", nil, io.Discard), ErrUnknown, "")
	})
}

// A call on the set gives its watchdog another deadline to time.
func TestStopwatch(t *testing.T) {
	start := time.Now()
	set := &Set{Within: minute, Deadline: start.Add(minute)}
	var w stopwatch
	for _, tc := range []struct {
		after, deadline time.Duration
		over            bool
	}{{0, minute, false}, {59 * time.Second, minute, false}, {minute, minute, true}, {minute, 2 * minute, false}, {2 * minute, 2 * minute, true}} {
		set.Deadline = start.Add(tc.deadline)
		if over := w.over(set, start.Add(tc.after)); over != tc.over {
			t.Errorf("after %v, with a deadline at %v: %v", tc.after, tc.deadline, over)
		}
	}
}
