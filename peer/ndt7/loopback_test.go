package ndt7

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/fullbore/fullbore/bulk"
)

// Both ends, over plain connections and TLS, agree on what went over, and the
// client's result holds what the server told.
func TestBothEndsAgree(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, direction := range bothDirections {
			t.Run(fmt.Sprintf("tls=%v/%s", secure, direction), func(t *testing.T) {
				s := startServer(t, &Handler{Longest: time.Second}, secure)
				var seen []bulk.Progress
				result, err := Test(within(t, generous), targetOf(s.Server), Options{Direction: direction, InsecureSkipVerify: secure},
					func(p bulk.Progress) { seen = append(seen, p) })
				if err != nil {
					t.Fatal(err)
				}
				came := s.came(t)
				if came.Err != nil || result.Client.Error != "" || result.Server.Error != "" {
					t.Errorf("server: %v; in the result, client: %q, server: %q", came.Err, result.Client.Error, result.Server.Error)
				}
				if came.Direction != direction || came.Client.String() != result.Client.Streams[0].Local {
					t.Errorf("the server knows it as %+v", came)
				}
				ours, theirs := result.Client.Streams[0], result.Server.Streams[0]
				if theirs.Bytes != min(came.Bytes, ours.Bytes) || theirs.Local != ours.Remote || theirs.Remote != ours.Local {
					t.Errorf("the server counted %d bytes from %v, the result has %d from %s", came.Bytes, came.Client, theirs.Bytes, theirs.Remote)
				}
				// All that the server writes arrives. Of an upload the client
				// goes on until it hears that the time is up.
				if direction == bulk.Reverse && ours.Bytes != theirs.Bytes {
					t.Errorf("%d bytes sent, %d received", theirs.Bytes, ours.Bytes)
				}
				if direction == bulk.Forward && (theirs.Bytes > ours.Bytes || theirs.Bytes < ours.Bytes/2) {
					t.Errorf("%d bytes sent, %d received", ours.Bytes, theirs.Bytes)
				}
				if goodput := result.Goodput(direction); goodput <= 0 {
					t.Errorf("goodput %v", goodput)
				}
				if len(seen) < 3 || !slices.ContainsFunc(seen, func(p bulk.Progress) bool { return p.Rate > 0 && p.Sent+p.Received > 0 }) {
					t.Errorf("%d looks", len(seen))
				}
				if runtime.GOOS == "linux" {
					checkKernel(t, ours, theirs)
				}
			})
		}
	}
}

// checkKernel: what only the kernel knows is there, of both ends.
func checkKernel(t *testing.T, ours, theirs bulk.Stream) {
	t.Helper()
	if ours.Congestion == "" || ours.MSS == 0 || ours.SendBuf == 0 || ours.RecvBuf == 0 || theirs.MSS == 0 {
		t.Errorf("client: %q, MSS %d, buffers %d and %d; server: MSS %d", ours.Congestion, ours.MSS, ours.SendBuf, ours.RecvBuf, theirs.MSS)
	}
	if len(ours.Samples) < 3 || len(theirs.Samples) == 0 {
		t.Fatalf("%d samples of the client, %d of the server", len(ours.Samples), len(theirs.Samples))
	}
	sender, receiver := ours, theirs
	if !sender.Sender {
		sender, receiver = theirs, ours
	}
	if sent := sender.Samples[len(sender.Samples)-1].TCP; sent.BytesAcked == 0 || sent.BusyTime == 0 || sender.Retransmits < 0 {
		t.Errorf("the sender's kernel says %+v, %d sent again", sent, sender.Retransmits)
	}
	if got := receiver.Samples[len(receiver.Samples)-1].TCP; got.BytesReceived == 0 || receiver.Retransmits != -1 {
		t.Errorf("the receiver's kernel says %+v", got)
	}
}

// A client that wants less than ten seconds parts in order.
func TestShorterTest(t *testing.T) {
	for _, direction := range bothDirections {
		s := startServer(t, &Handler{}, false)
		result, err := Test(within(t, generous), targetOf(s.Server), Options{Direction: direction, Duration: 500 * time.Millisecond}, nil)
		if err != nil || result.Client.Error != "" {
			t.Fatalf("%s: %v, %q", direction, err, result.Client.Error)
		}
		if came := s.came(t); came.Err != nil || came.Elapsed > 5*time.Second {
			t.Errorf("%s: the server has %+v", direction, came)
		}
		// Of a download that short there may be no word of the server's.
		if direction == bulk.Forward && (len(result.Server.Streams) == 0 || result.Server.Streams[0].Bytes != result.Client.Streams[0].Bytes) {
			t.Errorf("of %d bytes sent the server has %+v", result.Client.Streams[0].Bytes, result.Server)
		}
		if took := result.Client.Streams[0].Elapsed; took < 400*time.Millisecond || took > 5*time.Second {
			t.Errorf("%s took %v", direction, took)
		}
	}
}

func TestCallerEndsTest(t *testing.T) {
	for _, direction := range bothDirections {
		s := startServer(t, &Handler{}, false)
		ctx, cancel := context.WithCancelCause(within(t, generous))
		why := errors.New("enough")
		result, err := Test(ctx, targetOf(s.Server), Options{Direction: direction}, func(p bulk.Progress) {
			if p.At > 300*time.Millisecond {
				cancel(why)
			}
		})
		if !errors.Is(err, why) || result == nil || result.Client.Streams[0].Bytes == 0 {
			t.Errorf("%s: %v, %v", direction, err, result)
		}
		if came := s.came(t); came.Err != nil { // clients may leave
			t.Errorf("%s: the server has %+v", direction, came)
		}
	}
}

// When the far end stops, its tests do, and clients are told.
func TestServerStops(t *testing.T) {
	for _, path := range []string{DownloadPath, UploadPath} {
		ctx, stop := context.WithCancel(t.Context())
		s := start(t, withContext(ctx, &Handler{}), false)
		ws := open(t, s, path)
		time.AfterFunc(100*time.Millisecond, stop)
		if err := readAll(t, ws); websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("%s: ends with %v", path, err)
		}
	}
}

// A client of ours takes it as an end before its time.
func TestServerStopsEarly(t *testing.T) {
	s := &server{served: make(chan Served, 1)}
	ctx, stop := context.WithCancelCause(t.Context())
	h := &Handler{Done: func(came Served) { s.served <- came }}
	s.Server = start(t, withContext(ctx, h), false)
	why := errors.New("stopping")
	result, err := Test(within(t, generous), targetOf(s.Server), Options{Direction: bulk.Reverse}, func(p bulk.Progress) { stop(why) })
	if err != nil || result.Client.Error == "" {
		t.Errorf("client: %v, %+v", err, result)
	}
	if came := s.came(t); !errors.Is(came.Err, why) {
		t.Errorf("server: %+v", came)
	}
}
