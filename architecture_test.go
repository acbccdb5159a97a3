// Package fullbore_test guards what holds for the repository as a whole.
package fullbore_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/fullbore/fullbore/"

// TestImportsPointDown reads the list of rooms from ARCHITECTURE.md: every
// package stands in it, has a doc comment, and imports only rooms below it.
func TestImportsPointDown(t *testing.T) {
	floor := rooms(t)
	documented := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		room := filepath.ToSlash(filepath.Dir(path))
		here, ok := floor[room]
		if !ok {
			t.Errorf("%s: room %s is not in ARCHITECTURE.md", path, room)
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.ImportsOnly)
		if err != nil {
			return err
		}
		documented[room] = documented[room] || file.Doc != nil
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if other, ours := strings.CutPrefix(name, module); ours && floor[other] <= here {
				t.Errorf("%s imports %s, which is not below it in ARCHITECTURE.md", path, other)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for room := range floor {
		if !documented[room] {
			t.Errorf("room %s has no package, or its package no doc comment", room)
		}
	}
}

// rooms gives each room's line in the list: larger is lower.
func rooms(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "```\n")
	list, _, ok := strings.Cut(list, "```")
	lines := regexp.MustCompile(`(?m)^([a-z0-9/-]+) +\S`).FindAllStringSubmatch(list, -1)
	if !ok || len(lines) == 0 {
		t.Fatal("ARCHITECTURE.md has no list of rooms")
	}
	floor := map[string]int{}
	for i, line := range lines {
		floor[line[1]] = i
	}
	return floor
}

// TestPlacesExist: what the table of places names is there.
func TestPlacesExist(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "| to add | go to |")
	places := regexp.MustCompile("`([a-z.][a-zA-Z0-9_./-]*)`").FindAllStringSubmatch(table, -1)
	if !ok || len(places) < 20 {
		t.Fatalf("ARCHITECTURE.md has no table of places, or names %d", len(places))
	}
	for _, place := range places {
		name := place[1]
		if strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".yaml") {
			continue // how a name ends
		}
		if _, err := os.Stat(name); err != nil {
			t.Errorf("the table of places names %s: %v", name, err)
		}
	}
}
