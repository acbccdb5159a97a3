package format

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/host/collector"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

// TestGolden holds every format's files for every host. The functions that
// scripts share are left out of them.
func TestGolden(t *testing.T) {
	for _, c := range examples() {
		for _, f := range All() {
			if !f.For(c.host) {
				continue
			}
			t.Run(c.name+"/"+f.Name, func(t *testing.T) {
				var all strings.Builder
				for _, file := range written(t, f, c) {
					fmt.Fprintf(&all, "==== %s %04o\n%s", file.Name, file.Mode, abridged(file.Text))
				}
				golden.Check(t, c.name+"-"+f.Name+".txt", all.String())
			})
		}
	}
}

// TestGoldenFiles: testdata has no files of examples that are gone.
func TestGoldenFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range examples() {
		files = slices.DeleteFunc(files, func(file string) bool { return file == filepath.Join("testdata", "find.txt") })
		for _, f := range All() {
			name := filepath.Join("testdata", c.name+"-"+f.Name+".txt")
			files = slices.DeleteFunc(files, func(file string) bool { return file == name && f.For(c.host) })
		}
	}
	if len(files) > 0 {
		t.Errorf("no example writes %v", files)
	}
}

// TestNames: no function of the scripts is called as one of the aliases that ksh
// comes with, which would be taken instead (ksh93, src/cmd/ksh93/data/aliases.c).
func TestNames(t *testing.T) {
	aliases := strings.Fields("autoload command compound false fc float functions hash history integer nameref nohup r redirect source stop suspend times true type")
	for _, f := range engineFunctions() {
		if slices.Contains(aliases, f.name) {
			t.Errorf("ksh has an alias of the name of the function %s", f.name)
		}
	}
	if len(engineFunctions()) < 15 {
		t.Errorf("found only %d functions", len(engineFunctions()))
	}
}

// abridged leaves out of a text what every script, every play and every
// PowerShell script shares.
func abridged(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for _, shared := range []string{readTask + tasks, readTask + undoTasks, windowsEngine} {
		text = strings.Replace(text, shared, "\n[...]\n", 1)
	}
	for _, indent := range []string{"", "      "} { // in YAML, too
		for _, f := range functions(engine) {
			text = strings.Replace(text, indented(f.text, indent), "", 1)
		}
		text = strings.Replace(text, indented(begin, indent), "\n"+indent+"[...]\n", 1)
	}
	return text
}

func indented(text, indent string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if line != "\n" && line != "" {
			lines[i] = indent + line
		}
	}
	return strings.Join(lines, "")
}

// TestFind holds which systems have which formats, and what is said where a name
// is none of theirs: the golden file has one line a system.
func TestFind(t *testing.T) {
	var says strings.Builder
	for _, system := range []string{
		"linux 2.4", "macos 10.3", "macos 10.4", "macos 10.9.5", "macos 10.10", "macos 15", "freebsd 14", "solaris 8", "solaris 10", "solaris 11.4", "illumos 5.11",
		"windows 5.0", "windows 6.0", "windows 6.1", "windows 10.0.26100", "plan9 4",
	} {
		os, version, _ := strings.Cut(system, " ")
		h := &host.Facts{OS: os, Version: version}
		_, err := Find("", h)
		if err == nil {
			t.Fatalf("%s: a format has no name", system)
		}
		fmt.Fprintln(&says, err)
		for _, f := range All() {
			found, err := Find(f.Name, h)
			if f.For(h) != (err == nil) || err == nil && found.Name != f.Name {
				t.Errorf("%s: %s is found as %v, %v", system, f.Name, found, err)
			}
		}
	}
	golden.Check(t, "find.txt", says.String())
	if _, err := Find("script", nil); !errors.Is(err, errNoHost) {
		t.Errorf("for no host: %v", err)
	}
}

// TestRegistered: every format says all that others read of it.
func TestRegistered(t *testing.T) {
	all := All()
	if len(all) < 10 || len(all) != len(registered) {
		t.Errorf("%d formats, %d registered", len(all), len(registered))
	}
	names := map[string]bool{}
	for _, f := range all {
		switch {
		case f.Name == "" || f.About == "" || f.For == nil || f.Write == nil || f.Undo == nil:
			t.Errorf("format %q leaves out its name, what it is, for whom, or how it is written or undone", f.Name)
		case names[f.Name]:
			t.Errorf("two formats are called %s", f.Name)
		case (f.Manager == "") != (f.Remedy == "") || f.Manager != strings.ToLower(f.Manager):
			t.Errorf("%s: a manager in small letters and what to do about it go together: %q, %q", f.Name, f.Manager, f.Remedy)
		case !slices.ContainsFunc(examples(), func(e example) bool { return f.For(e.host) }):
			t.Errorf("%s: no example's host has it", f.Name)
		}
		names[f.Name] = true
	}
}

// TestRemedies: a plan for a host where a format's program sets tunables says so,
// and what to do about that, in the format's words.
func TestRemedies(t *testing.T) {
	for _, f := range All() {
		if f.Manager == "" {
			continue
		}
		h, err := collector.Assume("linux6.1", 16<<30)
		if err != nil {
			t.Fatal(err)
		}
		h.Managers = []host.Manager{{Name: strings.ToUpper(f.Manager)}}
		p := plan.Make(plan.Input{Path: plan.Given(unit.Gbps, 100*time.Millisecond, 1500), Receiver: h, OneEnd: true})
		if !slices.ContainsFunc(p.Notes, func(note string) bool { return strings.Contains(note, f.Remedy) }) {
			t.Errorf("%s: no note says %q: %q", f.Name, f.Remedy, p.Notes)
		}
	}
}

