package iperf3

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/peer/iperf3/document"
)

// session is one test at the server.
type session struct {
	*Server
	cookie Cookie
	conn   Connection
	client netip.AddrPort
	place  Place
	door   door // where its streams come in
	began  time.Time

	control *control
	asked   Parameters
	user    string // who may test, if not anyone
	record  document.Record
	count   count
	told    bool // the client knows that the test ends, or waits for results now, and would take an error for their length
}

// run goes through the phases of a test.
func (t *session) run(ctx context.Context) error {
	t.control = newControl(ctx, &leftover{t.conn.TCP, t.conn.First[cookieSize:]})
	defer t.control.free()
	if err := t.watchOver(); err != nil {
		return err
	}
	if err := t.agree(); err != nil {
		return err
	}
	// From here on the client says nothing until it ends the test, but may
	// vanish or be stopped: who waits for anything else also waits for that.
	said, stop := t.listen()
	defer stop()
	conns, err := t.gather(ctx, said)
	if err != nil {
		return err
	}
	// A server that is stopped says so before it closes the streams: what comes to a closed
	// one is answered with a reset, which the client may see before the word.
	running, err := t.start(context.WithoutCancel(ctx), conns)
	if err != nil {
		return err
	}
	defer running.Close()
	if err := t.see(ctx, running, said); err != nil {
		if ctx.Err() != nil {
			t.terminate()
		}
		t.record.Result.Server = running.Stop()
		return err
	}
	return t.conclude(ctx, running)
}

// agree asks for the parameters and holds them against what is allowed.
func (t *session) agree() error {
	if err := t.control.writeState(ParamExchange); err != nil {
		return err
	}
	if err := t.control.readJSON(maxParameters, t.patience.parameters, &t.asked); err != nil {
		return t.because(IERecvParams, "wait for parameters", err)
	}
	if t.Users != nil {
		var err error
		if t.user, err = t.Users.Authorise(t.control.ctx, t.asked.AuthToken); err != nil {
			return refuse(IEAuthTest, "%v", err)
		}
	}
	spec, notes, err := t.asked.Spec()
	for _, note := range notes {
		t.Log.Info("iperf3 client asks for what it does not get", "client", t.client, "note", note)
	}
	if err != nil {
		return err
	}
	if spec.Direction != bulk.Forward { // else it is the client's own host that sets it
		if err := bulk.CongestionAllowed(spec.Congest); err != nil {
			return refuse(IESetCongestion, "%v", err)
		}
	}
	longest := spec.Duration + spec.Omit
	if err := t.Limits.allows(spec.Streams, longest); err != nil {
		return err
	}
	if spec.Bytes > 0 {
		longest = t.Limits.Time
	}
	t.place.Lasts(longest + t.attaching(spec) + t.patience.grace)
	t.record = document.Record{
		Result: &bulk.Result{Spec: spec, Client: bulk.End{Software: software}}, Server: true,
		Host: t.client.Addr().String(), Port: t.client.Port(), Cookie: t.cookie.String(), Began: t.began,
		Blocks: t.asked.BlockCount, Title: t.asked.Title, Extra: t.asked.ExtraData, Software: t.asked.ClientVersion,
	}
	return nil
}

func (t *session) spec() bulk.Spec { return t.record.Result.Spec }

// length is how long the test may take, from its start to its end.
func (t *session) length() time.Duration {
	spec := t.spec()
	if spec.Bytes > 0 {
		return t.Limits.Time
	}
	return spec.Duration + spec.Omit
}

// attaching is how long the streams may take to come.
func (t *session) attaching(spec bulk.Spec) time.Duration {
	return t.patience.streams + time.Duration(connections(spec)-1)*t.patience.stream
}

// connections is how many streams a test has, in both directions.
func connections(spec bulk.Spec) int {
	if spec.Direction == bulk.Both {
		return 2 * spec.Streams
	}
	return spec.Streams
}

// listen waits for the client's next word, from now on; stop waits for the end
// of that.
func (t *session) listen() (said <-chan word, stop func()) {
	words, ended := make(chan word, 1), make(chan struct{})
	longest := t.attaching(t.spec()) + t.length() + 2*t.patience.grace // others give up before
	err := t.control.wait(longest)                                     // here, so that it does not undo what stop sets
	go func() {
		defer close(ended)
		if err != nil {
			words <- word{err: err}
			return
		}
		state, err := t.control.nextState(longest)
		words <- word{state, err}
	}()
	return words, func() {
		_ = t.conn.TCP.SetReadDeadline(time.Unix(1, 0))
		<-ended
	}
}

// early is why a client speaks before it was to, or is gone.
func early(w word, during string) error {
	switch {
	case w.err == nil && w.state == IperfDone: // as iperf3 does when it fails itself
		w.err = fmt.Errorf("%w: it gave up", ErrClientTerminated)
	case w.err == nil:
		w.err = fmt.Errorf("%w: %v", ErrMessage, w.state)
	}
	return fmt.Errorf("%s: %w", during, w.err)
}

// because makes an error a refusal, whose number the client gets, unless the
// client itself has ended the test or is gone.
func (t *session) because(n Number, doing string, err error) error {
	if errors.Is(err, ErrClosed) || errors.Is(err, ErrClientTerminated) || t.control.ended() != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return refuse(n, "%s: %v", doing, err)
}
