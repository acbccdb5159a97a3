package ndt7

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/fullbore/fullbore/bulk"
)

// session is one test at the server.
type session struct {
	ws       *websocket.Conn
	tcp      *net.TCPConn // below it
	wish     wish
	duration time.Duration
	patience time.Duration // how long nothing may move
	info     *ConnectionInfo
	began    time.Time
	took     time.Duration // once it is over

	bytes  atomic.Int64 // of load, so far
	enough atomic.Bool  // the time is up: the message that is being sent is the last
	over   atomic.Bool  // what still moves does not count
	watch  *time.Timer  // rings when nothing has moved for so long
}

func newSession(ws *websocket.Conn, tcp *net.TCPConn, w wish, duration time.Duration) *session {
	ws.SetReadLimit(readLimit)
	now := time.Now()
	return &session{
		ws: ws, tcp: tcp, wish: w, duration: duration, patience: ioPatience, began: now,
		info: &ConnectionInfo{
			Client: tcp.RemoteAddr().String(), Server: tcp.LocalAddr().String(),
			UUID: rand.Text(), StartTime: now.UTC().Format(time.RFC3339Nano),
		},
	}
}

func (s *session) client() netip.AddrPort {
	address, _ := s.tcp.RemoteAddr().(*net.TCPAddr)
	from := address.AddrPort()
	return netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
}

func (s *session) counted() int64 { return s.bytes.Load() }

var (
	errVanished = errors.New("client vanished: nothing moved for too long")
	errLongest  = fmt.Errorf("it was not over after %v", LongestTest)
	errTexts    = errors.New("client sent more than ten text messages a second")
	errBinary   = errors.New("client sent binary messages in a download")
)

// run sees the test through and closes the connection. A client may leave at any
// time: that is no error.
func (s *session) run(ctx context.Context) error {
	life := ctx
	ctx, cut := context.WithCancelCause(context.WithoutCancel(life))
	defer cut(nil)
	// The client of a server that stops is informed, if that takes no longer than this.
	defer context.AfterFunc(life, func() { time.AfterFunc(farewell, func() { cut(context.Cause(life)) }) })()
	limit := time.AfterFunc(LongestTest, func() { cut(errLongest) })
	defer limit.Stop()
	s.watch = time.AfterFunc(s.patience, func() { cut(errVanished) })
	defer s.watch.Stop()
	// A reset frees what the kernel still holds for a client that is gone, and
	// ends every read and write: these have no limits of their own.
	defer context.AfterFunc(ctx, func() {
		_ = s.tcp.SetLinger(0)
		_ = s.tcp.Close()
	})()

	left := make(chan error, 2)
	var receiving, sending sync.WaitGroup
	receiving.Go(func() { left <- s.receive() })
	if s.wish.direction == bulk.Reverse {
		sending.Go(func() {
			if err := s.send(); err != nil {
				left <- err
			}
		})
	}
	err := s.measure(life, left)
	if s.enough.Store(true); err == nil {
		sending.Wait() // for the last message
		err = context.Cause(ctx)
	}
	s.over.Store(true)
	s.took = time.Since(s.began)
	switch {
	case err == nil:
		_ = s.sendMeasurement() // the last measurement is the summary
		_ = s.ws.Close(websocket.StatusNormalClosure, "Done sending")
	case errors.Is(err, errTexts) || errors.Is(err, errBinary):
		_ = s.ws.Close(websocket.StatusPolicyViolation, err.Error())
	case life.Err() != nil:
		_ = s.ws.Close(websocket.StatusGoingAway, "the server stops")
	}
	_ = s.ws.CloseNow()
	sending.Wait()
	receiving.Wait()
	if err == nil { // however the closing handshake went
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if gone(err) {
		return nil
	}
	return err
}

// gone says that an error is what a client's leaving looks like: a Close frame,
// or, as M-Lab's Go client does it, none. http.Server cancels the request of one
// that leaves during the handshake.
func gone(err error) bool {
	var network net.Error
	return websocket.CloseStatus(err) != -1 || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, context.Canceled) || errors.As(err, &network)
}

// measure sends measurements until the time is up (nil), a side has left or the
// server stops.
// They come at random, so that they do not fall in step with anything on the
// path: 250 ms apart on the average, as M-Lab's server has it.
func (s *session) measure(life context.Context, left <-chan error) error {
	end := time.NewTimer(s.duration)
	defer end.Stop()
	for {
		pause := time.Duration(mathrand.ExpFloat64() * float64(250*time.Millisecond))
		select {
		case <-time.After(min(max(pause, 25*time.Millisecond), 625*time.Millisecond)):
			if err := s.sendMeasurement(); err != nil {
				return err
			}
			if s.wish.enough > 0 && s.acked() >= s.wish.enough {
				return nil
			}
		case <-end.C:
			return nil
		case <-life.Done():
			return context.Cause(life)
		case err := <-left:
			return err
		}
	}
}

// sendMeasurement sends one measurement.
func (s *session) sendMeasurement() error {
	text, err := json.Marshal(s.look())
	if err != nil {
		return err
	}
	return s.ws.Write(context.Background(), websocket.MessageText, text)
}

func (s *session) look() *Measurement {
	elapsed := time.Since(s.began)
	if s.over.Load() {
		elapsed = s.took
	}
	m := &Measurement{
		ConnectionInfo: s.info, Origin: "server", Test: testName(s.wish.direction),
		AppInfo: &AppInfo{NumBytes: s.bytes.Load(), ElapsedTime: elapsed.Microseconds()},
	}
	now := time.Since(s.began).Microseconds()
	if m.BBRInfo = bbrInfo(s.tcp); m.BBRInfo != nil {
		m.BBRInfo.ElapsedTime = now
	}
	if info, err := bulk.Inspect(s.tcp); err == nil {
		m.TCPInfo = &TCPInfo{TCPInfo: info, ElapsedTime: now}
	}
	return m
}

// acked is how much of a download has arrived, or was written where the kernel
// does not report it.
func (s *session) acked() int64 {
	if info, err := bulk.Inspect(s.tcp); err == nil && info.BytesAcked > 0 {
		return int64(info.BytesAcked)
	}
	return s.bytes.Load()
}

// send writes load until the time is up.
func (s *session) send() error {
	var total int64
	for size := firstMessage; !s.enough.Load(); size = messageSize(size, total) {
		if err := s.ws.Write(context.Background(), websocket.MessageBinary, payload()[:size]); err != nil {
			return err
		}
		total += int64(size)
		s.moved(size)
	}
	return nil
}

// receive reads until the client leaves: load in an upload, the client's own
// measurements, which are not asked for here, at any time.
func (s *session) receive() error {
	buffer := make([]byte, readLength)
	for texts := 0; ; {
		kind, message, err := s.ws.Reader(context.Background())
		switch {
		case err != nil:
			return err
		case kind == websocket.MessageText:
			if texts++; texts > manyTexts {
				return errTexts
			}
		case s.wish.direction == bulk.Reverse:
			return errBinary
		}
		for {
			n, err := message.Read(buffer)
			if kind == websocket.MessageBinary {
				s.moved(n)
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
		}
	}
}

// moved counts load.
func (s *session) moved(n int) {
	if n == 0 {
		return
	}
	s.watch.Reset(s.patience)
	if !s.over.Load() {
		s.bytes.Add(int64(n))
	}
}
