package bulk

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The mark follows the rate and the receive buffer, and is left alone by small
// changes.
func TestLowWater(t *testing.T) {
	const mebi = 1 << 20
	var l lowWater
	now := time.Duration(0)
	for _, step := range []struct {
		says    string
		rate    float64 // Gb/s
		buffer  int     // bytes
		want    int
		changed bool
	}{
		{"too slow to gain by it", 0.5, 6 * mebi, 0, false},
		{"600 us at 2 Gb/s", 2, 6 * mebi, 150_000, true},
		{"half as much again", 3, 6 * mebi, 150_000, false},
		{"a sixteenth of the window", 10, 6 * mebi, 6 * mebi / 32, true},
		{"the most", 40, 32 * mebi, gatherMost, true},
		{"as before", 41, 32 * mebi, gatherMost, false},
		{"a buffer that may be what limits", 3, mebi, 1, true},
		{"slow again", 0.1, 32 * mebi, 1, false},
	} {
		now += gatherLook
		bytes := int(step.rate * 1e9 / 8 * gatherLook.Seconds())
		got, changed := l.read(bytes, now, func() int { return step.buffer })
		if got != step.want || changed != step.changed {
			t.Errorf("%s: mark %d, changed %v; want %d, %v", step.says, got, changed, step.want, step.changed)
		}
	}
}

// However a stream goes, the mark is small beside the receive buffer, and is set
// only when it is another one.
func TestLowWaterIsSmall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l lowWater
		now, was := time.Duration(0), 1
		for range rapid.IntRange(1, 50).Draw(t, "reads") {
			now += time.Duration(rapid.Int64Range(0, int64(3*gatherLook)).Draw(t, "time"))
			buffer := rapid.IntRange(0, 64<<20).Draw(t, "buffer")
			mark, changed := l.read(rapid.IntRange(1, 100<<20).Draw(t, "bytes"), now, func() int { return buffer })
			if changed == (max(1, mark) == was) {
				t.Fatalf("mark %d after %d, changed %v", mark, was, changed)
			}
			if changed && (mark > gatherMost || mark > max(1, buffer/gatherShare) || mark != 1 && mark < gatherLeast) {
				t.Fatalf("mark %d with a buffer of %d bytes", mark, buffer)
			}
			was = max(1, mark)
		}
	})
}
