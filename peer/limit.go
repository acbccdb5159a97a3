package peer

import (
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// Limits bound what clients may ask of a far end.
type Limits struct {
	Transfer  time.Duration `json:"transfer_ns" doc:"Longest transfer, omitted time included"`
	Streams   int           `json:"streams" doc:"Most streams of a transfer in one direction"`
	Transfers int           `json:"transfers" doc:"Most transfers at once, of all clients together"`
	Samples   int           `json:"samples" doc:"Most samples one end keeps of a transfer"`
}

// PublicLimits hold for clients without the token: what people ask of an iperf3
// server, which a far end takes the place of, and too little to occupy a host.
// -P goes up to 128 there; ten minutes is longer than anyone waits for a test,
// and ends one that was forgotten; four at once still leave each a share of the
// path that is worth measuring.
func PublicLimits() Limits {
	return Limits{Transfer: 10 * time.Minute, Streams: 128, Transfers: 4, Samples: 20_000}
}

// each is how many transfers one client may have running: one place is for the
// others, where there are several.
func (l Limits) each() int { return max(1, l.Transfers-1) }

// TokenLimits hold for clients with the token: of a fleet all others may send to this one.
func TokenLimits() Limits {
	return Limits{Transfer: bulk.MaxDuration, Streams: bulk.MaxStreams, Transfers: 128, Samples: 100_000}
}

// fit says whether the limits allow a transfer, and gives it as this end runs it:
// where the client left the sampling interval open, one that makes no more
// samples than there may be.
func (l Limits) fit(spec bulk.Spec) (bulk.Spec, error) {
	if spec.Duration+spec.Omit > l.Transfer {
		return spec, problem(ErrLimit, "a transfer of %v is longer than the %v allowed here%s", spec.Duration+spec.Omit, l.Transfer, unlessToken)
	}
	if spec.Streams > l.Streams {
		return spec, problem(ErrLimit, "%d streams are more than the %d allowed here%s", spec.Streams, l.Streams, unlessToken)
	}
	least := l.interval(spec)
	if spec.Interval == 0 {
		spec.Interval = max(bulk.DefaultInterval, least)
	}
	if spec.Interval < least {
		return spec, problem(ErrLimit, "a sample every %v may make more than the %d samples allowed here: use an interval of %v or longer",
			spec.Interval, l.Samples, least)
	}
	return spec, nil
}

const unlessToken = ": ask for less, or use the token that `fullbore serve` printed"

// longestInterval is the longest that bulk takes. A transfer of so many streams
// for so long that even this makes too many samples is one for bulk's own limit:
// it drops every second one.
const longestInterval = time.Minute

// interval is the shortest between samples that keeps to the limit. A number of
// bytes may take all the time there is.
func (l Limits) interval(spec bulk.Spec) time.Duration {
	length := spec.Duration + spec.Omit
	if !spec.Timed() {
		length = l.Transfer
	}
	least := length * time.Duration(connections(spec)) / time.Duration(max(1, l.Samples))
	return min(longestInterval, least.Truncate(time.Millisecond)+time.Millisecond)
}
