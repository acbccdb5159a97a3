package record

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// How the place of a relay begins, and that of one which somebody watches: only that is
// told of progress.
const (
	relayed = "unix:"
	watched = "watched:"
)

func isRelay(place string) bool {
	return strings.HasPrefix(place, relayed) || strings.HasPrefix(place, watched)
}

// Relay takes the runs of processes that cannot reach the store themselves, such as
// those on a lab's host, or whose runs somebody watches, and keeps them for those.
type Relay struct {
	dir      string
	listener net.Listener
	place    string // of the store, or of the next relay; Nowhere: they are only watched
	amend    func(*Header)
	observe  func(id string, m Message) // nil: nobody does
	group    sync.WaitGroup
}

// NewRelay begins to listen. amend completes the header of each run, as this process
// may know better what was asked for; observe is called with each message of a run, in
// their order, and must be quick. Either may be nil.
func NewRelay(place string, amend func(*Header), observe func(id string, m Message)) (*Relay, error) {
	dir, err := os.MkdirTemp("", "fullbore") // for this user only
	if err != nil {
		return nil, fmt.Errorf("relay the record: %w", err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "record"))
	if err != nil {
		return nil, fmt.Errorf("relay the record: %w", errors.Join(err, os.Remove(dir)))
	}
	r := &Relay{dir: dir, listener: listener, place: place, amend: amend, observe: observe}
	r.group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // it was closed
			}
			r.group.Go(func() {
				defer conn.Close()
				answer := ""
				if err := r.receive(conn); err != nil {
					answer = err.Error()
				}
				_ = json.NewEncoder(conn).Encode(answer) // to whoever still listens
			})
		}
	})
	return r, nil
}

// Place is what the environment of the other process has to say.
func (r *Relay) Place() string {
	kind := relayed
	if r.observe != nil || strings.HasPrefix(r.place, watched) {
		kind = watched
	}
	return kind + filepath.Join(r.dir, "record")
}

// Close waits until all is written whose processes have ended.
func (r *Relay) Close() error {
	err := r.listener.Close()
	r.group.Wait()
	return errors.Join(err, os.RemoveAll(r.dir))
}

// receive passes one run on. Whoever watches sees all of it, also where it cannot be kept.
func (r *Relay) receive(conn io.Reader) error {
	messages := json.NewDecoder(io.LimitReader(conn, mostRelayed))
	var first Message
	if err := messages.Decode(&first); err != nil || first.Begin == nil {
		return fmt.Errorf("a run does not begin: %w", unexpected(err))
	}
	if r.amend != nil {
		r.amend(first.Begin)
	}
	ctx := context.Background()
	id := first.Begin.ID
	r.tell(id, first)
	to, failed := r.open(ctx, *first.Begin)
	for {
		var m Message
		died := messages.Decode(&m)
		if died != nil {
			m = Message{End: &Outcome{State: Interrupted, Ended: time.Now(), Error: "its process was killed"}}
		}
		if m != (Message{}) {
			r.tell(id, m)
		}
		if failed == nil {
			failed = pass(ctx, to, m)
		}
		switch {
		case died != nil:
			return errors.Join(died, failed, to.close())
		case m.End != nil:
			return cmp.Or(failed, to.close())
		case failed != nil && r.observe == nil:
			return cmp.Or(failed, to.close()) // its process hears of it at once
		}
	}
}

// open begins a run where it is to be kept.
func (r *Relay) open(ctx context.Context, h Header) (sink, error) {
	if r.place == Nowhere {
		return nowhere{}, nil
	}
	to, err := openSink(ctx, r.place, h)
	if err != nil {
		return nowhere{}, err
	}
	return to, nil
}

func (r *Relay) tell(id string, m Message) {
	if r.observe != nil {
		r.observe(id, m)
	}
}

// pass writes a message, or a sign of life, which is an empty one.
func pass(ctx context.Context, to sink, m Message) error {
	if m == (Message{}) {
		return to.beat(ctx)
	}
	return to.write(ctx, m)
}

// nowhere is the sink of runs that are only watched.
type nowhere struct{}

func (nowhere) write(context.Context, Message) error { return nil }
func (nowhere) beat(context.Context) error           { return nil }
func (nowhere) close() error                         { return nil }

// mostRelayed bounds one run, in bytes of JSON: some thousand transfers.
const mostRelayed = 8 << 30

// relay is the sink that sends to one.
type relay struct {
	conn   net.Conn
	out    *bufio.Writer
	closed bool
}

func dialRelay(ctx context.Context, place string, h Header) (*relay, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", strings.TrimPrefix(strings.TrimPrefix(place, relayed), watched))
	if err != nil {
		return nil, err
	}
	r := &relay{conn: conn, out: bufio.NewWriter(conn)}
	if err := r.write(ctx, Message{Begin: &h}); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *relay) write(_ context.Context, m Message) error {
	err := json.NewEncoder(r.out).Encode(m)
	if err == nil {
		err = r.out.Flush()
	}
	if err != nil { // it has said why it listens no more
		return cmp.Or(r.close(), err)
	}
	return nil
}

func (r *relay) beat(ctx context.Context) error { return r.write(ctx, Message{}) }

// close waits for the answer, which says why the run is not kept.
func (r *relay) close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	defer r.conn.Close()
	var answer string
	if err := json.NewDecoder(io.LimitReader(r.conn, 1<<16)).Decode(&answer); err != nil {
		return fmt.Errorf("the process that keeps runs ended: %w", err)
	}
	if answer != "" {
		return errors.New(answer)
	}
	return nil
}
