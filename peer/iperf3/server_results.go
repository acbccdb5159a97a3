package iperf3

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/peer/iperf3/document"
)

// conclude ends the test and exchanges the results: the client's come first.
//
// Counting stops here, and the streams are closed before anything else is said:
// iperf3 before 3.16 may be waiting for the rest of a block. Of a test of bytes
// that the client sends, every one has to be counted: how many it has sent is
// known from its results, and the last may still be under way.
func (t *session) conclude(ctx context.Context, running transfer) error {
	counting := t.spec().Bytes > 0 && t.spec().Omit == 0 && t.spec().Direction != bulk.Reverse
	stop := func() {
		t.record.Result.Server = running.Stop()
		running.Close()
	}
	if !counting {
		stop()
	}
	theirs, err := t.theirs()
	if counting {
		if err == nil {
			t.drain(ctx, theirs)
		}
		stop()
	}
	if err != nil {
		return fmt.Errorf("wait for the client's results: %w", err)
	}
	if t.record.Result.Client, err = theirs.End(t.spec(), t.record.Result.Server); err != nil {
		return err
	}
	if err := t.control.writeJSON(t.ours()); err != nil {
		return fmt.Errorf("send results: %w", err)
	}
	t.vacate() // the client may begin its next test as soon as it has heard all
	if err := t.control.writeState(DisplayResults); err != nil {
		return err
	}
	// All is said. That the connection breaks now, as behind some NATs, does no
	// harm.
	_, _ = t.control.readState(t.patience.done)
	return nil
}

// theirs asks for the client's results.
func (t *session) theirs() (Results, error) {
	var theirs Results
	t.told = true
	if err := t.control.writeState(ExchangeResults); err != nil {
		return theirs, err
	}
	err := t.control.readJSON(maxClientResults, t.patience.results, &theirs)
	return theirs, err
}

// ours is this end's half, and the document that the client may have asked for.
func (t *session) ours() Results {
	results := ResultsOf(t.record.Result.Server, t.spec())
	if !t.asked.WantsServerOutput() {
		return results
	}
	if !t.JSON {
		results.ServerOutputText = document.Text(t.record)
		return results
	}
	output, err := json.Marshal(document.New(t.record))
	if err != nil {
		t.Log.Error("server output not written", "err", err)
	}
	results.ServerOutputJSON = output
	return results
}
