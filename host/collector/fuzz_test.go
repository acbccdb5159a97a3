package collector

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/tunable"
)

// recorded adds all recorded hosts as seeds.
func recorded(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("testdata/hosts/*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no recorded hosts (%v)", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
}

// Whatever is read is an error, or facts that are as bounded and printable as
// those of this host, and that are the same when written and read again.
func FuzzRead(f *testing.F) {
	recorded(f)
	f.Fuzz(func(t *testing.T, text string) {
		facts, notes, err := Understand(strings.NewReader(text))
		if err != nil {
			return
		}
		if err := check(facts); err != nil {
			t.Fatal(err)
		}
		for _, n := range notes {
			if strings.ContainsFunc(n, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("note %q", n)
			}
		}
		for name, value := range facts.Tunables {
			known, ok := tunable.Lookup(facts.OS, name)
			if !ok {
				t.Fatalf("%q of %s", name, facts.OS)
			}
			if again, err := accept(known, value); err != nil || again != value {
				t.Errorf("%s = %q becomes %q (%v)", name, value, again, err)
			}
		}
		written, err := json.Marshal(Document{Schema, facts})
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := Understand(strings.NewReader(string(written)))
		if err != nil {
			t.Fatalf("%v: %s", err, written)
		}
		second, err := json.Marshal(Document{Schema, again})
		if err != nil || cmp.Diff(string(written), string(second)) != "" {
			t.Errorf("(%v) written %s, read again %s", err, written, second)
		}
	})
}

// fuzzSections fuzzes the sections of a system, each with any text: none of its
// parsers may fall over, nor put into the facts what check does not let pass.
func fuzzSections(f *testing.F, system string) {
	f.Helper()
	for _, name := range []string{system + ".txt", system + "14.txt", system + "11.txt", system + "15.txt", system + "7.txt"} {
		text, err := os.ReadFile("testdata/hosts/" + name)
		if err != nil {
			continue
		}
		_, all, err := sections(string(text))
		if err != nil {
			f.Fatal(err)
		}
		for _, s := range all {
			var lines []string
			for _, l := range s.lines {
				lines = append(lines, l.text)
			}
			f.Add(s.name, s.of, strings.Join(lines, "\n"))
		}
	}
	f.Fuzz(func(t *testing.T, name, of, text string) {
		if sectionsOf[system][name] == nil {
			return
		}
		text = strings.NewReplacer("\n===", "\n=", "\r", "").Replace(text)
		output := header + system + "\n=== fullbore name\na\n=== fullbore version\n1.0\n=== fullbore release\n5.11\n" +
			"=== fullbore addresses\n1: " + strings.TrimSpace(of) + ": <UP> mtu 1500\n" +
			"=== fullbore " + name + " " + of + "\n" + text + "\n=== fullbore end\n"
		facts, _, err := Understand(strings.NewReader(output))
		if err != nil {
			return
		}
		if err := check(facts); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzLinux(f *testing.F)   { fuzzSections(f, "linux") }
func FuzzSolaris(f *testing.F) { fuzzSections(f, "solaris") }
func FuzzMacOS(f *testing.F)   { fuzzSections(f, "macos") }
func FuzzFreeBSD(f *testing.F) { fuzzSections(f, "freebsd") }
func FuzzWindows(f *testing.F) { fuzzSections(f, "windows") }

// FuzzParsers gives any text to each parser by itself.
func FuzzParsers(f *testing.F) {
	recorded(f)
	f.Add(features61)
	f.Add(`a\:b\\c:d\`)
	f.Fuzz(func(t *testing.T, text string) {
		from := lines(text)
		for _, parse := range []func([]line) []setting{parseSysctl, parseNdd, parseIpadm, parseEtcSystem, parseMdb, present, parseCoalesce, parsePause} {
			for _, s := range parse(from) {
				if s.name == "" || s.line < 1 || s.line > len(from) || strings.ContainsRune(s.name, '\n') {
					t.Errorf("%+v", s)
				}
			}
		}
		for _, parse := range []func([]line) []link{parseIP, parseIfconfig, parseSubinterfaces} {
			for _, l := range parse(from) {
				l.wire()
				if l.MTU < 0 || l.Speed < 0 || l.Speed > maxSpeed {
					t.Errorf("%+v", l)
				}
			}
		}
		for _, e := range parseRegistry(from) {
			if e.name == "" {
				t.Errorf("%+v", e)
			}
		}
		for _, q := range parseTC(from) {
			if q.Rate < 0 || q.Packets < 0 {
				t.Errorf("%+v", q)
			}
		}
		_, _ = parseNetsh(from)
		_, _ = parseAdapters(from)
		parseFeatures(from)
		parsePowerShell(from)
		parseMounts(from)
		parseKstat(from)
		parseDladm(from, 3)
	})
}

func FuzzAssume(f *testing.F) {
	for _, name := range []string{"solaris10", "Windows Server 2003", "linux2.4", "macosx10.4", "", "linux-6.1.0-18-amd64", "linux-6.1.0-\x1e"} {
		f.Add(name, int64(1<<30))
	}
	f.Fuzz(func(t *testing.T, name string, memory int64) {
		facts, err := Assume(name, memory)
		if err != nil {
			return
		}
		if err := check(facts); err != nil && memory <= maxMemory {
			t.Errorf("%q: %v", name, err)
		}
	})
}
