// Package collector gives the facts of hosts that are not at hand: it prints a command
// that collects them using only what the host's operating system comes with, reads
// what that command prints, and assumes the system's defaults where it was not run.
package collector

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
)

// Schema is that of the JSON that fullbore facts writes.
const Schema = "fullbore/facts/1"

// Document is host.Facts as a file (docs/json.md).
type Document struct {
	Schema string `json:"schema"`
	*host.Facts
}

// document reads the JSON of fullbore facts. A key that is not known is noted:
// it may be a newer version's, or mistyped.
func (r *reading) document(text string) error {
	d := Document{Facts: &r.facts}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return fmt.Errorf("JSON: %w", place(text, err))
	}
	if d.Schema != Schema {
		return fmt.Errorf("the JSON's schema is %.40q, want %q", d.Schema, Schema)
	}
	strict := json.NewDecoder(strings.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&Document{Facts: &host.Facts{}}); err != nil {
		r.notes = append(r.notes, fmt.Sprintf("%.200v: not known here, and left out", err))
	}
	return r.vet()
}

// Vet is for facts that came in another way than through Read: from a far end,
// whose word they are. It says what in them cannot be, within the bounds of a
// file of facts; and it takes out, and notes, tunables that the catalogue does
// not have and values that those cannot have.
func Vet(f *host.Facts) (notes []string, err error) {
	r := &reading{facts: *f}
	if err := r.vet(); err != nil {
		return nil, err
	}
	*f = r.facts
	return r.notes, nil
}

// vet is Vet of what was read as a whole.
func (r *reading) vet() error {
	if r.facts.Tunables == nil {
		r.facts.Tunables = map[string]string{}
	}
	if r.facts.Interfaces == nil {
		r.facts.Interfaces = []host.Interface{}
	}
	if err := check(&r.facts); err != nil {
		return err
	}
	r.retain()
	return nil
}

// retain keeps the tunables that the catalogue knows, with values that they can
// have.
func (r *reading) retain() {
	f := &r.facts
	for _, name := range slices.Sorted(maps.Keys(f.Tunables)) {
		value := f.Tunables[name]
		delete(f.Tunables, name)
		known, ok := tunable.Lookup(f.OS, name)
		_, instance := tunable.Split(name)
		if !ok || known.Scope.Instanced() != plausible(instance) {
			r.remark("tunables: %.80q is not in the catalogue of %s; left out", name, f.OS)
			continue
		}
		value, err := accept(known, value)
		if err != nil {
			r.remark("tunables: %.80s: %v; left out", name, err)
			continue
		}
		f.Tunables[name] = value
	}
	maps.DeleteFunc(f.Most, func(name string, most int64) bool { return f.Tunables[name] == "" || most <= 0 })
	f.ReadOnly = slices.DeleteFunc(f.ReadOnly, func(name string) bool { return f.Tunables[name] == "" })
}

// place adds the line to an error of JSON.
func place(text string, err error) error {
	at := int64(-1)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = syntax.Offset
	} else if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at = kind.Offset
	}
	if at < 0 || at > int64(len(text)) {
		return err
	}
	return fmt.Errorf("line %d: %w", 1+strings.Count(text[:at], "\n"), err)
}
