package iperf3

import (
	"encoding/json"
	"errors"
	"fmt"
)

// conclude exchanges the results, the client's first.
func (c *client) conclude() error {
	if err := c.hear(ExchangeResults, c.wait.results); err != nil {
		return c.without(err)
	}
	if err := c.control.writeJSON(c.ours()); err != nil {
		return c.without(err)
	}
	var theirs Results
	if err := c.control.readJSON(maxResults, c.wait.results, &theirs); err != nil {
		return c.without(err)
	}
	return c.take(theirs)
}

// without puts into words why only this end's half is there.
func (c *client) without(err error) error {
	return fmt.Errorf("%s gave no results of its own; what this end measured is kept: %w", c.target, err)
}

// ours is this end's half, as iperf3 reports it.
func (c *client) ours() Results { return ResultsOf(c.record.Result.Client, c.Spec) }

// take adds the server's half.
func (c *client) take(theirs Results) error {
	far, err := theirs.End(c.Spec, c.record.Result.Client)
	if err != nil {
		return c.without(err)
	}
	for i := range far.Streams {
		// A receiver whose clock ran on while this end rested had its last byte
		// before; one that had it later than it was sent has stopped by itself.
		s, sent := &far.Streams[i], c.record.Result.Client.Streams[i].Elapsed
		if !s.Sender && s.Elapsed > sent {
			s.Elapsed = max(sent, s.Elapsed-c.rested)
		}
	}
	c.record.Result.Server = far
	if c.GetServerOutput { // up to 3.12 a server that was once asked for it tells every client
		c.record.ServerJSON, c.record.ServerText = theirs.ServerOutputJSON, theirs.ServerOutputText
	}
	var document struct {
		Start struct {
			Version string `json:"version"`
		} `json:"start"`
	}
	if json.Unmarshal(theirs.ServerOutputJSON, &document) == nil { // nothing else tells it
		c.record.Software = document.Start.Version
	}
	return nil
}

// finish ends the session. Everything was exchanged by then: that the connection breaks
// now, as behind some NATs, does no harm. What is not known is why a server
// fails in the very end.
func (c *client) finish() error {
	var said *RemoteError
	if err := c.expect(DisplayResults, c.wait.last); errors.As(err, &said) {
		return fmt.Errorf("%s: %w", c.target, err)
	}
	_ = c.control.writeState(IperfDone)
	return nil
}
