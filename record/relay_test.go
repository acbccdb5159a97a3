package record

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// relayTo starts a relay to a store, which completes the headers of runs.
func relayTo(t *testing.T, place string) *Relay {
	t.Helper()
	r, err := NewRelay(place, func(h *Header) { h.Scenario = "lan" }, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// A run that goes through a relay is kept as any other, with what the relay knows better.
func TestRelay(t *testing.T) {
	onBoth(t, func(t *testing.T, place string) {
		relay := relayTo(t, place)
		r := Start(relay.Place(), Header{Kind: Tune, From: "a", To: "b"})
		r.Event(Phase, "measure")
		r.Transfer(time.Now(), aTransfer("measure"))
		if err := r.End(Outcome{State: Done, Goodput: 5}); err != nil {
			t.Fatal(err)
		}
		run, err := opened(t, place).Load(t.Context(), r.ID())
		if err != nil {
			t.Fatal(err)
		}
		if run.Scenario != "lan" || run.State != Done || len(run.Events) != 1 || len(run.Transfers) != 1 || len(run.Transfers[0].Result.Client.Streams[1].Samples) != 50 {
			t.Errorf("%+v", run)
		}
	})
}

// One whose process dies is interrupted at once, with what had come.
func TestRelayOfTheDead(t *testing.T) {
	place := filepath.Join(t.TempDir(), "record.db")
	relay := relayTo(t, place)
	ctx := t.Context()
	h := Header{Schema: Schema, ID: NewID(), Kind: Test, State: Running, Started: time.Now()}
	dying, err := dialRelay(ctx, relay.Place(), h)
	if err != nil {
		t.Fatal(err)
	}
	transfer := aTransfer("")
	if err := dying.write(ctx, Message{Transfer: &transfer}); err != nil {
		t.Fatal(err)
	}
	if err := dying.conn.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := dying.close(); err == nil {
		t.Error("nothing is said of a run without an end")
	}
	run, err := opened(t, place).Load(ctx, h.ID)
	if err != nil || run.State != Interrupted || run.Error == "" || len(run.Transfers) != 1 {
		t.Errorf("%+v, %v", run, err)
	}
}

// What keeps the relay from keeping a run is said at the run's end.
func TestRelayWithoutAStore(t *testing.T) {
	for _, place := range []string{"/proc/nothing/record.db", "postgres://nobody@127.0.0.1:1/x"} {
		relay := relayTo(t, place)
		r := Start(relay.Place(), Header{Kind: Test})
		r.Transfer(time.Now(), aTransfer(""))
		if err := r.End(Outcome{State: Done}); err == nil || !strings.Contains(err.Error(), "open the record") {
			t.Errorf("%s: %v", place, err)
		}
	}
	relay := relayTo(t, filepath.Join(t.TempDir(), "record.db"))
	if err := relay.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Start(relay.Place(), Header{Kind: Test}).End(Outcome{State: Done}); err == nil {
		t.Error("nothing is said of a relay that is gone")
	}
}
