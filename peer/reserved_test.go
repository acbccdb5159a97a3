package peer

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/host"
)

// The names are those of Linux, on which the far end of this test runs.
func TestLinksAreChangedOnlyWhereThatIsAllowed(t *testing.T) {
	facts := func(context.Context) (*host.Facts, error) {
		return &host.Facts{Name: "b", OS: host.System(), Version: "6.18", CanChange: true, ReadOnly: []string{"net.ipv4.tcp_rmem"},
			Tunables: map[string]string{"net.ipv4.tcp_rmem": "4096 131072 6291456", "link.mtu@eth0": "1500", "link.txqueuelen@eth0": "1000"}}, nil
	}
	fake := newFakeChanges()
	careful := startFarEnd(t, Config{Changes: fake, Facts: facts}, "127.0.0.1:0")
	bold := startFarEnd(t, Config{Changes: fake, Facts: facts, Links: true}, "127.0.0.1:0")
	ctx := within(t, generous)

	guest := careful.dial(t, careful.TokenString())
	id, err := guest.Changes().Begin(ctx, "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link.mtu@eth0", "link.txqueuelen@eth0", "route.congctl@0.0.0.0/0", "nfs.read_ahead_kb@/mnt"} {
		// Beside one that may be: then neither is set.
		err := guest.Changes().Apply(ctx, id, []change.Setting{{Tunable: "net.core.rmem_max", Value: "1"}, {Tunable: name, Value: "1"}})
		wantKind(t, err, ErrForbidden, name, "--allow-link-changes")
	}
	if sets, err := fake.List(ctx); err != nil || len(sets[0].Values) > 0 {
		t.Errorf("set all the same: %+v, %v", sets, err)
	}

	// A set that holds one was made on that host: it is not undone from afar.
	if err := fake.Apply(ctx, id, []change.Setting{{Tunable: "link.mtu@eth0", Value: "9000"}}); err != nil {
		t.Fatal(err)
	}
	_, err = guest.Changes().Revert(ctx, id)
	wantKind(t, err, ErrForbidden, "link.mtu@eth0")
	wantKind(t, guest.Changes().PutBack(ctx, id), ErrForbidden, "link.mtu@eth0")
	wantKind(t, guest.Changes().Renew(ctx, id), ErrForbidden, "link.mtu@eth0")
	wantKind(t, guest.Changes().Confirm(ctx, id, true), ErrForbidden, "link.mtu@eth0")

	told, err := guest.Facts(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"link.mtu@eth0", "link.txqueuelen@eth0", "net.ipv4.tcp_rmem"}, told.ReadOnly); diff != "" {
		t.Errorf("facts of a far end that keeps its links: %s", diff)
	}

	friend := bold.dial(t, bold.TokenString())
	if err := friend.Changes().PutBack(ctx, id, "link.mtu@eth0"); err != nil {
		t.Error(err)
	}
	if err := friend.Changes().Apply(ctx, id, []change.Setting{{Tunable: "link.mtu@eth0", Value: "9000"}}); err != nil {
		t.Error(err)
	}
	if told, err := friend.Facts(ctx); err != nil || slices.Contains(told.ReadOnly, "link.mtu@eth0") {
		t.Errorf("facts of a far end that lets its links be changed: %+v, %v", told, err)
	}
}
