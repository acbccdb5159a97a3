package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"
)

// document is a scenario as its file has it, to be changed and written again.
type document map[string]any

func parseDocument(data []byte) (document, error) {
	var d document
	if err := yaml.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	return d, nil
}

// clone copies the keys at every depth; lists are shared.
func (d document) clone() document { return cloneKeys(d) }

func cloneKeys(keys map[string]any) map[string]any {
	keys = maps.Clone(keys)
	for key, value := range keys {
		if inner, ok := value.(map[string]any); ok {
			keys[key] = cloneKeys(inner)
		}
	}
	return keys
}

// at gives the keys below those named, and makes what is missing.
func (d document) at(names ...string) map[string]any {
	keys := map[string]any(d)
	for _, name := range names {
		inner, ok := keys[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			keys[name] = inner
		}
		keys = inner
	}
	return keys
}

// ways are the directions that are written down.
func (d document) ways() []map[string]any {
	ways := []map[string]any{d.at("path", "a_to_b")}
	if d.at("path")["b_to_a"] != nil {
		ways = append(ways, d.at("path", "b_to_a"))
	}
	return ways
}

// reseed moves everything random to another course, a different one for each
// run; the first is as the file says.
func (d document) reseed(run int) {
	for _, way := range d.ways() {
		seed, _ := way["seed"].(uint64) // how the decoder gives whole numbers
		way["seed"] = seed + 1000*uint64(run)
	}
}

// text is the scenario's file: keys are in order, so that the same scenario has the same text.
func (d document) text() ([]byte, error) {
	data, err := yaml.Marshal(map[string]any(d))
	if err != nil {
		return nil, fmt.Errorf("write scenario: %w", err)
	}
	return data, nil
}

// write puts the scenario into a file of its own in dir.
func (d document) write(dir, name string) (file string, err error) {
	data, err := d.text()
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, name+".yaml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return "", fmt.Errorf("write scenario: %w", err)
	}
	return file, nil
}
