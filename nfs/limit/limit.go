// Package limit says what holds a file's requests back: how many are in flight, the windows
// of their connections, the path, the server's threads or its disk. It goes by laws: each
// limit is a ceiling on the rate, or a place where requests wait; what was measured shows
// which of them it is.
package limit

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

// Look is what requests came to in one setting.
type Look struct {
	IOPS float64       `json:"iops"`
	Mean time.Duration `json:"mean_ns"` // from a request to its whole answer

	// Median is what half of the requests took at most; 0: not known. One stall of a busy host
	// delays all that are in flight, and only one call beside them: medians feel it alike.
	Median time.Duration `json:"median_ns,omitempty"`

	// Of a client that makes requests of its own for those of a program; 0: it makes those asked for.
	Size     unit.Size `json:"size_bytes,omitempty"` // of each
	InFlight float64   `json:"in_flight,omitempty"`  // on average

	Window unit.Size     `json:"window_bytes,omitempty"` // that the connections' windows let through in a round trip, all together; 0: not known
	RTT    time.Duration `json:"rtt_ns,omitempty"`       // least of the connections; 0: not known
	Wire   float64       `json:"wire_bytes,omitempty"`   // that TCP moved for a request, in the larger direction; 0: not known
}

// typical is what a request took that met no stall.
func (l Look) typical() time.Duration { return cmp.Or(l.Median, l.Mean) }

// Beside is what was measured over connections of its own, one call at a time: medians.
type Beside struct {
	Handshake time.Duration `json:"handshake_ns"` // of TCP: the network alone; 0: not known
	Null      time.Duration `json:"null_ns"`      // a call that does nothing: the network, and a thread of the server
}

// Evidence is all that a diagnosis rests on.
type Evidence struct {
	Connections int       `json:"connections"`
	Depth       int       `json:"depth"`              // requests in flight
	Slots       int       `json:"slots,omitempty"`    // that the server grants; 0: it does not limit them
	Size        unit.Size `json:"size_bytes"`         // of each request; 0: they move no data
	Path        unit.Rate `json:"path_bps,omitempty"` // payload that the path carries; 0: not known

	Threads int `json:"server_threads,omitempty"` // as the far end on the server reported it; 0: not known

	// ReadAhead is how many bytes the client reads ahead of a program that reads in order, so
	// that two such stretches are in flight ([nfs.Load.ReadsAhead]); nil: requests do not go by that.
	ReadAhead *unit.Size `json:"read_ahead_bytes,omitempty"`

	Idle   Beside `json:"idle"`   // nothing else goes on
	Again  Look   `json:"again"`  // one request in flight, for the same block each time: the server has it in memory
	Alone  Look   `json:"alone"`  // one request in flight, for the blocks that Now asks for
	Now    Look   `json:"now"`    // at the settings that are asked about
	Loaded Beside `json:"loaded"` // meanwhile

	More       Look   `json:"more"` // with twice as many in flight; its IOPS is 0 where that was not measured
	MoreLoaded Beside `json:"more_loaded"`

	asked int // requests in flight that a prediction is for, where Now is More; 0: Depth
}

// wanted is how many requests in flight a prediction is for.
func (e *Evidence) wanted() int { return cmp.Or(e.asked, e.Depth) }

// Finding is a limit.
type Finding struct {
	Cause     string  `json:"cause"`
	Says      string  `json:"says"`
	Action    string  `json:"action"`
	Share     float64 `json:"share"`                    // of its ceiling that is reached, or of the time of a request that it takes (0..1)
	Predicted float64 `json:"predicted_iops,omitempty"` // if it is lifted; 0: no law says
}

// The causes: those of a path are diagnose's.
const (
	OneReader   = "nfs-one-reader"
	Slots       = "nfs-slots"
	ReadAhead   = "nfs-readahead"
	Window      = diagnose.ReceiverBuffer
	Connections = "nfs-connections"
	Threads     = "nfs-threads"
	Disk        = "nfs-disk"
	Path        = diagnose.PathCapacity
)

// Causes are those that are not of the path.
var Causes = []string{OneReader, Slots, ReadAhead, Connections, Threads, Disk}

// readers are those that a prediction is for: as many as Linux's client has slots at first
// (max_session_slots).
const readers = 64

// reached is the share of a ceiling from which it is what limits: the rest is what comes
// between one window or request and the next.
const reached = 0.85

// Diagnose gives the limits, the one that holds first. There is always one: requests go as
// fast as something lets them. Where what was measured fits none, that is the finding.
func Diagnose(e *Evidence) []Finding {
	if found := limits(e); len(found) > 0 {
		return found
	}
	return []Finding{{
		Cause: diagnose.Unknown,
		Says: fmt.Sprintf("Requests take %s, alone %s, and a call that does nothing %s beside them: that fits no limit.",
			unit.Milliseconds(e.Now.typical()), unit.Milliseconds(e.Alone.typical()), unit.Milliseconds(e.Loaded.Null)),
		Action: "measure again when neither host is busy with something else",
	}}
}

func limits(e *Evidence) []Finding {
	found, flight := ceilings(e), inFlight(e)
	if len(found) > 0 {
		return append(found, waiting(e)...)
	}
	if moreHelp(e, worthMore) {
		return append(flight, waiting(e)...)
	}
	at := *e
	if e.More.IOPS > 0 { // there it shows what they wait for
		at.Now, at.Loaded, at.Depth, at.asked = e.More, e.MoreLoaded, 2*e.Depth, e.Depth
	}
	next, waits := ceilings(&at), waiting(&at)
	switch {
	case len(next) > 0 && moreHelp(e, worthSome):
		return append(flight, next...)
	case len(next)+len(waits) == 0:
		return flight
	}
	return append(next, waits...)
}

