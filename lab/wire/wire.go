// Package wire is the path between two TUN devices: what one host's kernel sends
// into its device comes out of the other's after the rate, delay and
// impairments of a [Direction].
//
// Everything acts on segments as they would be on a wire, although the kernel
// hands over super-packets of up to 64 KB (IFF_VNET_HDR with TSO). A super-packet
// is forwarded as it is, and cut only around a segment that is dropped, marked,
// corrupted, duplicated or held back, or where it would span more than
// [Quantum] of the bottleneck's time.
//
// Departures follow a virtual clock: a segment departs at max(its arrival, the
// departure before it) + its bits/rate. The rate is therefore exact whatever the
// scheduler does; a late wake-up shows as added delay only, and on the delivering
// side is counted in [Lateness].
//
// One OS thread a direction reads, queues and writes, without Go timers (which
// are about 1 ms coarse in an idle process), without channels, and without
// allocating once it has warmed up.
package wire

import "time"

// TxQueueLen is the transmit queue length (in packets) that each TUN device is
// to be given before traffic starts. A TUN device drops silently when its ring
// is full, and the default of 500 overflows under load.
const TxQueueLen = 10_000

// Quantum is how much of the bottleneck's time one delivery may span. Larger
// ones would compress ACKs and disturb what congestion controls infer from
// spacing; smaller ones cost a system call each.
const Quantum = 100 * time.Microsecond

// MaxInFlight is how many bytes one direction can hold, queued and on their way:
// 10 Gb/s for 300 ms with a queue of the same size.
const MaxInFlight = 1 << 30
