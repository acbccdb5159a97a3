package twin

import (
	"fmt"
	"strings"

	"github.com/fullbore/fullbore/record"
)

// prefix is how the names of twins begin.
const prefix = "twin-of-"

// shortID is how many of the last characters of a run's identifier are in the name:
// as many as lists of runs show.
const shortID = 8

// Name is that of a run's twin: of both hosts and the end of the run's identifier.
func Name(run *record.Header) string {
	id := plain(run.ID)
	id = strings.TrimLeft(id[max(0, len(id)-shortID):], "-")
	path := plain(run.From + "-to-" + run.To)
	if run.Scenario != "" { // all hosts of labs are called a and b
		path = plain(run.Scenario)
	}
	path = path[:min(len(path), 64-len(prefix)-len(id)-1)]
	return strings.Join(strings.FieldsFunc(prefix+path+"-"+id, func(r rune) bool { return r == '-' }), "-")
}

// Origin is the end of the identifier of the run that a scenario is the twin of, by
// the scenario's name; false of any other scenario.
func Origin(scenario string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(scenario, prefix)
	if !ok {
		return "", false
	}
	id = rest[strings.LastIndexByte(rest, '-')+1:]
	if len(id) != shortID || strings.Trim(id, "0123456789abcdef") != "" {
		return "", false
	}
	return id, true
}

// plain keeps what the name of a scenario may have.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, text)
}

// head names the scenario.
func (b *builder) head() {
	b.set(Key{}, Name(&b.run.Header), "name")
	b.set(Key{}, quoted(fmt.Sprintf("%s to %s as run %s found it: %s, %s", b.from, b.to, b.run.ID, orUnknown(b.verdict.Cause), b.before)), "about")
}

func orUnknown(cause string) string {
	if cause == "" {
		return "no verdict"
	}
	return cause
}
