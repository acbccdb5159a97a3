package tunable

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/fullbore/fullbore/near"
)

// aliases are other names of systems.
var aliases = map[string]string{
	"sunos": "solaris", "opensolaris": "illumos",
	"osx": "macos", "macosx": "macos", "mac": "macos",
	"win": "windows",
}

// maxName bounds what people write for a system, in bytes: the longest names of
// releases have some 40.
const maxName = 64

// Find gives the system and the version that people mean: by a release's short
// name ("windows2003", "rhel7"), by its whole name ("Windows Server 2003"), or by
// the number of a version ("linux5.15", "SunOS 5.10"). The version is "" where they
// name none.
func Find(name string) (*System, string, error) {
	squeezed := squeeze(name)
	if squeezed == "" || len(name) > maxName {
		return nil, "", fmt.Errorf("a system's name has 1 to %d bytes, not %d", maxName, len(name))
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) && r != '\t' }) {
		return nil, "", fmt.Errorf("the system's name %q has something in it that cannot be printed", name)
	}
	var known []string
	for _, id := range Systems() {
		s, err := Of(id)
		if err != nil {
			return nil, "", err
		}
		if version, ok := s.meant(squeezed); ok {
			return s, version, nil
		}
		known = append(known, id)
		for i := range s.Releases {
			known = append(known, cmp.Or(s.Releases[i].alone(), id+s.Releases[i].short))
		}
	}
	return nil, "", fmt.Errorf("system %q is not known%s: there are %s, each with a version behind it, and names of releases such as rhel8 or windows2019",
		name, near.DidYouMean(squeezed, known), strings.Join(Systems(), ", "))
}

// meant gives the version of s that a name means; false if it is not one of s.
func (s *System) meant(squeezed string) (version string, ok bool) {
	for _, prefix := range s.names() {
		rest, ok := strings.CutPrefix(squeezed, prefix)
		if !ok {
			continue
		}
		if rest == "" {
			return "", true
		}
		if version, ok := s.version(rest); ok {
			return version, true
		}
	}
	for i := range s.Releases {
		if r := &s.Releases[i]; squeezed == r.name || squeezed == r.alone() {
			return r.Version, true
		}
	}
	return "", false
}

// version gives the version of s that stands behind its name: a release's short
// name ("2003", "rhel7", "10"), or a number such as there can be ("5.15"): not below
// the first release, and not above the next of its first number.
func (s *System) version(squeezed string) (string, bool) {
	for i := range s.Releases {
		if squeezed == s.Releases[i].short {
			return s.Releases[i].Version, true
		}
	}
	if !number.MatchString(squeezed) || len(s.Releases) == 0 {
		return "", false
	}
	if s.ID == "solaris" {
		squeezed = strings.TrimPrefix(squeezed, "5.") // SunOS 5.10 is Solaris 10
	}
	v, okV := parseVersion(squeezed)
	first, okFirst := parseVersion(s.Releases[0].Version)
	last, okLast := parseVersion(s.Newest())
	if !okV || !okFirst || !okLast || older(v, first) || v[0] > last[0]+1 {
		return "", false
	}
	return squeezed, true
}

// Newest is the version of the last release.
func (s *System) Newest() string {
	if len(s.Releases) == 0 {
		return ""
	}
	return s.Releases[len(s.Releases)-1].Version
}

// number is a version in digits. Sizes are bounded, so that it can be parsed.
var number = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,9}){0,5}$`)

// names are those that the system goes by, longer ones first: "macosx10.4" begins
// with "macos" too.
func (s *System) names() []string {
	all := []string{s.ID}
	for alias, of := range aliases {
		if of == s.ID {
			all = append(all, alias)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return all
}

// alone is the short name of a release if nothing need stand before it: "rhel7",
// not "2003" or "xp".
func (r *Release) alone() string {
	if len(r.short) < 3 || r.short[0] >= '0' && r.short[0] <= '9' {
		return ""
	}
	return r.short
}

// squeeze makes spellings of one name equal, and takes a distribution's part from
// the version of a kernel: "Linux 6.1.0-18-amd64" is "linux6.1.0".
func squeeze(name string) string {
	name = distributions.ReplaceAllString(strings.ToLower(name), "$1")
	return separators.Replace(name)
}

var separators = strings.NewReplacer(" ", "", "-", "", "_", "", "\t", "")

var distributions = regexp.MustCompile(`([0-9]\.[0-9]+\.[0-9]+)[-+_ ].*`)

// Having gives the systems that have a tunable of that name, with or without an
// instance, sorted.
func Having(name string) []string {
	return slices.DeleteFunc(Systems(), func(id string) bool {
		_, ok := Lookup(id, name)
		return !ok
	})
}

// DidYouMean is " (did you mean x or y?)" of tunables of s whose names are near the
// one given, whatever its letters' case and without the parts before the last dot or
// colon if it has none; nothing if there are none.
func (s *System) DidYouMean(name string) string {
	name, _ = Split(strings.ToLower(name))
	spelt := map[string]string{}
	var names []string
	for _, t := range s.Tunables {
		written := strings.ToLower(t.Name)
		if !strings.ContainsAny(name, ".:") {
			written = written[strings.LastIndexAny(written, ".:")+1:]
		}
		if _, there := spelt[written]; !there {
			spelt[written] = t.Name
			names = append(names, written)
		}
	}
	found := near.Words(name, names)
	for i, written := range found {
		found[i] = spelt[written]
	}
	if len(found) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(found, " or ") + "?)"
}
