package wire

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// histogram counts durations in buckets whose width is an eighth of a power of
// two: quantiles are right to 12.5 % at any scale. One thread adds, any reads.
type histogram struct {
	buckets [subBuckets * 64]atomic.Uint64
	max     atomic.Int64
}

const subBuckets = 8

// add counts n times d.
func (h *histogram) add(d time.Duration, n int) {
	d = max(d, 0)
	h.buckets[bucketOf(uint64(d))].Add(uint64(n))
	if int64(d) > h.max.Load() {
		h.max.Store(int64(d))
	}
}

func bucketOf(v uint64) int {
	if v < subBuckets {
		return int(v)
	}
	e := bits.Len64(v) - 4 // v>>e is 8..15
	return subBuckets*e + int(v>>e)
}

// upper is the largest value that falls into bucket i.
func upper(i int) uint64 {
	if i < subBuckets {
		return uint64(i)
	}
	e := i/subBuckets - 1
	return uint64(subBuckets+i%subBuckets+1)<<e - 1
}

// lateness reads the quantiles, each as the upper end of its bucket.
func (h *histogram) lateness() Lateness {
	var counts [len(h.buckets)]uint64
	var total uint64
	for i := range counts {
		counts[i] = h.buckets[i].Load()
		total += counts[i]
	}
	top := h.max.Load()
	quantile := func(q float64) time.Duration {
		rank := uint64(q * float64(total))
		for i, seen := 0, uint64(0); i < len(counts); i++ {
			if seen += counts[i]; seen > rank {
				return time.Duration(min(int64(upper(i)), top))
			}
		}
		return time.Duration(top)
	}
	return Lateness{P50: quantile(0.50), P99: quantile(0.99), Max: time.Duration(top)}
}
