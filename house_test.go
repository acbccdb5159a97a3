package fullbore_test

import (
	"bytes"
	"go/build"
	"go/build/constraint"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// files calls look with every file of the repository that has one of the endings.
func files(t *testing.T, look func(name string, text []byte), endings ...string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "bin" || name == ".git"):
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		}
		for _, ending := range endings {
			if strings.HasSuffix(name, ending) {
				text, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				look(filepath.ToSlash(name), text)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNamedSources: nobody outside this project knows an article by a number.
func TestNamedSources(t *testing.T) {
	numbered := regexp.MustCompile(`\bS[0-4]\b`)
	files(t, func(name string, text []byte) {
		for i, line := range bytes.Split(text, []byte("\n")) {
			if found := numbered.Find(line); found != nil && name != "house_test.go" {
				t.Errorf("%s:%d: %s: name the source by its subject, such as \"the NFS article\"", name, i+1, found)
			}
		}
	}, ".go", ".md", ".yaml", ".yml", ".txt", ".sh")
}

// systems have a file each where rooms tell them apart when they run, not when they
// are built.
var systems = map[string]bool{"linux.go": true, "freebsd.go": true, "macos.go": true, "solaris.go": true, "windows.go": true}

// fewest lines of a file that is not one because a platform needs it.
const fewest = 40

// TestSmallFiles: a file of a few lines joins a neighbour with the same idea, unless
// it is the only one of its package, or differs with the platform.
func TestSmallFiles(t *testing.T) {
	lines, split := map[string]int{}, map[string]bool{}
	siblings := map[string][]string{}
	files(t, func(name string, text []byte) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		lines[name] = bytes.Count(text, []byte("\n"))
		split[name] = forPlatform(t, name, text)
		siblings[path.Dir(name)] = append(siblings[path.Dir(name)], name)
	}, ".go")
	for name, count := range lines {
		room := siblings[path.Dir(name)]
		if count >= fewest || len(room) == 1 || split[name] || name == "cmd/fullbore/main.go" || systems[path.Base(name)] {
			continue
		}
		// cpu.go is what cpu_linux.go and cpu_windows.go have in common.
		common := false
		for _, other := range room {
			common = common || split[other] && strings.HasPrefix(other, strings.TrimSuffix(name, ".go")+"_")
		}
		if !common {
			t.Errorf("%s has %d lines: join it with a neighbour", name, count)
		}
	}
}

// forPlatform says whether a file is built for some systems only, by its name or by
// a build constraint.
func forPlatform(t *testing.T, name string, text []byte) bool {
	t.Helper()
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("package ")) {
			break
		}
		if constraint.IsGoBuild(string(line)) {
			return true
		}
	}
	in := func(system string) bool {
		c := build.Default
		c.GOOS = system
		match, err := c.MatchFile(filepath.Dir(name), filepath.Base(name))
		if err != nil {
			t.Fatal(err)
		}
		return match
	}
	return in("linux") != in("windows") || in("linux") != in("darwin") || in("linux") != in("solaris")
}
