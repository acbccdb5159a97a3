// Package iperf3 speaks iperf3's protocol at both ends: it serves stock iperf3
// clients and drives stock iperf3 servers, from version 3.2 on.
//
// # The exchange
//
//	                                                             client_       server_
//	C: connect, cookie(37)                                       reach         session
//	S: PARAM_EXCHANGE        C: length, JSON parameters          agree         session
//	S: CREATE_STREAMS        C: one connection a stream to the
//	                            same port, cookie(37) on each    streams       door, streams
//	                            (UDP: a datagram each way)       streams       flows
//	S: TEST_START, TEST_RUNNING                                  move          run
//	   ... data ...                                              transfer      run
//	C: TEST_END              the client alone decides the end,   transfer      run
//	                         in reverse too
//	S: EXCHANGE_RESULTS      C, then S: length, JSON results     results       results
//	S: DISPLAY_RESULTS       C: IPERF_DONE                       results       part
//
// On the right are the files that have a phase at either end. What both share is
// in control (the framing), cookie, state, parameters, results, errors and auth;
// convert turns parameters and results into what package bulk measures and back;
// udp opens flows. How long either end waits is in one table each: client and
// server_patience.
//
// Everything that comes from the other end is bounded in size and time, and
// checked before it is used.
package iperf3

// DefaultPort is iperf3's.
const DefaultPort = 5201
