package lab

import (
	"path/filepath"
	"strings"

	"github.com/fullbore/fullbore/lab/schema"
)

// Load is [LoadAny] of two hosts and a path; of more hosts the error is an [*ErrNetwork].
func Load(nameOrFile string) (*Scenario, error) {
	s, err := LoadAny(nameOrFile)
	if err == nil && s.Network != nil {
		return nil, &ErrNetwork{s}
	}
	return s, err
}

// LoadAny gives the built-in scenario of that name or, if the argument has a path
// separator or ends in .yaml or .yml, the one in that file. Everything wrong
// with a file is in the error, with line and column.
func LoadAny(nameOrFile string) (*Scenario, error) {
	extension := strings.ToLower(filepath.Ext(nameOrFile))
	if !strings.ContainsAny(nameOrFile, `/\`) && extension != ".yaml" && extension != ".yml" {
		return builtin(nameOrFile)
	}
	data, err := schema.ReadFile(nameOrFile, "scenario")
	if err != nil {
		return nil, err
	}
	return Parse(nameOrFile, data)
}

// Parse reads a scenario; file is what errors call it. What may be omitted is
// filled in, so that the result is complete.
func Parse(file string, data []byte) (*Scenario, error) {
	root, err := schema.Document(file, "a scenario: expected one YAML document with name and path", data)
	if err != nil {
		return nil, err
	}
	scenario := new(Scenario)
	wrong := schema.Decode(root, scenario)
	if wrong == nil {
		wrong = scenario.check(root)
	}
	if err := schema.Join(file, wrong); err != nil {
		return nil, err
	}
	return scenario, nil
}
