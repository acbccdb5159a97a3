//go:build linux

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A module with one package, whose test knows Capped, sees nothing of what
// Unwatched gives, and does not call Unreached.
var sample = map[string]string{
	"go.mod": "module sample\n\ngo 1.26\n",
	"sample/sample.go": `package sample

func Capped(n, most int) int {
	if n > most {
		return most
	}
	return n
}

func Unwatched(n int) int { return n + 1 }

func Unreached(ok bool) int {
	if ok {
		return 1
	}
	return 0
}

func Share(a, b float64) bool { return a < b }
`,
	"sample/sample_test.go": `package sample

import "testing"

func TestCapped(t *testing.T) {
	if Capped(3, 2) != 2 || Capped(1, 2) != 1 {
		t.Error("not capped")
	}
	Unwatched(1)
	if !Share(1, 2) || Share(2, 1) {
		t.Error("share")
	}
}
`,
	"mutants.md": "# Intro\n" + docMark,
	"explained/sample.yaml": `- file: sample.go
  line: "if n > most {"
  change: "> becomes >="
  why: "Both give the same number where n is most."
`,
}

// TestRun: what a test notices is killed, an explained survivor keeps its reason,
// the others are listed as open, and all of it is known the next time.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	for name, text := range sample {
		write(t, filepath.Join(dir, name), text)
	}
	t.Chdir(dir)
	o := &options{workers: 1, only: regexp.MustCompile(""), explained: "explained", keep: "kept", doc: "mutants.md"}
	again := func() string {
		t.Helper()
		if err := run(t.Context(), o, []string{"sample"}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(o.doc)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	doc := again()
	for _, want := range []string{
		"# Intro\n",
		"| sample | 6 | 2 | 0 | 33.3 % | 1 | 1 | 2 |",
		"- sample/sample.go:4:7: > becomes >=. Both give the same number where n is most.\n",
		"- sample/sample.go:10:38: + becomes - (survived): `func Unwatched(n int) int { return n + 1 }`\n",
		"- sample/sample.go:13:5: the condition is negated (not reached): `if ok {`\n",
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("the document lacks %q:\n%s", want, doc)
		}
	}
	// A test that notices more: those killed before are not tried again.
	test := strings.Replace(sample["sample/sample_test.go"], "\tUnwatched(1)\n", "\tif Unwatched(1) != 2 || Unreached(true) != 1 {\n\t\tt.Error(\"unwatched\")\n\t}\n", 1)
	write(t, "sample/sample_test.go", test)
	if doc := again(); !strings.Contains(doc, "| sample | 6 | 4 | 0 | 66.7 % | 1 | 1 | 0 |") {
		t.Errorf("with a better test:\n%s", doc)
	}
	write(t, "explained/sample.yaml", sample["explained/sample.yaml"]+"- {file: sample.go, line: 'return n', change: x, why: y}\n")
	if err := run(t.Context(), o, []string{"sample"}); err == nil || !strings.Contains(err.Error(), `sample: sample.go, "return n", x: no such mutant survives`) {
		t.Errorf("an explanation of nothing: %v", err)
	}
}

// TestTreeChanges: what a test reads changes while mutants are tried, so that it
// fails with all of them. None of that counts.
func TestTreeChanges(t *testing.T) {
	dir := t.TempDir()
	for name, text := range sample {
		write(t, filepath.Join(dir, name), text)
	}
	// From the third time on the test fails: it is run once alone, and then with mutants.
	write(t, filepath.Join(dir, "sample/reads_test.go"), `package sample

import (
	"os"
	"testing"
)

func TestReads(t *testing.T) {
	Capped(1, 2)
	text, _ := os.ReadFile("times")
	if len(text) >= 2 {
		t.Error("the file has changed")
	}
	os.WriteFile("times", append(text, 'x'), 0o600)
}
`)
	t.Chdir(dir)
	o := &options{workers: 1, only: regexp.MustCompile(""), explained: "explained", keep: "kept", doc: "mutants.md"}
	if err := run(t.Context(), o, []string{"sample"}); err == nil || !strings.Contains(err.Error(), "the tests fail without a mutant, too") {
		t.Errorf("error %v", err)
	}
	text, err := os.ReadFile("kept/sample.txt")
	if err != nil || strings.Count(string(text), "\n") != 1 {
		t.Errorf("what was found is kept: %v\n%s", err, text)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestExplanations: each explains a line that is there.
func TestExplanations(t *testing.T) {
	files, err := filepath.Glob("explained/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		path := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(name), ".yaml"), "-", "/")
		all, err := explain("explained", path)
		if err != nil {
			t.Error(err)
		}
		for _, e := range all {
			text, err := os.ReadFile(filepath.Join("..", "..", path, e.File))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			there := false
			for line := range strings.Lines(string(text)) {
				there = there || strings.ReplaceAll(strings.TrimSpace(line), "\t", " ") == e.Line
			}
			if !there {
				t.Errorf("%s: %s has no line %q", name, e.File, e.Line)
			}
		}
	}
}
