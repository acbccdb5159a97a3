package peer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/change"
)

func TestChangesAtTheFarEnd(t *testing.T) {
	fake := newFakeChanges()
	far := startFarEnd(t, Config{Changes: fake}, "127.0.0.1:0")
	changes := far.dial(t, far.TokenString()).Changes()
	if changes == nil {
		t.Fatal("no changes with the token")
	}
	ctx := within(t, generous)
	kept, err := changes.Begin(ctx, "a reason", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	settings := []change.Setting{{Tunable: "net.ipv4.tcp_rmem", Value: "4096 131072 33554432"}}
	for what, err := range map[string]error{
		"apply":        changes.Apply(ctx, kept, settings),
		"put back":     changes.PutBack(ctx, kept),
		"put back one": changes.PutBack(ctx, kept, "net.ipv4.tcp_rmem"),
		"renew":        changes.Renew(ctx, kept),
		"confirm":      changes.Confirm(ctx, kept, true),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	sets, err := changes.List(ctx)
	if err != nil || len(sets) != 1 || sets[0].State != change.Confirmed || sets[0].Reason != "a reason" || !sets[0].Persist {
		t.Errorf("list: %+v, %v", sets, err)
	}
	wantKind(t, changes.Apply(ctx, "unheard-of", settings), change.ErrUnknown, "unheard-of")
	wantKind(t, changes.Apply(ctx, kept, []change.Setting{{Tunable: "lower", Value: "1"}}), change.ErrRefused)
	if _, err := changes.Begin(ctx, "for ever", 1000*time.Hour); err == nil {
		t.Error("a change set that lasts for weeks was allowed")
	}

	// What nobody confirmed goes when the far end does; what was confirmed, or
	// is another's, stays.
	others, _ := fake.Begin(ctx, "of another", time.Minute)
	open, err := changes.Begin(ctx, "open", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := far.stop(); err != nil {
		t.Error(err)
	}
	want := map[string]change.State{kept: change.Confirmed, others: change.Live, open: change.Reverted}
	if diff := cmp.Diff(want, fake.states()); diff != "" {
		t.Error(diff)
	}
}

func TestClientsCannotOpenSetsWithoutBound(t *testing.T) {
	fake := newFakeChanges()
	own := newOwnChanges(fake)
	for range maxOpenSets {
		if _, err := own.Begin(t.Context(), "", time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := own.Begin(t.Context(), "", time.Minute); err == nil {
		t.Error("one more was opened")
	}
	fake.expire("set-3")
	if _, err := own.Begin(t.Context(), "", time.Minute); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
}
