package lab

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/fullbore/fullbore/near"
)

//go:embed scenarios/*.yaml
var scenarioFiles embed.FS

var builtins = sync.OnceValue(func() []*Scenario {
	entries, err := scenarioFiles.ReadDir("scenarios")
	if err != nil {
		panic(err) // embedded: cannot fail in a binary that was tested
	}
	var all []*Scenario
	for _, entry := range entries {
		file := path.Join("scenarios", entry.Name())
		data, err := scenarioFiles.ReadFile(file)
		if err != nil {
			panic(err)
		}
		scenario, err := Parse(file, data)
		if err != nil {
			panic(err)
		}
		all = append(all, scenario)
	}
	return all
})

// Builtin gives the scenarios of two hosts and a path that are part of the program, by name.
func Builtin() []*Scenario {
	return slices.DeleteFunc(slices.Clone(builtins()), func(s *Scenario) bool { return s.Network != nil })
}

// Networks gives those of more hosts.
func Networks() []*Scenario {
	return slices.DeleteFunc(slices.Clone(builtins()), func(s *Scenario) bool { return s.Network == nil })
}

// OfTransfers gives those that are made for transfers: the others are for requests to a file.
func OfTransfers() []*Scenario {
	return slices.DeleteFunc(Builtin(), func(s *Scenario) bool { return s.NFS != nil })
}

func builtin(name string) (*Scenario, error) {
	var names []string
	for _, scenario := range builtins() {
		if scenario.Name == name {
			return scenario, nil
		}
		names = append(names, scenario.Name)
	}
	return nil, fmt.Errorf("unknown scenario %q%s: see fullbore lab list, or name a .yaml file", name, near.DidYouMean(name, names))
}
