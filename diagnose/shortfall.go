package diagnose

import (
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/unit"
)

// How far a transfer falls short of what its path can carry.

// healthyShare is the part of a path's goodput from which nothing is wrong.
// CUBIC on a clean path with almost no queue averages 92.5 % of it: after a
// loss it is back at 70 % and returns along a cubic curve, a quarter of 30 %
// below the top on average (RFC 9438, section 4.2). The rest is the error of
// the capacity estimate.
const healthyShare = 0.9

// falls is the share of the path's goodput below which a transfer falls short of
// it. Between this and healthyShare nothing is certain.
const falls = 0.88

// short says whether a goodput is less than what the path can carry, or may be
// where the capacity is not known.
func (v *view) short(goodput unit.Rate) bool {
	limit, known := v.pathLimit()
	return !known || float64(goodput) < falls*float64(limit)
}

// surelyShort says whether the goodput is less than the path can carry at least.
func (v *view) surelyShort() bool { return float64(v.goodput) < falls*float64(v.floor()) }

// floor is the goodput that the path can carry at least, by what was probed; 0 if
// nothing was.
func (v *view) floor() unit.Rate {
	limit, known := v.pathLimit()
	if known {
		return limit
	}
	if d := v.direction(); d != nil && !d.Capacity.Assumed && d.Capacity.Low < path.Fastest {
		return unit.Rate(float64(d.Capacity.Low) * v.payloadShare())
	}
	return 0
}

// atCapacity says whether the goodput is what a measured capacity can carry. An
// assumed one proves nothing.
func (v *view) atCapacity() bool {
	limit, known := v.pathLimit()
	return known && v.goodput >= limit*healthyShare
}

// asMuch is the factor within which two transfers of one path are equally fast:
// that much is chance.
const asMuch = 1.15

// noMore says whether several connections got no more together than the one did,
// although nothing but the network held them. Where the capacity is not known, that
// shows that the path is full.
func (v *view) noMore() bool {
	together := v.trial(TrialStreams)
	return !v.surelyShort() && together != nil && together.networkHeld() &&
		(together.queued(together.rtt) || together.loss.share > notableLoss) && float64(together.goodput) < asMuch*float64(v.goodput)
}
