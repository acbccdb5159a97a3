package collector

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fullbore/fullbore/tunable"
)

// aliases are other names of systems.
var aliases = map[string]string{
	"sunos": "solaris", "opensolaris": "illumos",
	"osx": "macos", "macosx": "macos", "mac": "macos",
	"win": "windows",
}

// maxName bounds what people write for a system: the longest names of releases
// have some 40 bytes.
const maxName = 64

// release finds the system and the version that people mean: by the short name
// of a release ("windows2003", "rhel7"), by its whole name ("Windows Server
// 2003"), or by a version's number ("linux5.15"). Without a version it is the
// newest one in the catalogue.
func release(name string) (*tunable.System, string, error) {
	if len(name) > maxName {
		return nil, "", fmt.Errorf("a system's name of %d bytes is too long", len(name))
	}
	plain := squeeze(name)
	for _, id := range tunable.Systems() {
		s, err := tunable.Of(id)
		if err != nil {
			return nil, "", err
		}
		for _, r := range s.Releases {
			if slices.Contains(spellings(s, r), plain) {
				return s, r.Version, nil
			}
		}
		for _, prefix := range names(id) {
			rest, ok := strings.CutPrefix(plain, prefix)
			if !ok {
				continue
			}
			if rest == "" {
				return s, newest(s), nil
			}
			if version, ok := numbered(s, rest); ok {
				return s, version, nil
			}
		}
	}
	return nil, "", unknown(plain, name)
}

// squeeze makes spellings of one name equal: "Windows Server 2003", and "Linux
// 6.1.0-18-amd64" without its distribution's part.
func squeeze(name string) string {
	name = distributions.ReplaceAllString(strings.ToLower(name), "$1")
	return strings.NewReplacer(" ", "", "-", "", "_", "", "\t", "").Replace(name)
}

var distributions = regexp.MustCompile(`([0-9]\.[0-9]+\.[0-9]+)[-+_ ].*`)

// names are those that a system goes by, the catalogue's first.
func names(id string) []string {
	all := []string{id}
	for alias, of := range aliases {
		if of == id {
			all = append(all, alias)
		}
	}
	// "macosx10.4" begins with "macos" too.
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return all
}

// spellings are all that people may write for a release.
func spellings(s *tunable.System, r tunable.Release) []string {
	all := []string{squeeze(r.Name)}
	short := squeeze(r.Short)
	if short == "" {
		return all
	}
	if short[0] < '0' || short[0] > '9' {
		all = append(all, short) // "rhel7" can stand alone, "2003" cannot
	}
	for _, name := range names(s.ID) {
		all = append(all, name+short)
	}
	return all
}

var version = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,9}){0,5}`)

// numbered reads a version's number behind a system's name, and says whether there
// can be one: the catalogue knows none before its first, and the first of its
// numbers is one that the catalogue has. SunOS 5.10 is Solaris 10.
func numbered(s *tunable.System, rest string) (string, bool) {
	v := version.FindString(rest)
	if v == "" || v != rest {
		return "", false
	}
	if s.ID == "solaris" {
		v = strings.TrimPrefix(v, "5.")
	}
	known := versions(s)
	if len(known) == 0 || older(v, known[0]) {
		return "", false
	}
	first := func(v string) string { first, _, _ := strings.Cut(v, "."); return first }
	if slices.ContainsFunc(known, func(k string) bool { return first(k) == first(v) }) {
		return v, true
	}
	// Linux begins a new first number whenever the second one has become large.
	return v, s.ID == "linux" && numbers(v)[0] == numbers(newest(s))[0]+1
}

// newest is the last version that the catalogue tells of.
func newest(s *tunable.System) string {
	known := versions(s)
	if len(known) == 0 {
		return ""
	}
	return known[len(known)-1]
}

// versions are all that a catalogue tells of, oldest first: those of its
// releases, and those from which something changed.
func versions(s *tunable.System) []string {
	var all []string
	for _, r := range s.Releases {
		all = append(all, r.Version)
	}
	for _, t := range s.Tunables {
		all = append(all, t.Since, t.Until)
		for _, d := range t.Defaults {
			all = append(all, d.From)
		}
	}
	all = slices.DeleteFunc(all, func(v string) bool { return v == "" })
	slices.SortFunc(all, func(a, b string) int {
		switch {
		case older(a, b):
			return -1
		case older(b, a):
			return 1
		}
		return 0
	})
	return slices.Compact(all)
}

// older compares versions number by number; a missing one counts as 0.
func older(a, b string) bool {
	return slices.Compare(numbers(a), numbers(b)) < 0
}

func numbers(v string) []int {
	var all []int
	for part := range strings.SplitSeq(version.FindString(v), ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		all = append(all, n)
	}
	for len(all) > 0 && all[len(all)-1] == 0 {
		all = all[:len(all)-1]
	}
	return all
}

// unknown is the error of a name that nobody goes by: it says what there is, the
// nearest first.
func unknown(plain, name string) error {
	type candidate struct {
		name string
		far  int
	}
	var all []candidate
	for _, id := range tunable.Systems() {
		s, err := tunable.Of(id)
		if err != nil {
			return err
		}
		all = append(all, candidate{id, distance(plain, id)})
		for _, r := range s.Releases {
			c := candidate{far: maxName * maxName}
			for _, spelling := range spellings(s, r) {
				if d := distance(plain, spelling); d < c.far {
					c = candidate{spelling, d}
				}
			}
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.far, b.far) })
	var known []string
	for _, c := range all {
		if !slices.Contains(known, c.name) {
			known = append(known, c.name)
		}
	}
	return fmt.Errorf("system %q is not known: there are %s", name, strings.Join(known, ", "))
}

// distance is how many letters must be put in, taken out or changed to make b of
// a (Levenshtein's).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
