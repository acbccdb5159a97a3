package tunable

import (
	"errors"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// Every catalogue keeps its own rules: each entry says what it is, where that is
// from, how it is read and set, and has its place in the order.
func TestCatalogue(t *testing.T) {
	systems := Systems()
	if len(systems) < 6 {
		t.Fatalf("there are only %d catalogues: %v", len(systems), systems)
	}
	for _, id := range systems {
		t.Run(id, func(t *testing.T) {
			s, err := Of(id)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range s.check() {
				t.Error(err)
			}
		})
	}
}

// sound is a catalogue with nothing wrong in it, to be broken.
const sound = `
system: test
title: Test
versions: version
releases:
  - {name: Test 1, short: one, version: "1"}
  - {name: Test 2, short: two, version: "2"}
ways:
  usual: {read: "get {name}", live: "set {name} {value}", unset: "drop {name}", home: {kind: command, command: "keep {name} {value}"}}
tunables:
  - name: max
    about: A limit.
    kind: int
    unit: bytes
    min: 1
    max: 9
    defaults: [{from: "1", value: "3"}, {from: "2", value: "4"}]
    scope: host
    effect: at once
    risk: none
    rising: true
    way: usual
    source: {title: Test, url: "https://example.org/"}
  - name: size
    about: A size.
    kind: int
    unit: bytes
    min: 1
    max: 9
    scope: host
    effect: at once
    after: [max]
    within: max
    risk: none
    way: usual
    source: {title: Test, url: "https://example.org/"}
`

func decoded(text string) (*System, error) {
	s := &System{}
	err := yaml.UnmarshalWithOptions([]byte(text), s, yaml.Strict())
	s.complete()
	return s, err
}

func TestSoundCatalogue(t *testing.T) {
	s, err := decoded(sound)
	if err := errors.Join(append(s.check(), err)...); err != nil {
		t.Error(err)
	}
}

// A catalogue with an error is not let pass.
func TestBrokenCatalogue(t *testing.T) {
	for _, tc := range []struct{ old, new, says string }{
		{`source: {title: Test, url: "https://example.org/"}`, ``, "max: has no source"},
		{`url: "https://example.org/"`, ``, "max: has no source"},
		{`https://example.org/`, `http://example.org/`, "max: has no source"},
		{`{title: Test, url`, `{url`, `max: title of the source is ""`},
		{`about: A limit.`, ``, `max: about is ""`},
		{`risk: none`, ``, `max: risk is ""`},
		{"about: A size.", `about: " A size."`, `size: about is " A size."`},
		{`kind: int`, `kind: integer`, `kind "integer" is none`},
		{`kind: int`, `kind: bool`, "kind bool has the range 1..9"},
		{`kind: int`, `kind: bool`, "kind bool cannot rise"},
		{`kind: int`, `kind: bool`, "kind bool has the unit bytes"},
		{`kind: int`, "kind: int\n    choices: [a]", "kind int has choices"},
		{`kind: int`, "kind: word\n    choices: [a/b]", "choice: name"},
		{`min: 1`, `min: 10`, "has the range 10..9"},
		{`scope: host`, `scope: world`, `scope "world" is none`},
		{`effect: at once`, `effect: soon`, `effect "soon" is none`},
		{`{from: "1", value: "3"}, {from: "2", value: "4"}`, `{from: "2", value: "4"}, {from: "1", value: "3"}`, "not in order"},
		{`{from: "1", value: "3"}`, `{from: "1", value: "10"}`, "10 is outside 1..9"},
		{`{from: "1", value: "3"}`, `{from: "one", value: "3"}`, `default from "one"`},
		{`{from: "1", value: "3"}`, `{from: "1", value: " 3"}`, `default " 3"`},
		{`rising: true`, "rising: true\n    since: \"2\"", "default from 1, but it is there since 2"},
		{`rising: true`, "rising: true\n    until: \"2\"", "until and obsolete go together"},
		{`rising: true`, "rising: true\n    obsolete: It is.", "until and obsolete go together"},
		{`rising: true`, "rising: true\n    since: \"2\"\n    until: \"2\"\n    obsolete: It is.", "not in order"},
		{`read: "get {name}", `, ``, "max: cannot be read"},
		{`live: "set {name} {value}", unset: "drop {name}", home: {kind: command, command: "keep {name} {value}"}`, ``, "max: can neither be set nor persisted"},
		{`, unset: "drop {name}"`, ``, "max: can be persisted, but that cannot be undone"},
		{`kind: command, `, `kind: cupboard, `, `home of kind "cupboard": there is no such kind`},
		{`kind: command, `, ``, `home of kind ""`},
		{`kind: command, `, `kind: udev, `, `home of kind "udev" lacks`},
		{`kind: command, command`, `kind: sysctl, line`, `home of kind "sysctl" lacks`},
		{`{kind: command, command: "keep {name} {value}"}`, `{kind: people, people: " x {value}"}`, "step persist is"},
		{`keep {name} {value}`, `keep {name}`, "step persist says no value"},
		{`set {name} {value}`, `set {name}`, "step live says no value"},
		{`set {name} {value}`, `set {name} {on}`, "switches what is no switch"},
		{`set {name} {value}`, `set {nam} {value}`, "{nam}, which stands for nothing"},
		{`set {name} {value}`, `set {instance} {value}`, "has an instance, and scope host none"},
		{`scope: host`, `scope: mount`, "step read says no instance"},
		{`way: usual`, `way: fancy`, `way "fancy" is none`},
		{`after: [max]`, `after: [most]`, "most, which it must come after"},
		{`within: max`, `within: most`, "most, which it must come after or stay within"},
		{`within: max`, `within: size`, "cannot stay within size"},
		{`rising: true`, `after: [size]`, "comes after itself"},
		{`after: [max]`, `after: [size]`, "comes after itself"},
		{`rising: true`, `within: size`, "stays within itself"},
		{`name: size`, `name: max`, "max: is there twice"},
		{`name: size`, `name: "si ze"`, `"si ze" is not a name`},
		{`name: size`, `name: "size@eth0"`, `"size@eth0" is not a name`},
		{`short: two`, `short: one`, `its short name "one" is none, or there twice`},
		{`version: "2"}`, `version: "0"}`, `version "0" is none, or not in order`},
		{`title: Test`, ``, `title is ""`},
	} {
		s, err := decoded(strings.Replace(sound, tc.old, tc.new, 1))
		if err != nil {
			t.Errorf("%q for %q: %v", tc.new, tc.old, err)
			continue
		}
		if err := errors.Join(s.check()...); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%q for %q: %v, want %q", tc.new, tc.old, err, tc.says)
		}
	}
}

// A key that nothing reads is an error, not silence.
func TestStrictCatalogue(t *testing.T) {
	for _, key := range []string{"first: \"2\"", "rising: maybe", "min: one"} {
		if _, err := decoded(strings.Replace(sound, "rising: true", key, 1)); err == nil {
			t.Errorf("%s passes", key)
		}
	}
}
