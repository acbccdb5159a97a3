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

// PublicLimits hold for clients without the token: enough for a good
// measurement, too little to occupy a host.
func PublicLimits() Limits {
	return Limits{Transfer: time.Minute, Streams: 16, Transfers: 4, Samples: 20_000}
}

// TokenLimits hold for clients with the token.
func TokenLimits() Limits {
	return Limits{Transfer: bulk.MaxDuration, Streams: bulk.MaxStreams, Transfers: 16, Samples: 100_000}
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

// interval is the shortest between samples that keeps to the limit. A number of
// bytes may take all the time there is.
func (l Limits) interval(spec bulk.Spec) time.Duration {
	length := spec.Duration + spec.Omit
	if spec.Bytes > 0 {
		length = l.Transfer
	}
	least := length * time.Duration(connections(spec)) / time.Duration(max(1, l.Samples))
	return least.Truncate(time.Millisecond) + time.Millisecond
}
