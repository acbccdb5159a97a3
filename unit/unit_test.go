package unit

import (
	"math"
	"testing"
	"time"
)

func TestRateString(t *testing.T) {
	for want, rate := range map[string]Rate{
		"0 b/s": 0, "999 b/s": 999, "1 kb/s": 1000, "965 Mb/s": 965.3e6, "4.05 Mb/s": 4.05e6,
		"1 Gb/s": 999.6e6, "9.41 Gb/s": 9.41e9, "100 Mb/s": 100e6, "unknown": Rate(math.NaN()), "-5 Mb/s": -5e6,
	} {
		if got := rate.String(); got != want {
			t.Errorf("Rate(%g) is written %q, want %q", float64(rate), got, want)
		}
	}
}

func TestParseRate(t *testing.T) {
	for text, want := range map[string]Rate{
		"1gbit": Gbps, "100mbit": 100 * Mbps, "2.5Gb/s": 2.5e9, "10M": 10 * Mbps, "64k": 64 * Kbps, " 9600 ": 9600, "1 Gb/s": Gbps,
	} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "fast", "0", "-1mbit", "1tbit", "1e400", "99999gbit", "1.2.3mbit", "mbit"} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("ParseRate(%q) = %v, want an error", text, got)
		}
	}
}

func TestSizeString(t *testing.T) {
	for want, size := range map[string]Size{"0 B": 0, "1023 B": 1023, "85.3 KiB": 87380, "17.9 MiB": 18_750_000, "64 MiB": 64 * MiB, "1.5 GiB": 3 * GiB / 2} {
		if got := size.String(); got != want {
			t.Errorf("Size(%d) is written %q, want %q", int64(size), got, want)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]Size{
		"0": 0, "1500": 1500, "256KB": 256_000, "256KiB": 256 * KiB, "256K": 256 * KiB, "4MB": 4_000_000, "1.5m": 3 * MiB / 2, "1GiB": GiB,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %v, %v, want %v", text, int64(got), err, int64(want))
		}
	}
	for _, text := range []string{"", "big", "-1", "3XB", "1e300G", "9999999999GB"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %v, want an error", text, int64(got))
		}
	}
}

// The bandwidth-delay product of the sources' example: 100 Mb/s for 150 ms.
func TestBandwidthDelayProduct(t *testing.T) {
	if got := (100 * Mbps).BytesIn(150 * time.Millisecond); got != 1_875_000 {
		t.Errorf("100 Mb/s for 150 ms is %d bytes, want 1,875,000", int64(got))
	}
	if got := RateOf(1_875_000, 150*time.Millisecond); got != 100*Mbps {
		t.Errorf("1,875,000 bytes in 150 ms are %v, want 100 Mb/s", got)
	}
	if got := RateOf(1, 0); got != 0 {
		t.Errorf("a byte in no time is %v, want 0", got)
	}
}

func TestMilliseconds(t *testing.T) {
	for want, d := range map[string]time.Duration{"150 ms": 150 * time.Millisecond, "0.21 ms": 210 * time.Microsecond, "0.0184 ms": 18400, "0 ms": 0, "1500 ms": 1500 * time.Millisecond} {
		if got := Milliseconds(d); got != want {
			t.Errorf("%v is written %q, want %q", d, got, want)
		}
	}
}

// Whatever is read is finite and not negative, and is written without a panic.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"1gbit", "256KB", "1.5m", "-1", "1e9", "..", "\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if rate, err := ParseRate(text); err == nil && (rate <= 0 || math.IsInf(float64(rate), 0) || rate.String() == "") {
			t.Errorf("ParseRate(%q) = %g", text, float64(rate))
		}
		if size, err := ParseSize(text); err == nil && (size < 0 || size.String() == "") {
			t.Errorf("ParseSize(%q) = %d", text, int64(size))
		}
	})
}
