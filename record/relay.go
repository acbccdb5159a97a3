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

// relayed is how the place of a relay begins.
const relayed = "unix:"

// Relay takes the runs of processes that cannot reach the store themselves, such as
// those on a lab's host, and keeps them for those.
type Relay struct {
	dir      string
	listener net.Listener
	place    string // of the store
	amend    func(*Header)
	group    sync.WaitGroup
}

// NewRelay begins to listen. amend completes the header of each run: this process
// knows better what was asked for.
func NewRelay(place string, amend func(*Header)) (*Relay, error) {
	dir, err := os.MkdirTemp("", "fullbore") // for this user only
	if err != nil {
		return nil, fmt.Errorf("relay the record: %w", err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "record"))
	if err != nil {
		return nil, fmt.Errorf("relay the record: %w", errors.Join(err, os.Remove(dir)))
	}
	r := &Relay{dir: dir, listener: listener, place: place, amend: amend}
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
func (r *Relay) Place() string { return relayed + filepath.Join(r.dir, "record") }

// Close waits until all is written whose processes have ended.
func (r *Relay) Close() error {
	err := r.listener.Close()
	r.group.Wait()
	return errors.Join(err, os.RemoveAll(r.dir))
}

// receive keeps one run.
func (r *Relay) receive(conn io.Reader) error {
	messages := json.NewDecoder(io.LimitReader(conn, mostRelayed))
	var first Message
	if err := messages.Decode(&first); err != nil || first.Begin == nil {
		return fmt.Errorf("a run does not begin: %w", unexpected(err))
	}
	r.amend(first.Begin)
	ctx := context.Background()
	store, err := Open(ctx, r.place)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	w, err := store.begin(ctx, *first.Begin)
	if err != nil {
		return err
	}
	for {
		var m Message
		err := messages.Decode(&m)
		switch {
		case err != nil: // it died
			return errors.Join(err, w.write(ctx, Message{End: &Outcome{State: Interrupted, Ended: time.Now(), Error: "its process was killed"}}))
		case m == Message{}:
			err = w.beat(ctx)
		default:
			err = w.write(ctx, m)
		}
		if err != nil || m.End != nil {
			return err
		}
	}
}

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
	conn, err := dialer.DialContext(ctx, "unix", strings.TrimPrefix(place, relayed))
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
