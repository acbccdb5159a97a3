// Package sysctld knows what the files of sysctl.d(5) set at a Linux boot, as
// systemd-sysctl reads and merges them.
package sysctld

import (
	"slices"
	"strings"
)

// Assignment is a line of a settings file, its key as systemd-sysctl normalises
// it: the path under /proc/sys.
type Assignment struct {
	Key, File string // the file with a leading slash, as seen from the root
	Line      int
	Value     string // in the form of tunable.Normalise
	Negative  bool   // "-key": nothing sets it, and no pattern does
}

// Name is the key as people write it, with dots between its parts where that can
// be read back.
func (a *Assignment) Name() string {
	if i := strings.IndexAny(a.Key, "/."); i >= 0 && a.Key[i] == '.' {
		return "/" + a.Key
	}
	return strings.NewReplacer("/", ".", ".", "/").Replace(a.Key)
}

// Settings are assignments in the order in which they are made.
type Settings []Assignment

// Read merges what is under root as systemd-sysctl does. What text gives for a
// path, if anything, is taken for that file's content.
func Read(root string, text map[string][]byte) Settings {
	var all Settings
	for _, path := range Files(root, text) {
		lines := ReadFile(root, path)
		if content, ok := text[path]; ok {
			lines = Parse("/"+path, string(content))
		}
		all = append(all, lines...)
	}
	return all.Merged()
}

// Merged gives what remains where later assignments of a key replace earlier ones.
func (s Settings) Merged() Settings {
	var merged Settings
	for _, a := range s {
		merged = merged.with(a)
	}
	return merged
}

// with adds an assignment. One that says what was said before, and is not made
// another time, keeps its place; otherwise the last one counts, in its place.
func (s Settings) with(a Assignment) Settings {
	i := slices.IndexFunc(s, func(o Assignment) bool { return o.Key == a.Key })
	if i >= 0 && s[i].Negative == a.Negative && s[i].Value == a.Value {
		return s
	}
	if i >= 0 {
		s = slices.Delete(s, i, i+1)
	}
	return append(s, a)
}

// Of says what a boot makes of a tunable: the assignment of its very name, or
// of the last pattern that fits; nil if nothing sets it. One that is negative
// keeps patterns off.
func (s Settings) Of(name string) *Assignment { return s.ofKey(normaliseKey(name)) }

func (s Settings) ofKey(key string) *Assignment {
	var found *Assignment
	for i := range s {
		switch {
		case s[i].Key == key:
			return &s[i]
		case !s[i].Negative && isPattern(s[i].Key) && patternFits(s[i].Key, key):
			found = &s[i]
		}
	}
	return found
}
