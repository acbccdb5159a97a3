// Package flow watches the running TCP flows of this host, whatever program
// they belong to, and says of each what limits it now.
//
// The kernel reports of every connection what it reports of fullbore's own
// (TCP_INFO, by inet_diag), so no flow is touched and no packet read. [Watcher.Look]
// asks for all flows at once; between two looks the fastest few are asked again
// and again, because how often a window is full needs more than one sample a
// second.
package flow

import (
	"net/netip"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

// Snapshot is all flows at one instant, with what happened since the last look.
type Snapshot struct {
	At       time.Time     `json:"at"`
	Over     time.Duration `json:"over_ns"`         // since the last look; 0 at the first
	Flows    []Flow        `json:"flows"`           // that are open, TIME_WAIT not among them; the fastest first
	TimeWait int           `json:"time_wait"`       // sockets that only wait for their end
	Hidden   int           `json:"hidden"`          // flows whose process this user may not see
	Notes    []string      `json:"notes,omitempty"` // what could not be seen, why, and what to do
}

// Kernel is the Process of a socket that belongs to the kernel itself, such as
// that of an NFS mount: it has no PID.
const Kernel = diagnose.Kernel

// Flow is one TCP connection of this host. A flow that was not there at the
// last look has no Goodput yet.
type Flow struct {
	ID         string         `json:"id"` // the kernel's cookie, the same from look to look
	Local      netip.AddrPort `json:"local"`
	Remote     netip.AddrPort `json:"remote"`
	State      string         `json:"state"`             // "established", "close-wait", ...
	PID        int            `json:"pid,omitempty"`     // 0: not known, or none
	Process    string         `json:"process,omitempty"` // name of its program, printable; Kernel; "": not known, or none any more
	Sends      bool           `json:"sends"`             // more went out than came in, since the last look (if nothing did: ever)
	Goodput    unit.Rate      `json:"goodput_bps"`       // in the larger direction, since the last look: acknowledged or received
	Bytes      uint64         `json:"bytes"`             // in that direction, since the connection was opened
	RTT        time.Duration  `json:"rtt_ns"`            // 0: not known
	MinRTT     time.Duration  `json:"min_rtt_ns"`        // 0: not known
	Congestion string         `json:"congestion,omitempty"`
	Lost       float64        `json:"retransmitted_share"` // of the bytes sent since the last look, 0..1

	// Idle says that almost nothing moved (less than any connection may send at
	// once: ten segments, RFC 6928). Limit is then Unknown: no limit applies to a
	// flow that has nothing to send.
	Idle bool `json:"idle"`
	// Limit is what limits it now; Unknown with a reason where that cannot be determined.
	// An ApplicationWindow has among its evidence, in bytes, "implied_window"
	// (goodput times round trip), "application_window" (what the application is
	// known to have, where it is known) and "tcp_windows" (what TCP would allow as
	// it stands); its action begins with the application's name.
	Limit diagnose.Finding `json:"limit"`
}
