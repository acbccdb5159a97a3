package iperf3

import (
	"errors"
	"net"
	"time"
)

// serverPatience is how long a server waits for a client in each phase. A
// client that is alive keeps to them; one that is not frees its place.
type serverPatience struct {
	parameters time.Duration // of the cookie's sender, from the server's first word on: a round trip, and two lost packets
	streams    time.Duration // of all streams together, and
	stream     time.Duration // for each more: they are connected one after the other, a round trip each, and a lost SYN is repeated after 1 s
	grace      time.Duration // from the time that was asked for to its end
	silence    time.Duration // of the data, if it is the client that sends it, beside what its rate explains
	word       time.Duration // a stream broke: a client that was stopped says so
	results    time.Duration // of the client's results, from the end of the data
	drain      time.Duration // to wait for the last bytes of a test of bytes; the client waits for the server's results meanwhile
	quiet      time.Duration // of a stream: then no more bytes come
	done       time.Duration // of the client's last word
	leave      time.Duration // to let the last word to a client arrive
	alive      net.KeepAliveConfig
}

// Clients have waited up to 10 s for the first byte of an answer and 30 s for
// all of it since iperf3 3.15, for ever before: the server is as patient with
// them, and must not take longer to answer. Its own grace is ten changes of
// state with a round trip of 4 s each, its own limit of silence 120 s
// (--rcv-timeout). A lost packet is repeated after 0.2 s and more (Linux), then
// after twice as long.
var usualServerPatience = serverPatience{
	parameters: 10 * time.Second, streams: 10 * time.Second, stream: time.Second,
	grace: 40 * time.Second, silence: 120 * time.Second, word: time.Second,
	results: 30 * time.Second, drain: 8 * time.Second, quiet: time.Second,
	done: 10 * time.Second, leave: 2 * time.Second,
	alive: keepAlive,
}

// watchOver finds out as soon as [keepAlive] says that a client's host is gone,
// also while something that was sent is not acknowledged: no probes are sent
// then.
func (t *session) watchOver() error {
	alive := t.patience.alive
	vanished := alive.Idle + time.Duration(alive.Count)*alive.Interval
	if err := errors.Join(t.conn.TCP.SetKeepAliveConfig(alive), setUserTimeout(t.conn.TCP, vanished)); err != nil {
		return refuse(IEInitTest, "watch over the control connection: %v", err)
	}
	return nil
}
