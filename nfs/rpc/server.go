package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/buildbarn/go-xdr/pkg/protocols/rpcv2"
	"golang.org/x/sync/semaphore"
)

// Received is a call that a server was sent.
type Received struct {
	Program, Version, Procedure uint32
	UID, GID                    uint32 // of AUTH_SYS; nobody's for others
}

// identify reads who calls, in the words of AUTH_SYS; false: those are not its words.
func (c *Received) identify(body []byte) bool {
	b := NewReader(body)
	b.Uint32() // when
	b.Opaque(maxAuth)
	c.UID, c.GID = b.Uint32(), b.Uint32()
	return b.Err() == nil
}

// nobody is who calls without AUTH_SYS: what Linux takes for it (exports(5), anonuid).
const nobody = 65534

// Handler answers a call: it reads the arguments, appends the result and returns
// *[rpcv2.AcceptedReplyData_SUCCESS], or says why there is none.
type Handler func(call *Received, args *Reader, result *Writer) rpcv2.AcceptedReplyData

// Success is what a handler returns.
var Success rpcv2.AcceptedReplyData = &rpcv2.AcceptedReplyData_SUCCESS{}

// Refused is what a handler returns instead.
func Refused(why rpcv2.AcceptStat) rpcv2.AcceptedReplyData {
	return &rpcv2.AcceptedReplyData_default{Stat: why}
}

// idle is after how long a connection without calls is closed: as Linux's server does it
// (svc_conn_age_period, net/sunrpc/svc_xprt.c). Clients connect again.
const idle = 6 * time.Minute

// maxOut is how many bytes of answers are sent at once, and more only for a single answer.
const maxOut = 1 << 20

// Pace makes a server one that is slow on purpose, for tests of its clients. Connections
// that have the same one share its threads, and the memory of calls that wait.
type Pace struct {
	Latency time.Duration // of each call, in which it has a thread
	threads chan struct{}
	memory  *semaphore.Weighted // bytes
}

// maxWaiting is how many bytes the calls have that wait for their answer, over all
// connections; then no more are read.
const maxWaiting = 256 << 20

// NewPace has that many threads; 0: one for each call.
func NewPace(latency time.Duration, threads int) *Pace {
	p := &Pace{Latency: latency, memory: semaphore.NewWeighted(maxWaiting)}
	if threads > 0 {
		p.threads = make(chan struct{}, threads)
	}
	return p
}

// take waits for a thread and then as long as a call is to take.
func (p *Pace) take() (release func()) {
	if p.threads != nil {
		p.threads <- struct{}{}
	}
	time.Sleep(p.Latency)
	return func() {
		if p.threads != nil {
			<-p.threads
		}
	}
}

// Serve answers the calls of a connection until it ends; one of more than most bytes ends
// it. Answers are sent when there is no other call to read. With a pace, which may be nil,
// they are sent as each is ready.
func Serve(conn net.Conn, most int, pace *Pace, handle Handler) error {
	c := &Conn{conn: conn, Most: most}
	s := &server{Conn: c, handle: handle}
	c.in = input{fill: s.fill, buf: make([]byte, roomSize)}
	next := s.answer
	if pace != nil {
		slow := &slowServer{server: s, pace: pace, places: make(chan struct{}, maxPending)}
		defer slow.pending.Wait()
		next = slow.answer
	}
	for {
		err := next()
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, net.ErrClosed):
			return nil
		default:
			return err
		}
	}
}

type server struct {
	*Conn
	handle  Handler
	look    time.Time // when the deadline is to be set again
	reader  Reader
	halfway bool // through an answer: it cannot be sent yet
}

// fill reads what there is, after it has sent the answers.
func (s *server) fill(b []byte) (int, error) {
	if !s.halfway {
		if err := s.send(); err != nil {
			return 0, err
		}
	}
	if now := time.Now(); now.After(s.look) {
		if err := s.conn.SetDeadline(now.Add(idle)); err != nil {
			return 0, err
		}
		s.look = now.Add(idle / 10)
	}
	return s.conn.Read(b)
}

func (s *server) send() error {
	if len(s.out.b) == 0 {
		return nil
	}
	_, err := s.conn.Write(s.out.b)
	s.out.b = s.out.b[:0]
	return err
}

// answer takes a call and answers it.
func (s *server) answer() error {
	r := &s.reader
	if err := s.record(s.Most, r); err != nil {
		return err
	}
	if s.in.end-s.in.begin < r.left { // it may take a while until the rest is there
		if err := s.send(); err != nil {
			return err
		}
	}
	s.halfway = true
	defer func() { s.halfway = false }()
	if err := s.reply(r, &s.out); err != nil || len(s.out.b) < maxOut {
		return err
	}
	return s.send()
}

