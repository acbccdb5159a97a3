package tunable

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

//go:embed *.yaml
var files embed.FS

// read decodes every catalogue once. The files are part of the program, so an
// error in one is found by this package's tests, and is the same on every call.
var read = sync.OnceValues(func() (map[string][]Tunable, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list catalogues: %w", err)
	}
	all := map[string][]Tunable{}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read catalogue: %w", err)
		}
		var entries []Tunable
		if err := yaml.UnmarshalWithOptions(text, &entries, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("read catalogue %s: %w", name, err)
		}
		all[strings.TrimSuffix(name, ".yaml")] = entries
	}
	return all, nil
})

// Catalogue gives every tunable known of an operating system ("linux", as in
// host.Facts.OS), in the order of its file.
func Catalogue(os string) ([]Tunable, error) {
	all, err := read()
	if err != nil {
		return nil, err
	}
	entries, ok := all[os]
	if !ok {
		return nil, fmt.Errorf("no catalogue of tunables for operating system %q", os)
	}
	return slices.Clone(entries), nil
}

// Lookup finds one tunable of an operating system.
func Lookup(os, name string) (*Tunable, bool) {
	entries, err := Catalogue(os)
	if err != nil {
		return nil, false
	}
	i := slices.IndexFunc(entries, func(t Tunable) bool { return t.Name == name })
	if i < 0 {
		return nil, false
	}
	return &entries[i], true
}