// ceilings are those of the connections and the path that are reached.
func ceilings(e *Evidence) (found []Finding) {
	for _, ceiling := range []func(*Evidence) (Finding, bool){window, path} {
		if f, ok := ceiling(e); ok {
			found = append(found, f)
		}
	}
	return found
}

// moreHelp says whether twice as many requests in flight bring so much. Where that was not
// tried, a call that does nothing and waits for a thread says that they would not, unless
// requests themselves do not wait.
func moreHelp(e *Evidence, gain float64) bool {
	if e.More.IOPS > 0 {
		return e.More.IOPS >= gain*e.Now.IOPS
	}
	return e.Loaded.Null-e.Idle.Null <= time.Duration((1-reached)*float64(e.Now.Mean)) || float64(e.Now.Mean-e.Alone.Mean) <= noise*float64(e.Now.Mean)
}

const (
	// worthMore is the gain of twice as many requests in flight from which their number is
	// what limits: it is nearer to all that they can bring (2) than to nothing (1), on
	// logarithms.
	worthMore = math.Sqrt2
	// worthSome is the gain from which it is although another ceiling is next.
	worthSome = 1.2
)

// window is the law that a connection carries a window in each round trip. A request that
// has its connection for itself takes whole round trips, as many as it has windows.
func window(e *Evidence) (f Finding, ok bool) {
	if e.Now.Window == 0 || e.Now.RTT == 0 || e.Size == 0 {
		return f, false
	}
	trips := max(e.Now.Wire, float64(e.Size)) * float64(e.Connections) / float64(e.Now.Window)
	if e.Depth == e.Connections {
		if trips = math.Ceil(trips); trips == 1 { // it fits
			return f, false
		}
	}
	rtt := max(e.Now.RTT, e.Idle.Handshake)
	most := float64(e.Connections) / (trips * rtt.Seconds())
	if e.Now.IOPS < reached*most {
		return f, false
	}
	f = Finding{
		Cause: Window, Share: e.Now.IOPS / most, Predicted: e.ceiling(float64(e.wanted()) / e.Idle.Null.Seconds()),
		Says:   fmt.Sprintf("The windows let %v through in each round trip of %s, which makes %.0f requests of %v a second.", e.Now.Window, unit.Milliseconds(rtt), most, e.Size),
		Action: "let the windows grow (fullbore tune), or use more connections",
	}
	return f, true
}

// path is what the path carries.
func path(e *Evidence) (f Finding, ok bool) {
	if e.Path == 0 || e.Size == 0 {
		return f, false
	}
	most := float64(e.Path) / 8 / float64(e.Size)
	if e.Now.IOPS < reached*most {
		return f, false
	}
	f = Finding{
		Cause: Path, Share: e.Now.IOPS / most,
		Says:   fmt.Sprintf("The path is full: it carries %v, which makes %.0f requests of %v a second.", e.Path, most, e.Size),
		Action: "no setting of either host brings more",
	}
	return f, true
}

// inFlight is Little's law (J. D. C. Little, Operations Research 9, 1961): where no request
// waits for another, so many in flight make that many in the time that one takes alone.
func inFlight(e *Evidence) []Finding {
	each := e.Alone.Mean
	if e.Depth == 1 { // nobody is beside it: what was measured alone is the same at another time
		each = e.Now.Mean
	}
	if each <= 0 {
		return nil
	}
	most := float64(e.Depth) / each.Seconds()
	if e.Now.IOPS < reached*most {
		return nil
	}
	f := Finding{
		Cause: Slots, Share: e.Now.IOPS / most, Predicted: e.ceiling(min(2*e.Now.IOPS, e.windows())),
		Says:   fmt.Sprintf("%s in flight, each of which takes %s also alone, make %.0f a second. None waits for another.", unit.Count(e.Depth, "request"), unit.Milliseconds(each), most),
		Action: "have more requests in flight: more readers, more read ahead, more slots",
	}
	switch {
	case e.ReadAhead != nil && e.Depth != e.Slots:
		f = e.readAhead(f.Share, most)
	case e.Depth == 1:
		f.Cause = OneReader
		f.Predicted = e.ceiling(min(readers*e.Now.IOPS, e.windows()))
		f.Says = fmt.Sprintf("Who waits for each answer before asking again gets one each %s: %.0f a second. No setting helps; %d readers will read up to %.0f.",
			unit.Milliseconds(each), most, readers, f.Predicted)
		f.Action = "read in more than one place at once"
	case e.Depth == e.Slots:
		f.Says += fmt.Sprintf(" The server grants no more than %d.", e.Slots)
		f.Action = "have the server grant more slots, or mount it over more sessions"
	}
	return []Finding{f}
}

// ceiling bounds a rate by what the path and the windows carry, as far as that is known.
func (e *Evidence) ceiling(rate float64) float64 {
	if e.Path > 0 && e.Size > 0 {
		rate = min(rate, float64(e.Path)/8/float64(e.Size))
	}
	if math.IsInf(rate, 0) || math.IsNaN(rate) {
		return 0
	}
	return rate
}

// windows is what the connections' windows carry with many requests in flight.
func (e *Evidence) windows() float64 {
	if e.Now.Window == 0 || e.Now.RTT == 0 || e.Size == 0 {
		return math.Inf(1)
	}
	return float64(diagnose.WindowRate(e.Now.Window, e.Now.RTT)) / 8 / float64(e.Size)
}