// reply appends the answer to the call that r has.
func (s *server) reply(r *Reader, w *Writer) error {
	w.begun = len(w.b)
	w.Uint32(0) // the mark
	w.Uint32(r.Uint32())
	w.Uint32(msgReply)
	call, refusal, err := received(r)
	if err != nil {
		return err
	}
	if refusal != nil {
		_, _ = refusal.WriteTo(w) // a Writer takes all
	} else {
		w.Uint32(uint32(rpcv2.MSG_ACCEPTED))
		w.Uint32(flavorNone)
		w.Uint32(0)
		s.result(call, r, w)
	}
	if isMalformed(r.err) {
		r.err = nil
	}
	if r.Skip(r.left); r.err != nil {
		return r.err
	}
	w.end()
	return nil
}

func (s *server) result(call *Received, r *Reader, w *Writer) {
	before := len(w.b)
	w.Uint32(uint32(rpcv2.SUCCESS))
	data := s.handle(call, r, w)
	if isMalformed(r.err) {
		data = Refused(rpcv2.GARBAGE_ARGS)
	}
	if data.GetStat() != rpcv2.SUCCESS {
		w.b = w.b[:before]
		_, _ = data.WriteTo(w)
	}
}

// slowServer answers each call in a goroutine of its own.
type slowServer struct {
	*server
	pace    *Pace
	places  chan struct{}
	pending sync.WaitGroup
	writing sync.Mutex
}

// maxPending is how many calls of a connection wait for their answer; then no more are
// read.
const maxPending = 4096

func (s *slowServer) answer() error {
	r := &s.reader
	if err := s.record(s.Most, r); err != nil {
		return err
	}
	size := int64(r.left)
	if err := s.pace.memory.Acquire(context.Background(), size); err != nil { // it has no deadline
		return err
	}
	record := make([]byte, 0, size)
	r.skip(r.left, func(part []byte) { record = append(record, part...) })
	if r.err != nil {
		s.pace.memory.Release(size)
		return r.err
	}
	s.places <- struct{}{}
	s.pending.Go(func() {
		defer func() { <-s.places; s.pace.memory.Release(size) }()
		release := s.pace.take()
		var w Writer
		err := s.reply(NewReader(record), &w)
		release()
		s.writing.Lock()
		defer s.writing.Unlock()
		if err == nil {
			_, err = s.conn.Write(w.b)
		}
		if err != nil {
			_ = s.conn.Close() // so that reading ends, too
		}
	})
	return nil
}

func isMalformed(err error) bool {
	var m *Malformed
	return errors.As(err, &m)
}

// received reads the head of a call, behind its number. A refusal is the answer to a call
// that cannot be served; an error ends the connection.
func received(r *Reader) (_ *Received, refusal rpcv2.ReplyBody, err error) {
	if kind := r.Uint32(); r.err == nil && kind != msgCall {
		return nil, nil, fmt.Errorf("a message of kind %d instead of a call", kind)
	}
	if v := r.Uint32(); r.err == nil && v != rpcVersion {
		mismatch := &rpcv2.RejectedReply_RPC_MISMATCH{}
		mismatch.MismatchInfo.Low, mismatch.MismatchInfo.High = rpcVersion, rpcVersion
		return nil, &rpcv2.ReplyBody_MSG_DENIED{Rreply: mismatch}, nil
	}
	call := &Received{Program: r.Uint32(), Version: r.Uint32(), Procedure: r.Uint32(), UID: nobody, GID: nobody}
	flavor := r.Uint32()
	if body := r.Opaque(maxAuth); flavor == flavorSys && body != nil && !call.identify(body) {
		return nil, &rpcv2.ReplyBody_MSG_DENIED{Rreply: &rpcv2.RejectedReply_AUTH_ERROR{Stat: rpcv2.AUTH_BADCRED}}, nil
	}
	r.Uint32()
	r.Opaque(maxAuth) // the verifier
	if r.err != nil {
		return nil, nil, r.err
	}
	if flavor != flavorNone && flavor != flavorSys {
		return nil, &rpcv2.ReplyBody_MSG_DENIED{Rreply: &rpcv2.RejectedReply_AUTH_ERROR{Stat: rpcv2.AUTH_TOOWEAK}}, nil
	}
	return call, nil, nil
}

// Service makes a handler of one that go-xdr has generated.
func Service(call *Received, args *Reader, result *Writer, generated func(vers, proc uint32, parameters io.ReadCloser, newReturnValue func(int) io.Writer) (rpcv2.AcceptedReplyData, error)) rpcv2.AcceptedReplyData {
	data, err := generated(call.Version, call.Procedure, io.NopCloser(args), func(int) io.Writer { return result })
	switch {
	case err == nil:
		return data
	case args.err != nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return Refused(rpcv2.GARBAGE_ARGS)
	}
	return Refused(rpcv2.SYSTEM_ERR)
}
