package record

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// layouts are how people write a time, the local one unless it says another.
var layouts = []string{time.DateOnly, "2006-01-02 15:04", "2006-01-02T15:04", time.DateTime, time.RFC3339}

// oldest age that ParseTime takes, in days: a century.
const oldest = 36500

// ParseTime reads a time as people write it, or an age before now; the zero time if
// there is none.
func ParseTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n <= oldest {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if age, err := time.ParseDuration(text); err == nil && age >= 0 {
		return now.Add(-age), nil
	}
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: write 2026-11-01, '2026-11-01 14:30', or an age such as 12h or 30d", text)
}