// TestComments: what a kind of comment writes is one to its reader, and what ends
// it is not.
func TestComments(t *testing.T) {
	for _, e := range examples() {
		for _, f := range All() {
			if !f.For(e.host) {
				continue
			}
			for _, file := range written(t, f, e) {
				c := file.comments
				if c == nil {
					t.Fatalf("%s: %s does not say how it has comments", f.Name, file.Name)
				}
				if !c.are(c.mark+" text"+c.close) || c.are("text") || c.are("") {
					t.Errorf("%s: %s does not know its own comments", f.Name, file.Name)
				}
				if c.close != "" && c.are(c.mark+" text"+c.close+" more") {
					t.Errorf("%s: %s goes on behind a comment", f.Name, file.Name)
				}
			}
		}
	}
}

// TestDocs: docs/formats.md has a row for each format, which names its files, and
// no others; and says of each what it was tried with.
func TestDocs(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "formats.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows, tried := map[string]string{}, ""
	table := 0
	for line := range strings.Lines(string(doc)) {
		cells := strings.Split(line, "|")
		switch {
		case !strings.HasPrefix(line, "|"):
			continue
		case strings.HasPrefix(line, "| format |"):
			table++
		case table == 1 && !strings.HasPrefix(line, "|---"):
			rows[strings.Trim(cells[1], " `")] = line
		case table == 2:
			tried += cells[1]
		}
	}
	for _, f := range All() {
		row, ok := rows[f.Name]
		if !ok {
			t.Errorf("docs/formats.md has no row for %s", f.Name)
			continue
		}
		delete(rows, f.Name)
		if !strings.Contains(tried, "`"+f.Name+"`") {
			t.Errorf("docs/formats.md does not say what %s was tried with", f.Name)
		}
		for _, e := range examples() {
			if !f.For(e.host) {
				continue
			}
			if !strings.Contains(row, named(e.host)) {
				t.Errorf("docs/formats.md does not say that %s is for %s", f.Name, named(e.host))
			}
			for _, file := range written(t, f, e) {
				if !strings.Contains(row, file.Name) && !strings.Contains(row, path.Base(file.Name)) {
					t.Errorf("docs/formats.md does not name the file %s of %s", file.Name, f.Name)
				}
			}
		}
	}
	for name := range rows {
		t.Errorf("docs/formats.md has a row for %s, which is no format", name)
	}
}

// named is a host's system as the documents call it.
func named(h *host.Facts) string {
	s, err := tunable.Of(h.OS)
	if err != nil {
		return h.OS
	}
	return s.Title
}

// TestNothing: a plan with nothing for the host is said to be one.
func TestNothing(t *testing.T) {
	other := &plan.Plan{Steps: []plan.Step{{Changes: []plan.Change{{Host: "another", Tunable: "net.ipv4.tcp_sack", From: "0", To: "1"}}}}}
	for _, c := range examples() {
		for _, f := range All() {
			if !f.For(c.host) {
				continue
			}
			for what, p := range map[string]*plan.Plan{"empty": {}, "another host's": other} {
				files, err := f.Write(p, c.host)
				if err != nil || len(files) == 0 {
					t.Fatalf("%s, %s, %s: %v, %d files", c.name, f.Name, what, err, len(files))
				}
				for _, file := range files {
					if !strings.Contains(file.Text, "Nothing is planned") {
						t.Errorf("%s, %s, %s: %s does not say that it is for nothing:\n%s", c.name, f.Name, what, file.Name, file.Text)
					}
				}
			}
			if _, err := f.Write(nil, c.host); err == nil {
				t.Errorf("%s writes no plan at all", f.Name)
			}
			if _, err := f.Undo(c.plan, nil); err == nil {
				t.Errorf("%s writes for no host", f.Name)
			}
		}
	}
}

// TestNothingDropped: every planned tunable is named in what is written, whether
// it is set or not, and those without effect are only named in comments.
func TestNothingDropped(t *testing.T) {
	for _, c := range examples() {
		for _, f := range All() {
			if !f.For(c.host) {
				continue
			}
			files, err := f.Write(c.plan, c.host)
			if err != nil {
				t.Fatal(err)
			}
			for _, change := range settled(c.plan, c.host.Name) {
				named := false
				for _, file := range files {
					words := strings.Fields(file.Text)
					base, instance, _ := strings.Cut(change.Tunable, "@")
					flat := strings.Join(words, " ")
					flat = strings.NewReplacer(" # ", " ", " rem ", " ", " --> <!-- ", " ", " * ", " ").Replace(flat)
					named = named || strings.Contains(flat, base) || instance != "" && strings.Contains(flat, instance)
				}
				if !named {
					t.Errorf("%s, %s: %s is not named", c.name, f.Name, change.Tunable)
				}
				if _, err := examine(change, c.host); err != nil && slices.ContainsFunc(files, func(file File) bool {
					return strings.Contains(uncommented(file), change.Tunable)
				}) {
					t.Errorf("%s, %s: %s is set, although %v", c.name, f.Name, change.Tunable, err)
				}
			}
		}
	}
}

func TestOrder(t *testing.T) {
	for _, c := range examples() {
		s := newSheet(c.plan, c.host)
		for i := range s.settings {
			if late := s.settings[i].after(s.settings[i+1:]); len(late) > 0 {
				t.Errorf("%s: %s comes before %v", c.name, s.settings[i].Tunable, late)
			}
		}
	}
}

func TestSettledTakesLast(t *testing.T) {
	s := newSheet(examples()[0].plan, examples()[0].host)
	if got := s.settings[0]; got.Tunable != "net.ipv4.tcp_rmem" || got.From != "4096 131072 33554432" || got.To != "4096 131072 134217728" {
		t.Errorf("of several changes to one tunable, first value and last count: %+v", got.Change)
	}
}
