package nfs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/fullbore/fullbore/nfs/rpc"
)

// dialer reaches a target's server.
type dialer struct {
	target Target
	within time.Duration // of a connection and of each call
}

// dial connects to a port of the server, from a port below 1024 where this process may have
// one: servers take requests from others only with the option insecure (exports(5)).
func (d *dialer) dial(ctx context.Context, port uint16) (*rpc.Conn, error) {
	address := net.JoinHostPort(d.target.Host, strconv.Itoa(int(port)))
	ctx, cancel := context.WithTimeout(ctx, d.within)
	defer cancel()
	conn, err := reserved(ctx, address)
	if err != nil {
		return nil, explain(err, address)
	}
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	c := rpc.New(conn, rpc.Identity{Host: name, UID: d.target.UID, GID: d.target.GID})
	c.Within = d.within
	return c, nil
}

// The ports that bindresvport(3) takes, from the end that others use last.
const (
	firstReserved = 600
	lastReserved  = 1023
	reservedTries = 32
)

// reserved connects from a reserved port, or from any if this process may have none or all
// are taken.
func reserved(ctx context.Context, address string) (net.Conn, error) {
	for range reservedTries {
		local := firstReserved + rand.IntN(lastReserved-firstReserved+1)
		conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{Port: local}}).DialContext(ctx, "tcp", address)
		switch {
		case err == nil:
			return conn, nil
		case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, syscall.EADDRNOTAVAIL):
			continue
		case errors.Is(err, os.ErrPermission):
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}
		return nil, err
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

func explain(err error, address string) error {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens on %s: %w", address, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s does not answer: is a firewall in between?", address)
	}
	return fmt.Errorf("connect to %s: %w", address, err)
}

// mount connects to the server of MOUNT, whose port the portmapper knows.
func (d *dialer) mount(ctx context.Context) (*rpc.Conn, error) {
	port := d.target.MountPort
	if port == 0 {
		var err error
		if port, err = d.port(ctx, mountMnt); err != nil {
			return nil, fmt.Errorf("find the port of MOUNT, or name it with ?mountport=N: %w", err)
		}
		d.target.MountPort = port
	}
	return d.dial(ctx, port)
}

// port asks the server's portmapper for the TCP port of a program.
func (d *dialer) port(ctx context.Context, p *rpc.Procedure) (port uint16, err error) {
	c, err := d.dial(ctx, portmapPort)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	err = c.Call(ctx, portmapGetPort, func(w *rpc.Writer) {
		for _, v := range [...]uint32{p.Program, p.Version, tcp, 0} {
			w.Uint32(v)
		}
	}, func(r *rpc.Reader) error {
		v := r.Uint32()
		if r.Err() == nil && (v == 0 || v > 65535) {
			return fmt.Errorf("the portmapper of %s knows no port of program %d, version %d", d.target.Host, p.Program, p.Version)
		}
		port = uint16(v)
		return nil
	})
	return port, err
}
