package iperf3

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"
)

// A UDP flow is opened by one datagram each way: four bytes, an integer in the
// byte order of the host that sends it. Until 3.12 it was another integer. No
// server looks at it, and clients take either answer since 3.12 and any before.
//
//	C: hello, from a socket connected to the server's port
//	S: answer, from a socket connected to the client's: the flow
//
// Then the server waits for the next flow. iperf3 sends either word once, and
// waits 30 s: if one is lost, the test fails.
const (
	flowHello     = 0x36373839
	flowAnswer    = 0x39383736
	flowHelloOld  = 123456789
	flowAnswerOld = 987654321
	flowWordSize  = 4
)

// An end of ours says hello again when no answer comes. By then the server may
// have heard the first one, and iperf3 would count it as data, with whatever its
// buffer holds for a header. So what is said again looks like a datagram of data
// with a number that none has, 0: iperf3 counts one that is out of order, and no
// loss. The word stands behind the header of 16 bytes.
const flowAgainSize = 16 + flowWordSize

// flowPatience is when hello is said again: after 1 s, as TCP (RFC 6298), then
// after twice as long. The last is the wait before a flow is given up.
var flowPatience = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 3 * time.Second}

// dialFlow makes the socket of a flow.
func dialFlow(ctx context.Context, to netip.AddrPort) (*net.UDPConn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "udp", to.String())
	if err != nil {
		return nil, fmt.Errorf("open UDP flow: %w", err)
	}
	return conn.(*net.UDPConn), nil
}

// openFlow opens the flow to an iperf3 server that waits for one. The socket
// stays the caller's, and can be used even when ctx is done before the server
// has answered: by then, it may have begun.
func openFlow(ctx context.Context, conn *net.UDPConn, patience []time.Duration) (err error) {
	stopped := make(chan struct{})
	unblock := context.AfterFunc(ctx, func() {
		defer close(stopped)
		_ = conn.SetReadDeadline(time.Unix(1, 0))
	})
	defer func() {
		if !unblock() {
			<-stopped
		}
		if resetErr := conn.SetReadDeadline(time.Time{}); err == nil {
			err = resetErr
		}
	}()
	began := time.Now()
	hello := flowWord(binary.LittleEndian, flowHello)
	for _, wait := range patience {
		if err = say(ctx, conn, hello, wait); err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		hello = helloAgain(time.Now())
	}
	to, waited := conn.RemoteAddr(), time.Since(began).Round(100*time.Millisecond)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("open UDP flow: %s is closed: %w", to, err)
	}
	return fmt.Errorf("open UDP flow: %s did not answer on UDP within %v; a firewall that lets TCP through may hold back UDP: %w", to, waited, err)
}

// say says hello and waits for the answer.
func say(ctx context.Context, conn *net.UDPConn, hello []byte, wait time.Duration) error {
	until := time.Now().Add(wait)
	if err := conn.SetReadDeadline(until); err != nil {
		return err
	}
	if ctx.Err() != nil { // the deadline may just have replaced the one that is to end this
		return context.Cause(ctx)
	}
	_, refused := conn.Write(hello)
	for b := make([]byte, 64); ; {
		n, err := conn.Read(b)
		switch {
		case err == nil && isAnswer(b[:n]):
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return errors.Join(refused, err)
		case err != nil:
			refused = err // an ICMP error; the next wait says hello again
		}
	}
}

// flowWord is a word of the exchange.
func flowWord(order binary.AppendByteOrder, word uint32) []byte { return order.AppendUint32(nil, word) }

// helloAgain is the hello that does no harm as data.
func helloAgain(now time.Time) []byte {
	b := make([]byte, flowAgainSize)
	binary.BigEndian.PutUint32(b, uint32(now.Unix()))
	binary.BigEndian.PutUint32(b[4:], uint32(now.Nanosecond()/1000))
	binary.LittleEndian.PutUint32(b[16:], flowHello)
	return b
}

// isAgain says whether b is one.
func isAgain(b []byte) bool {
	return len(b) == flowAgainSize && binary.BigEndian.Uint64(b[8:]) == 0 && binary.LittleEndian.Uint32(b[16:]) == flowHello
}

func isAnswer(b []byte) bool {
	return len(b) == flowWordSize && slices.ContainsFunc([]binary.ByteOrder{binary.LittleEndian, binary.BigEndian}, func(o binary.ByteOrder) bool {
		word := o.Uint32(b)
		return word == flowAnswer || word == flowAnswerOld
	})
}

// answerTo is the answer to a client's hello, no longer than it, and in the
// client's byte order; nil: b is no hello.
func answerTo(b []byte) []byte {
	if isAgain(b) {
		return flowWord(binary.LittleEndian, flowAnswer)
	}
	if len(b) != flowWordSize {
		return nil
	}
	switch {
	case binary.LittleEndian.Uint32(b) == flowHello:
		return flowWord(binary.LittleEndian, flowAnswer)
	case binary.BigEndian.Uint32(b) == flowHello:
		return flowWord(binary.BigEndian, flowAnswer)
	case binary.LittleEndian.Uint32(b) == flowHelloOld:
		return flowWord(binary.LittleEndian, flowAnswerOld)
	case binary.BigEndian.Uint32(b) == flowHelloOld:
		return flowWord(binary.BigEndian, flowAnswerOld)
	}
	return nil
}
