package nfs

import (
	"context"
	"fmt"
	"time"

	"github.com/fullbore/fullbore/nfs/rpc"
)

// Caller calls a server's NULL procedure: what that takes is the network's and the server's
// threads' alone. It needs no file and no right.
type Caller struct {
	conn *rpc.Conn
	null *rpc.Procedure
}

// NewCaller connects to a server of a version (3, 4 or 4.x) of NFS.
func NewCaller(ctx context.Context, host string, port uint16, version string, within time.Duration) (*Caller, error) {
	c := &Caller{null: v4Null}
	switch version {
	case "3":
		c.null = v3Null
	case "4", "4.0", "4.1", "4.2":
	default:
		return nil, fmt.Errorf("version %s of NFS is none of 3, 4, 4.1, 4.2", version)
	}
	d := &dialer{target: Target{Host: host}, within: within}
	var err error
	c.conn, err = d.dial(ctx, port)
	return c, err
}

// Call calls once, and gives how long it took.
func (c *Caller) Call(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	err := c.conn.Call(ctx, c.null, func(*rpc.Writer) {}, func(*rpc.Reader) error { return nil })
	return time.Since(began), err
}

// Close ends the connection.
func (c *Caller) Close() error { return c.conn.Close() }
