// Package peer lets the two ends of a path talk: the far end ([Server]) and the
// client to it ([Client]).
//
// # One port
//
// A far end listens on one TCP port, and recognises by the first bytes who is
// calling: a TLS client talks to the control API (HTTPS, described by the
// OpenAPI document at /v1/openapi.json), a preamble starts a stream of a
// transfer, a cookie is that of an iperf3 client, other protocols can join. The
// same port number over UDP answers path probes and opens iperf3's flows.
// Transfers of all protocols share the places there are.
//
// # Who may what
//
// Without a token a client may measure, within [Limits]. With the token it may
// also read the host's facts, ask for more, and, where the far end allows it,
// change tunables. The token pins the far end's key: a client checks the pin
// before it sends the secret. Without a token nothing secret is sent, and the
// far end's certificate is not checked.
//
// # A transfer
//
//	create   POST   /v1/transfers              spec in; id and cookie out
//	attach   TCP    preamble with the cookie   one connection a stream
//	start    POST   /v1/transfers/{id}/start   answers when all streams are there and the far end runs
//	watch    GET    /v1/transfers/{id}         the heartbeat, once a second
//	result   GET    /v1/transfers/{id}/result  waits; the far end's half
//	delete   DELETE /v1/transfers/{id}         ends it early
//
// Every phase has a deadline at the far end, so that a client that vanishes
// frees its place within seconds.
package peer

// DefaultPort is the port of a far end: the one that firewalls are already
// opened for, since iperf3 uses it.
const DefaultPort = 5201

// Protocol is the version of the control API and of the preamble. Ends with
// different versions do not talk.
const Protocol = 1
