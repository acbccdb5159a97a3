// Package ndt7 speaks M-Lab's ndt7 protocol at both ends: one TCP connection
// under a WebSocket, up or down, for ten seconds.
//
// The server is a [Handler], so that browsers and M-Lab's clients can test
// against a far end; the client is [Test]. Both follow version 0.11.0 of the
// specification (spec/ndt7-protocol.md of github.com/m-lab/ndt-server) and,
// where it leaves a choice, what M-Lab's own server and clients do.
//
// M-Lab's server switches every connection to BBR, to measure the network. This
// one leaves the host's congestion control alone: what is measured here is the
// path as this host is configured to use it.
//
// # Web pages
//
// A WebSocket may be opened by any page that a browser shows, also by one of
// another host: that is how speed test pages work, and M-Lab's server lets all
// of them. It also means that a page on the Internet can make its visitors load
// a far end in their own network, and learn how fast it is and which addresses
// both have there. It learns nothing else, and [Handler.Foreign] bounds the
// load: tests that pages of other hosts begin have few places of their own
// within those of all tests, and never more. A page is of this host only if it
// came from the address that it tests with: its owner can make a name point
// anywhere.
package ndt7

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// What both ends agree on beforehand.
const (
	Subprotocol  = "net.measurementlab.ndt.v7" // Sec-WebSocket-Protocol
	DownloadPath = "/ndt/v7/download"
	UploadPath   = "/ndt/v7/upload"
)

const (
	// usualDuration is how long a test lasts, from the end of the handshake on:
	// "up to ten seconds" by the specification.
	usualDuration = 10 * time.Second
	// LongestTest ends a test whatever happens: spec.MaxRuntime of M-Lab's
	// server, and its clients' limit of a download.
	LongestTest = 15 * time.Second
	// ioPatience is how long nothing may move: params.IOTimeout of M-Lab's Go
	// client, for its handshake too.
	ioPatience = 7 * time.Second
	// farewell bounds the leave that a server takes of its clients when it stops:
	// round trips on the longest terrestrial path, behind a queue.
	farewell = time.Second

	// The load comes in binary messages of random bytes. They grow while they
	// are small beside what was sent, so that a fast path sees few of them and a
	// slow one short ones. The specification allows 16 MiB; M-Lab's clients read
	// no more than 1 MiB.
	firstMessage   = 1 << 13
	largestMessage = 1 << 20
	growBelow      = 16 // a message doubles when it is at most this part of all

	// readLimit is the least that an implementation has to take as one message.
	readLimit = 1 << 24
	// readLength is how much is read at once: what iperf3 reads.
	readLength = 128 << 10

	// textsPerSecond is how many text messages an end should not exceed "on the
	// average"; manyTexts is beyond what that allows in the longest test.
	textsPerSecond = 10
	manyTexts      = textsPerSecond*int(LongestTest/time.Second) + 50
)

// testName is what the protocol calls a direction.
func testName(d bulk.Direction) string {
	if d == bulk.Reverse {
		return "download"
	}
	return "upload"
}

// messageSize gives the length of the next message, after one of the given size
// with which total bytes were sent.
func messageSize(size int, total int64) int {
	if size < largestMessage && int64(size) <= total/growBelow {
		return 2 * size
	}
	return size
}

// payload is what all load is cut from: random, so that nothing on the path can
// compress it, and made once. Nobody writes to it.
var payload = sync.OnceValue(func() []byte {
	b := make([]byte, largestMessage)
	rand.NewChaCha8([32]byte{}).Read(b) //nolint:errcheck // never fails
	return b
})
