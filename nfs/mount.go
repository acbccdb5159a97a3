package nfs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fullbore/fullbore/nfs/rpc"
)

// Grant is what a server lets a client have.
type Grant struct {
	Version           string
	Size              int64 // of the file, in bytes
	MaxRead, MaxWrite int   // bytes of one request
	Slots             int   // requests on their way over all connections; 0: as many as the client likes
}

// maxSize is what fullbore asks for at once, in bytes: more than Linux's client (1 MiB,
// NFS_MAX_FILE_IO_SIZE) or server ever has, and what Linux 6.16's server can have
// (RPCSVC_MAXPAYLOAD).
const maxSize = 4 << 20

// size is how large a request may be, of what a server says.
func size(most uint32) int { return int(min(most, maxSize)) }

// protocol speaks of a file in one of NFS's versions.
type protocol interface {
	// join makes another connection one of the file's.
	join(ctx context.Context, c *rpc.Conn) error
	// call appends a request; data is what is written.
	call(w *rpc.Writer, slot int, q Request, data []byte) *rpc.Procedure
	// answer reads what came of it; what was read goes to take.
	answer(r *rpc.Reader, slot int, q Request, take func([]byte)) (outcome, error)
	// wanted says whether the server wants this slot to be used.
	wanted(slot int) bool
	// leave tells the server that this client goes.
	leave(ctx context.Context, d *dialer, c *rpc.Conn) error
}

// Mount is a file of a server, and the connections to it.
type Mount struct {
	Grant
	protocol protocol
	dialer   *dialer
	conns    []*rpc.Conn
}

// Options are how a file is mounted.
type Options struct {
	Connections int           // 1 to [MaxConnections]
	Depth       int           // requests that are to be on their way, over all of them
	Within      time.Duration // of a connection and of each call; 0: a minute
}

// Bounds of what one test may ask of a server.
const (
	MaxConnections = 64 // four times what Linux's clients may have (nconnect, nfs(5))
	MaxDepth       = 4096
)

// Open reaches the target's server and finds the file.
func Open(ctx context.Context, t Target, o Options) (_ *Mount, err error) {
	m := &Mount{dialer: &dialer{target: t, within: o.Within}}
	if m.dialer.within <= 0 {
		m.dialer.within = time.Minute
	}
	defer func() {
		if err != nil {
			_ = m.disconnect()
		}
	}()
	if err := m.find(ctx, t.Version, o.Depth); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Host, err)
	}
	for len(m.conns) < o.Connections {
		c, err := m.dialer.dial(ctx, t.Port)
		if err != nil {
			return nil, err
		}
		m.conns = append(m.conns, c)
		if err := m.protocol.join(ctx, c); err != nil {
			return nil, fmt.Errorf("%s: connection %d: %w", t.Host, len(m.conns), err)
		}
	}
	for _, c := range m.conns {
		c.Most = max(m.MaxRead, overhead) + overhead
	}
	return m, nil
}

// find finds the file by the version that was asked for, or by the newest that the server
// has.
func (m *Mount) find(ctx context.Context, version string, depth int) error {
	c, err := m.dialer.dial(ctx, m.dialer.target.Port)
	if err != nil {
		return err
	}
	m.conns = []*rpc.Conn{c}
	var grant *Grant
	if version != "3" {
		var p *v4
		minor := uint32(1)
		if version == "4.2" {
			minor = 2
		}
		if p, grant, err = open4(ctx, m.dialer, c, depth, minor); err == nil {
			m.protocol, m.Grant = p, *grant
			return nil
		}
		var denied *rpc.Denied
		if version != "" || !errors.As(err, &denied) && !is(err, "MINOR_VERS_MISMATCH") {
			return err
		}
	}
	p, grant, err := open3(ctx, m.dialer, c)
	if err != nil {
		return err
	}
	m.protocol, m.Grant = p, *grant
	return nil
}

// Call makes one request over the first connection, in its first slot, and gives how long
// it took.
func (m *Mount) Call(ctx context.Context, q Request) (took time.Duration, err error) {
	one := &once{Mount: m, request: q}
	if err := m.conns[0].Pipeline(ctx, 1, one); err != nil {
		return 0, err
	}
	return one.took, nil
}

// once is a pipeline's caller with one request.
type once struct {
	*Mount
	request Request
	called  bool
	took    time.Duration
}

func (o *once) Call(w *rpc.Writer, slot int) *rpc.Procedure {
	if o.called {
		return nil
	}
	o.called = true
	return o.protocol.call(w, slot, o.request, nil)
}

func (o *once) Answer(r *rpc.Reader, slot int) (time.Duration, error) {
	got, err := o.protocol.answer(r, slot, o.request, nil)
	o.called = got.again == 0 // else once more
	return got.again, err
}

func (o *once) Done(_ int, took time.Duration) { o.took = took }

// leaving bounds how long the server may take to let go of a client.
const leaving = 3 * time.Second

// Close tells the server that this client goes, and closes the connections.
func (m *Mount) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), leaving)
	defer cancel()
	return errors.Join(m.protocol.leave(ctx, m.dialer, m.conns[0]), m.disconnect())
}

func (m *Mount) disconnect() error {
	var errs []error
	for _, c := range m.conns {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
