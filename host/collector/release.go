package collector

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/fullbore/fullbore/near"
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
	for _, k := range known() {
		if slices.Contains(k.spellings, plain) {
			return k.system, k.version, nil
		}
	}
	for _, k := range known() {
		if !k.whole {
			continue
		}
		for _, prefix := range k.spellings {
			if rest, ok := strings.CutPrefix(plain, prefix); ok {
				if version, ok := numbered(k.system, rest); ok {
					return k.system, version, nil
				}
			}
		}
	}
	return nil, "", unknown(plain, name)
}

// means is what names of systems and releases mean.
type means struct {
	spellings []string // squeezed
	whole     bool     // it is a system, of which a version may follow
	system    *tunable.System
	version   string
}

// known are all names: systems first, then their releases, oldest first.
var known = sync.OnceValue(func() []means {
	var systems, releases []means
	for _, id := range tunable.Systems() {
		s, err := tunable.Of(id)
		if err != nil {
			continue // package tunable's own tests tell of it
		}
		systems = append(systems, means{names(id), true, s, newest(s)})
		for _, r := range s.Releases {
			releases = append(releases, means{spellings(s, r), false, s, r.Version})
		}
	}
	return append(systems, releases...)
})

// squeeze makes spellings of one name equal: "Windows Server 2003", and "Linux
// 6.1.0-18-amd64" without its distribution's part.
func squeeze(name string) string {
	name = distributions.ReplaceAllString(strings.ToLower(name), "$1")
	return separators.Replace(name)
}

var separators = strings.NewReplacer(" ", "", "-", "", "_", "", "\t", "")

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
	if alone(short) {
		all = append(all, short)
	}
	for _, name := range names(s.ID) {
		all = append(all, name+short)
	}
	return all
}

// alone says whether a release's short name says what system it is of: "rhel7"
// does, "2003" and "xp" do not.
func alone(short string) bool {
	return len(short) > 2 && (short[0] < '0' || short[0] > '9')
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
	all := versions(s)
	if len(all) == 0 || older(v, all[0]) {
		return "", false
	}
	first := func(v string) string { first, _, _ := strings.Cut(v, "."); return first }
	if slices.ContainsFunc(all, func(k string) bool { return first(k) == first(v) }) {
		return v, true
	}
	// Linux begins a new first number whenever the second one has become large.
	return v, s.ID == "linux" && numbers(v)[0] == numbers(newest(s))[0]+1
}

// newest is the last version that the catalogue tells of.
func newest(s *tunable.System) string {
	all := versions(s)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
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

// suggested is how many names the error of an unknown one tells.
const suggested = 12

// unknown is the error of a name that nobody goes by: it says which systems
// there are, and the nearest names.
func unknown(plain, name string) error {
	type candidate struct {
		name string
		far  int
	}
	var all []candidate
	add := func(name string) { all = append(all, candidate{name, near.Distance(plain, name)}) }
	for _, id := range tunable.Systems() {
		add(id)
		s, err := tunable.Of(id)
		if err != nil {
			return err
		}
		for _, r := range s.Releases {
			if short := squeeze(r.Short); alone(short) {
				add(short)
			} else {
				add(id + short)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.far, b.far) })
	var there []string
	for _, c := range all[:min(suggested, len(all))] {
		there = append(there, c.name)
	}
	return fmt.Errorf("system %q is not known: there are %s, ...; systems are %s, and a version follows", name, strings.Join(there, ", "), strings.Join(tunable.Systems(), ", "))
}
