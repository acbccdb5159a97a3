// Package unit gives rates and sizes a type, a way in (what people write on a
// command line or in a scenario) and a way out (what they read); shares, gains and
// counts have the way out only.
package unit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Rate is a data rate in bits per second.
type Rate float64

// Common rates.
const (
	Kbps Rate = 1e3
	Mbps Rate = 1e6
	Gbps Rate = 1e9
)

// String writes the rate with three significant digits and its unit: "965 Mb/s".
func (r Rate) String() string {
	switch abs := math.Abs(float64(r)); {
	case math.IsNaN(float64(r)):
		return "unknown"
	case abs >= 999.5e6:
		return significant(float64(r)/1e9) + " Gb/s"
	case abs >= 999.5e3:
		return significant(float64(r)/1e6) + " Mb/s"
	case abs >= 999.5:
		return significant(float64(r)/1e3) + " kb/s"
	default:
		return significant(float64(r)) + " b/s"
	}
}

// BytesIn is how many bytes the rate moves in d: with d an RTT, the
// bandwidth-delay product.
func (r Rate) BytesIn(d time.Duration) Size { return Size(float64(r) / 8 * d.Seconds()) }

// RateOf is the rate that moved n bytes in d; 0 when d is not positive.
func RateOf(n int64, d time.Duration) Rate {
	if d <= 0 {
		return 0
	}
	return Rate(float64(n) * 8 / d.Seconds())
}

// ParseRate reads "1gbit", "100mbit", "2.5Gb/s", "10M", "64k" or plain bits per
// second. Prefixes are decimal, as for every network rate.
func ParseRate(s string) (Rate, error) {
	number, suffix := splitNumber(s)
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v <= 0 || math.IsInf(v, 0) {
		return 0, fmt.Errorf("rate %q is not a positive number with a unit such as 100mbit or 1gbit", s)
	}
	factor, ok := map[string]float64{
		"": 1, "bit": 1, "bps": 1, "b/s": 1,
		"k": 1e3, "kbit": 1e3, "kbps": 1e3, "kb/s": 1e3,
		"m": 1e6, "mbit": 1e6, "mbps": 1e6, "mb/s": 1e6,
		"g": 1e9, "gbit": 1e9, "gbps": 1e9, "gb/s": 1e9,
	}[strings.ToLower(suffix)]
	if !ok {
		return 0, fmt.Errorf("rate %q has the unknown unit %q: use bit, kbit, mbit or gbit", s, suffix)
	}
	if v*factor > 1e13 {
		return 0, fmt.Errorf("rate %q is above 10 Tb/s", s)
	}
	return Rate(v * factor), nil
}

// Size is a number of bytes.
type Size int64

// Common sizes. The binary ones are what kernels count buffers in.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

// String writes the size in binary units, as kernels count buffers: "16 MiB".
func (s Size) String() string {
	switch abs := math.Abs(float64(s)); {
	case abs >= float64(GiB):
		return significant(float64(s)/float64(GiB)) + " GiB"
	case abs >= float64(MiB):
		return significant(float64(s)/float64(MiB)) + " MiB"
	case abs >= float64(KiB):
		return significant(float64(s)/float64(KiB)) + " KiB"
	default:
		return strconv.FormatInt(int64(s), 10) + " B"
	}
}

// ParseSize reads "256KB" and "4MB" (decimal), "256KiB", or "256K" and "4M"
// (binary, as iperf3 and the kernels mean them), or plain bytes.
func ParseSize(s string) (Size, error) {
	number, suffix := splitNumber(s)
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v < 0 || math.IsInf(v, 0) {
		return 0, fmt.Errorf("size %q is not a number with a unit such as 256KB or 4MiB", s)
	}
	factor, ok := map[string]float64{
		"": 1, "b": 1,
		"kb": 1e3, "mb": 1e6, "gb": 1e9,
		"k": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mib": 1 << 20, "g": 1 << 30, "gib": 1 << 30,
	}[strings.ToLower(suffix)]
	if !ok {
		return 0, fmt.Errorf("size %q has the unknown unit %q: use B, KB, MB, GB, KiB, MiB or GiB", s, suffix)
	}
	if v*factor > 1<<53 {
		return 0, fmt.Errorf("size %q is too large", s)
	}
	return Size(v * factor), nil
}

// Milliseconds writes d in ms with at most three significant digits after a
// sensible point: "150 ms", "0.21 ms".
func Milliseconds(d time.Duration) string {
	return significant(float64(d)/float64(time.Millisecond)) + " ms"
}

// significant writes v with three significant digits and no trailing zeros.
func significant(v float64) string {
	if v == 0 {
		return "0"
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	digits = max(0, min(digits, 6))
	out := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(out, ".") {
		out = strings.TrimRight(strings.TrimRight(out, "0"), ".")
	}
	return out
}

func splitNumber(s string) (number, suffix string) {
	s = strings.TrimSpace(s)
	end := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		return s, ""
	}
	return s[:end], strings.TrimSpace(s[end:])
}
