package iperf3

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// gather lets the client open its streams, and waits until all are there and
// prepared.
func (t *session) gather(ctx context.Context, said <-chan word) ([]bulk.Conn, error) {
	if t.spec().Protocol == bulk.UDP {
		return t.gatherFlows(ctx, said)
	}
	want := connections(t.spec())
	t.door.unlock(want)
	err := t.control.writeState(CreateStreams)
	if err == nil {
		err = t.await(ctx, said, t.door.full)
	}
	came := t.door.shut()
	conns := make([]bulk.Conn, len(came))
	for i, c := range came {
		conns[i] = bulk.Conn{ID: StreamID(i), Sender: t.sends(i), Server: true, TCP: c.TCP}
	}
	if err == nil {
		err = t.prepare(conns)
	} else if len(came) < want {
		err = fmt.Errorf("%w (%d of %d streams came)", err, len(came), want)
	}
	if err != nil {
		closeStreams(conns)
		return nil, err
	}
	return conns, nil
}

// sends says whether the server sends on the i-th stream, from 0: of a test in
// both directions it is the client on the first half.
func (t *session) sends(i int) bool {
	return t.spec().Direction == bulk.Reverse || t.spec().Direction == bulk.Both && i >= t.spec().Streams
}

// await waits until all streams are there.
func (t *session) await(ctx context.Context, said <-chan word, full <-chan struct{}) error {
	within := t.attaching(t.spec())
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-full:
		return nil
	case w := <-said:
		return early(w, "wait for streams")
	case <-late.C:
		return refuse(IEStreamAccept, "the streams did not come within %v", within)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// prepare sets the options of the streams. What must be there before the
// handshake cannot be set any more: the window scale is that of the listening
// socket, and the MSS only bounds what this end sends (the client's own does so
// for what it sends).
func (t *session) prepare(conns []bulk.Conn) error {
	for _, c := range conns {
		err := bulk.Prepare(c.TCP, t.spec(), c.Sender)
		if name := t.spec().Congest; err != nil && name != "" {
			// As with iperf3: the client learns from the results what was used.
			t.Log.Warn("congestion control not set", "client", t.client, "err", err)
			t.record.Result.Spec.Congest = ""
			err = bulk.Prepare(c.TCP, t.spec(), c.Sender)
			t.record.Result.Spec.Congest = name
		}
		if err != nil {
			return refuse(IEInitTest, "prepare stream %d: %v", c.ID, err)
		}
		if err := t.buffers(c); err != nil {
			return err
		}
	}
	return nil
}

// buffers checks that a socket has the buffer that was asked for, as iperf3
// does: the kernel cuts it to a limit of its own without a word.
func (t *session) buffers(c bulk.Conn) error {
	window, limit := t.spec().SendBuf, "wmem_max"
	if !c.Sender {
		window, limit = t.spec().RecvBuf, "rmem_max"
	}
	if window == 0 {
		return nil
	}
	have, err := bufferSize(c.TCP, c.Sender)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil
	case err != nil:
		return refuse(IESetBuf2, "read socket buffer of stream %d: %v", c.ID, err)
	case have < window:
		return refuse(IESetBuf2, "a window of %d bytes, and this host allows %d (net.core.%s)", window, have, limit)
	}
	return nil
}
