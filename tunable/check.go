package tunable

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// check says all that is wrong with a catalogue: what an entry owes its readers
// (what it is, where that is from, how it is read and set), and what the plan and
// the change rely on (ranges, order, versions).
func (s *System) check() []error {
	var wrong []error
	add := func(of string, found ...error) {
		for _, err := range found {
			wrong = append(wrong, fmt.Errorf("%s: %w", of, err))
		}
	}
	add(s.ID, s.checkHead()...)
	for way, steps := range s.Ways {
		add("way "+way, steps.check()...)
	}
	seen := map[string]bool{}
	for i := range s.Tunables {
		t := &s.Tunables[i]
		if seen[t.Name] {
			add(t.Name, errors.New("is there twice"))
		}
		seen[t.Name] = true
		add(t.Name, t.checkTexts()...)
		add(t.Name, t.checkShape()...)
		add(t.Name, t.checkVersions()...)
		add(t.Name, t.checkSteps()...)
		if err := t.Home.check(); err != nil {
			add(t.Name, err)
		}
		add(t.Name, s.checkOrder(t)...)
		if _, ok := s.Ways[t.Way]; t.Way != "" && !ok {
			add(t.Name, fmt.Errorf("way %q is none of this system's", t.Way))
		}
	}
	return wrong
}

func (s *System) checkHead() (wrong []error) {
	for what, text := range map[string]string{"system": s.ID, "title": s.Title, "versions": s.Versions} {
		if !oneLine(text) {
			wrong = append(wrong, fmt.Errorf("%s is %q", what, text))
		}
	}
	if len(s.Releases) == 0 {
		wrong = append(wrong, errors.New("has no releases"))
	}
	shorts := map[string]bool{}
	var last []int
	for _, r := range s.Releases {
		version, ok := parseVersion(r.Version)
		if !ok || last != nil && older(version, last) {
			wrong = append(wrong, fmt.Errorf("release %q: version %q is none, or not in order", r.Name, r.Version))
		}
		last = version
		if !oneLine(r.Name) || r.short == "" || shorts[r.short] {
			wrong = append(wrong, fmt.Errorf("release %q: its short name %q is none, or there twice", r.Name, r.Short))
		}
		shorts[r.short] = true
	}
	return wrong
}

