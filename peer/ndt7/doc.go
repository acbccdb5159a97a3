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
