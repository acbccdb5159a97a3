package record

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Filter says which runs are meant; an empty one: all.
type Filter struct {
	Host     string    // that sent or received
	From, To string    // of one path
	Kind     Kind      // of run
	Tag      string    // that it has
	Since    time.Time // started then or later
	Until    time.Time // started before
	Scenario string    // of the lab
	Begins   string    // of the lab, those whose scenario begins so: small letters, digits and hyphens
	Outside  bool      // not in the lab
	State    State     // that is written of it: a run that was killed still has Running
	After    Mark      // that come after this one in the list: the next page of it
	Most     int       // the latest so many; 0: all
}

// Mark is a place in a list of runs: that of one of them.
type Mark struct {
	Started time.Time
	ID      string
}

// MarkOf is the place of a run.
func MarkOf(h *Header) Mark { return Mark{h.Started, h.ID} }

// where is the filter as SQL.
func (f Filter) where() (text string, args []any) {
	var all []string
	add := func(clause string, arg any) {
		args = append(args, arg)
		all = append(all, strings.ReplaceAll(clause, "$", fmt.Sprintf("$%d", len(args))))
	}
	if f.Host != "" {
		add(`(sender = $ OR receiver = $)`, f.Host)
	}
	if f.From != "" {
		add(`sender = $`, f.From)
	}
	if f.To != "" {
		add(`receiver = $`, f.To)
	}
	if f.Kind != "" {
		add(`kind = $`, string(f.Kind))
	}
	if f.Tag != "" {
		add(`id IN (SELECT run FROM tag WHERE tag = $)`, f.Tag)
	}
	if !f.Since.IsZero() {
		add(`started >= $`, stamp(f.Since))
	}
	if !f.Until.IsZero() {
		add(`started < $`, stamp(f.Until))
	}
	if f.Begins != "" {
		add(`scenario LIKE $`, f.Begins+"%")
	}
	if f.Scenario != "" {
		add(`scenario = $`, f.Scenario)
	}
	if f.Outside {
		add(`scenario = $`, "")
	}
	if f.State != "" {
		add(`state = $`, string(f.State))
	}
	if f.After.ID != "" {
		args = append(args, stamp(f.After.Started), f.After.ID)
		all = append(all, fmt.Sprintf(`(started, id) < ($%d, $%d)`, len(args)-1, len(args)))
	}
	if len(all) > 0 {
		text = " WHERE " + strings.Join(all, " AND ")
	}
	return text, args
}

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
