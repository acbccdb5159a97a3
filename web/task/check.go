package task

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/hostport"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/near"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/sweep"
	"github.com/fullbore/fullbore/tune"
)

// Bounds of a request.
const (
	mostSeconds  = 3600 // a page has nobody who waits longer; the command line takes more
	longestHost  = 300  // bytes: a DNS name has up to 253, a port and a scheme come to it
	longestToken = 512  // bytes
)

// Check says what is wrong, where, and what to do. Errors are [Invalid].
func (r Request) Check() error {
	verbs := []Verb{Test, Diagnose, Tune, Sweep}
	if !slices.Contains(verbs, r.Verb) {
		return invalid("verb", "%.40q: use test, diagnose, tune or sweep", string(r.Verb))
	}
	for _, f := range []struct {
		field string
		given bool
		of    []Verb
	}{
		{"experiment", r.Experiment != "", []Verb{Sweep}},
		{"direction", r.Direction != "", []Verb{Test, Diagnose, Tune}},
		{"streams", r.Streams != 0, []Verb{Test, Diagnose, Tune}},
		{"seconds", r.Seconds != 0, []Verb{Test, Diagnose, Tune}},
		{"apply", r.Apply != "", []Verb{Tune}},
		{"dry_run", r.DryRun, []Verb{Tune}},
		{"quick", r.Quick, []Verb{Diagnose}},
		{"afresh", r.Afresh, []Verb{Sweep}},
	} {
		if f.given && !slices.Contains(f.of, r.Verb) {
			return invalid(f.field, "%s does not take it: leave it out", r.Verb)
		}
	}
	for _, check := range []func() error{r.checkTarget, r.checkExperiment, r.checkTransfer, r.checkToken} {
		if err := check(); err != nil {
			return err
		}
	}
	if err := record.CheckTags(r.Tags); err != nil {
		return &Invalid{"tags", err}
	}
	return nil
}

// checkTarget wants a far end or a scenario.
func (r Request) checkTarget() error {
	switch {
	case r.Host != "" && r.Scenario != "":
		return invalid("scenario", "both a far end and a scenario were given: use one")
	case r.Host == "" && r.Scenario == "" && r.Verb != Sweep:
		return invalid("host", "name the far end, or a scenario of the lab")
	case r.Scenario != "":
		var names []string
		for _, s := range lab.Builtin() {
			names = append(names, s.Name)
		}
		return known("scenario", r.Scenario, names, "fullbore lab list")
	case r.Host != "":
		if err := checkHost(r.Host, r.Verb == Test); err != nil {
			return &Invalid{"host", err}
		}
	}
	return nil
}

// known says whether a name is one of those that are built in.
func known(field, name string, names []string, lists string) error {
	if slices.Contains(names, name) {
		return nil
	}
	return invalid(field, "%.80q is none that is built in%s: see %s, which also takes files", name, near.DidYouMean(name, names), lists)
}

// hostLetters are all that names and addresses are made of. The first one is no hyphen:
// that would be a flag.
var hostLetters = regexp.MustCompile(`^[A-Za-z0-9\[:][A-Za-z0-9.:\[\]_%-]*$`)

// checkHost takes a far end as the command line does. test speaks other protocols, too.
func checkHost(target string, protocols bool) error {
	if len(target) > longestHost {
		return fmt.Errorf("a name of %d bytes: use up to %d", len(target), longestHost)
	}
	scheme, address, ok := strings.Cut(target, "://")
	switch {
	case !ok:
		address = target
	case !protocols:
		return fmt.Errorf("%.40q: use a far end that runs 'fullbore serve'; only test takes iperf3 and ndt7 servers", target)
	case !slices.Contains([]string{"iperf3", "ndt7", "ndt7s"}, scheme):
		return fmt.Errorf("%.40q: use HOST, iperf3://HOST, ndt7://HOST or ndt7s://HOST", target)
	}
	if !hostLetters.MatchString(address) {
		return fmt.Errorf("%.80q is no name or address of a host: use letters, digits, and . - _ : [ ] %%, the first no hyphen", address)
	}
	_, _, err := hostport.Parse(address, 1)
	return err
}

// checkExperiment wants one of a sweep, and that something says where it runs.
func (r Request) checkExperiment() error {
	if r.Verb != Sweep {
		return nil
	}
	var names []string
	for _, spec := range sweep.Builtin() {
		names = append(names, spec.Name)
		if spec.Name == r.Experiment && spec.Scenario == "" && r.Host == "" && r.Scenario == "" {
			return invalid("scenario", "experiment %s names none: name one, or the far end", spec.Name)
		}
	}
	if r.Experiment == "" {
		return invalid("experiment", "name one: %s", strings.Join(names, ", "))
	}
	return known("experiment", r.Experiment, names, "fullbore sweep")
}

// checkTransfer checks what its transfers are like.
func (r Request) checkTransfer() error {
	least := 1
	if r.Verb == Tune {
		least = int(tune.MinBudget.Seconds())
	}
	directions := []bulk.Direction{"", bulk.Forward, bulk.Reverse}
	if r.Verb == Test {
		directions = append(directions, bulk.Both)
	}
	switch {
	case !slices.Contains(directions, r.Direction):
		return invalid("direction", "%.40q: %s takes %s", string(r.Direction), r.Verb, listed(directions[1:]))
	case r.Streams < 0 || r.Streams > bulk.MaxStreams:
		return invalid("streams", "%d: use 1 to %d", r.Streams, bulk.MaxStreams)
	case r.Seconds != 0 && (r.Seconds < least || r.Seconds > mostSeconds):
		return invalid("seconds", "%d: use %d to %d", r.Seconds, least, mostSeconds)
	case !slices.Contains([]tune.Mode{"", tune.ApplyNone, tune.ApplyLive, tune.ApplyPersist}, tune.Mode(r.Apply)):
		return invalid("apply", "%.40q: use none, live or persist", r.Apply)
	}
	return nil
}

func listed(words []bulk.Direction) string {
	var texts []string
	for _, w := range words {
		texts = append(texts, string(w))
	}
	return strings.Join(texts, " or ")
}

// checkToken keeps what no environment can hold out of it. It never quotes it.
func (r Request) checkToken() error {
	printable := !strings.ContainsFunc(r.Token, func(c rune) bool { return c <= ' ' || c > '~' })
	if len(r.Token) > longestToken || !printable {
		return &Invalid{"token", errors.New("it is none that 'fullbore serve' printed: copy it whole, without blanks")}
	}
	return nil
}
