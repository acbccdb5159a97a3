package document

import "fmt"

// Unit is how rates are written, as iperf3's -f has it: 'k', 'm', 'g', 't' for
// decimal bits, 'K', 'M', 'G', 'T' for binary bytes, 0 for whatever bits fit.
type Unit byte

// ParseUnit reads the value of -f; "" and "a" leave it open.
func ParseUnit(text string) (Unit, error) {
	switch text {
	case "", "a":
		return 0, nil
	case "k", "m", "g", "t", "K", "M", "G", "T":
		return Unit(text[0]), nil
	}
	return 0, fmt.Errorf("format %q: use k, m, g or t for bits, K, M, G or T for bytes", text)
}

// unitPrefixes are iperf3's: K stands for both 1000 and 1024.
var unitPrefixes = []string{"", "K", "M", "G", "T"}

// rate writes bit/s, in 14 columns: "50.3 Mbits/sec".
func (u Unit) rate(bitsPerSecond float64) string {
	switch u {
	case 'K', 'M', 'G', 'T':
		return scaled(bitsPerSecond/8, 1024, u, "Bytes/sec")
	case 'k', 'm', 'g', 't':
		return scaled(bitsPerSecond, 1000, u-'a'+'A', "bits/sec")
	}
	return scaled(bitsPerSecond, 1000, 0, "bits/sec")
}

// size writes bytes, in 11 columns: "6.00 MBytes".
func size(bytes int64) string { return scaled(float64(bytes), 1024, 0, "Bytes") }

// scaled writes v with three digits where they fit in four columns. The prefix,
// if it is 0, is the largest that leaves one digit before the point.
func scaled(v, base float64, prefix Unit, name string) string {
	i := 0
	for i+1 < len(unitPrefixes) && (prefix == 0 && v >= base || prefix != 0 && unitPrefixes[i] != string(rune(prefix))) {
		v /= base
		i++
	}
	digits := 0
	switch {
	case v < 9.995:
		digits = 2
	case v < 99.95:
		digits = 1
	}
	return fmt.Sprintf("%4.*f %s", digits, v, unitPrefixes[i]+name)
}