// tunableName is one word, with nothing that a shell, a path or a terminal would
// act on but dots and one colon; an instance behind @ is not part of it.
var tunableName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*([.:][A-Za-z0-9_-]+)*$`)

func (t *Tunable) checkTexts() (wrong []error) {
	if !tunableName.MatchString(t.Name) {
		wrong = append(wrong, fmt.Errorf("%q is not a name", t.Name))
	}
	for what, text := range map[string]string{"about": t.About, "risk": t.Risk, "title of the source": t.Source.Title} {
		if !oneLine(text) {
			wrong = append(wrong, fmt.Errorf("%s is %q", what, text))
		}
	}
	for what, text := range map[string]string{"unit": t.Unit, "default_note": t.Varies, "effect_note": t.Also, "obsolete": t.Obsolete, "leave": t.Leave} {
		if text != "" && !oneLine(text) {
			wrong = append(wrong, fmt.Errorf("%s is %q", what, text))
		}
	}
	if at, err := url.Parse(t.Source.URL); err != nil || at.Scheme != "https" || at.Host == "" {
		wrong = append(wrong, fmt.Errorf("has no source: its address is %q", t.Source.URL))
	}
	return wrong
}

// oneLine is some text, in one line, without blanks around it.
func oneLine(text string) bool {
	return text != "" && text == strings.TrimSpace(text) && !strings.ContainsAny(text, "\n\r\t")
}

func (t *Tunable) checkShape() (wrong []error) {
	if !slices.Contains([]Kind{Int, Bool, Triplet, Word, Words, Mask}, t.Kind) {
		wrong = append(wrong, fmt.Errorf("kind %q is none", t.Kind))
	}
	if !slices.Contains([]Scope{OfNamespace, OfHost, OfInterface, OfMount, OfRoute}, t.Scope) {
		wrong = append(wrong, fmt.Errorf("scope %q is none", t.Scope))
	}
	if !slices.Contains([]Effect{AtOnce, NewConnections, NextCall, NewDevices, NewMounts, RestartService, RestartInterface, Reboot}, t.Effect) {
		wrong = append(wrong, fmt.Errorf("effect %q is none", t.Effect))
	}
	numbers := t.Kind == Int || t.Kind == Triplet
	if numbers != (t.Max > t.Min) {
		wrong = append(wrong, fmt.Errorf("kind %s has the range %d..%d", t.Kind, t.Min, t.Max))
	}
	if t.Rising && !numbers {
		wrong = append(wrong, fmt.Errorf("kind %s cannot rise", t.Kind))
	}
	if t.Unit != "" && !numbers {
		wrong = append(wrong, fmt.Errorf("kind %s has the unit %s", t.Kind, t.Unit))
	}
	words := t.Kind == Word || t.Kind == Words
	if len(t.Choices) > 0 && !words {
		wrong = append(wrong, fmt.Errorf("kind %s has choices", t.Kind))
	}
	for _, choice := range t.Choices {
		if err := t.check(choice); err != nil {
			wrong = append(wrong, fmt.Errorf("choice: %w", err))
		}
	}
	return wrong
}

func (t *Tunable) checkVersions() (wrong []error) {
	since, hasSince := parseVersion(t.Since)
	until, hasUntil := parseVersion(t.Until)
	if hasSince != (t.Since != "") || hasUntil != (t.Until != "") || hasSince && hasUntil && !older(since, until) {
		wrong = append(wrong, fmt.Errorf("since %q until %q: not versions, or not in order", t.Since, t.Until))
	}
	if (t.Until != "") != (t.Obsolete != "") {
		wrong = append(wrong, errors.New("until and obsolete go together: the version, and what holds from it on"))
	}
	var last []int
	for _, d := range t.Defaults {
		from, ok := parseVersion(d.From)
		if !ok || last != nil && !older(last, from) {
			wrong = append(wrong, fmt.Errorf("default from %q: not a version, or not in order", d.From))
		}
		last = from
		if hasSince && older(from, since) {
			wrong = append(wrong, fmt.Errorf("default from %s, but it is there since %s", d.From, t.Since))
		}
		if err := t.check(d.Value); err != nil || d.Value != Normalise(d.Value) {
			wrong = append(wrong, fmt.Errorf("default %q: %w", d.Value, err))
		}
	}
	return wrong
}

func (t *Tunable) checkSteps() (wrong []error) {
	if t.Read == "" {
		wrong = append(wrong, errors.New("cannot be read"))
	}
	settable := t.Live != "" || t.Persist != ""
	if t.Leave == "" && !settable {
		wrong = append(wrong, errors.New("can neither be set nor persisted, and does not say why it is left alone"))
	}
	if t.Persist != "" && t.Unset == "" {
		wrong = append(wrong, errors.New("can be persisted, but that cannot be undone"))
	}
	wrong = append(wrong, t.Steps.check()...)
	for what, step := range map[string]string{"live": t.Live, "persist": t.Persist} {
		if step != "" && !strings.Contains(step, "{value}") && !strings.Contains(step, "{on}") {
			wrong = append(wrong, fmt.Errorf("step %s says no value: %s", what, step))
		}
		if strings.Contains(step, "{on}") && t.Kind != Bool {
			wrong = append(wrong, fmt.Errorf("step %s switches what is no switch: %s", what, step))
		}
	}
	for what, step := range map[string]string{"read": t.Read, "live": t.Live} {
		if step != "" && t.Scope.Instanced() && !strings.Contains(step, "{instance}") {
			wrong = append(wrong, fmt.Errorf("step %s says no instance: %s", what, step))
		}
		if !t.Scope.Instanced() && strings.Contains(step, "{instance}") {
			wrong = append(wrong, fmt.Errorf("step %s has an instance, and scope %s none", what, t.Scope))
		}
		if t.Scope != OfRoute && strings.Contains(step, "{family}") {
			wrong = append(wrong, fmt.Errorf("step %s has an address family, and scope %s none", what, t.Scope))
		}
	}
	return wrong
}

// placeholder is what stands for something in a step. Shell and awk have braces
// too, with more in them than a word.
var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

func (s Steps) check() (wrong []error) {
	for what, step := range map[string]string{"read": s.Read, "live": s.Live, "persist": s.Persist, "unset": s.Unset} {
		if step != "" && !oneLine(step) {
			wrong = append(wrong, fmt.Errorf("step %s is %q", what, step))
		}
		for _, found := range placeholder.FindAllString(step, -1) {
			if !slices.Contains([]string{"{name}", "{value}", "{instance}", "{on}", "{family}"}, found) && !udevAttribute(step, found) {
				wrong = append(wrong, fmt.Errorf("step %s has %s, which stands for nothing", what, found))
			}
		}
	}
	return wrong
}

// udevAttribute reports whether braces belong to a rule of udev: ATTR{mtu}.
func udevAttribute(step, braces string) bool { return strings.Contains(step, "ATTR"+braces) }

// checkOrder holds After and Within against the other entries.
func (s *System) checkOrder(t *Tunable) (wrong []error) {
	entry := func(name string) *Tunable {
		i := slices.IndexFunc(s.Tunables, func(t Tunable) bool { return t.Name == name })
		if i < 0 {
			wrong = append(wrong, fmt.Errorf("%s, which it must come after or stay within, is not in the catalogue", name))
			return nil
		}
		return &s.Tunables[i]
	}
	if t.Within != "" {
		if bound := entry(t.Within); bound != nil && (bound.Kind != t.Kind || bound.Unit != t.Unit || bound.Name == t.Name) {
			wrong = append(wrong, fmt.Errorf("cannot stay within %s, which is of another kind or unit", t.Within))
		}
	}
	// Whoever comes back to t by going to what it comes after, or stays within, goes in a circle.
	above := func(t *Tunable) []string {
		if t.Within == "" {
			return t.After
		}
		return append(slices.Clone(t.After), t.Within)
	}
	reached := map[string]bool{}
	open := above(t)
	for len(open) > 0 {
		name := open[0]
		open = open[1:]
		if reached[name] {
			continue
		}
		reached[name] = true
		if before := entry(name); before != nil {
			open = append(open, above(before)...)
		}
	}
	if reached[t.Name] {
		wrong = append(wrong, fmt.Errorf("comes after itself, or stays within itself, by way of %s", strings.Join(slices.Sorted(maps.Keys(reached)), ", ")))
	}
	return wrong
}
