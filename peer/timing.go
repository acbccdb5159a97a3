package peer

import "time"

// timing is how long a far end waits for a client in each phase.
type timing struct {
	// decide bounds the time a connection may stay anonymous. A SYN, its answer
	// and the first bytes may each be lost twice (1 s, then 2 s).
	decide time.Duration
	// request bounds the greeting of TLS and the arrival of each request.
	request time.Duration
	// attach bounds the time from a transfer's creation to its start. Connecting
	// over the longest terrestrial paths with a lost SYN (1 s) takes a third of
	// it.
	attach time.Duration
	// silent ends a transfer of which neither data nor the client's heartbeat
	// (one a second) was seen for so long. It is above what a control request
	// takes when several of its packets are lost behind a full queue.
	silent time.Duration
}

var usualTiming = timing{decide: 10 * time.Second, request: requestWithin, attach: 10 * time.Second, silent: 8 * time.Second}
