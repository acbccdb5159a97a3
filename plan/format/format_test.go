package format

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/plan"
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

func TestFind(t *testing.T) {
	linux, mac, nt4 := &host.Facts{OS: "linux", Version: "6.1"}, &host.Facts{OS: "macos", Version: "15"}, &host.Facts{OS: "plan9"}
	if f, err := Find("tuned", linux); err != nil || f.Name != "tuned" {
		t.Errorf("tuned for Linux: %v, %v", f, err)
	}
	for _, tc := range []struct {
		name string
		host *host.Facts
		says string
	}{
		{"tuned", mac, `no format "tuned" for macos 15: there are script, ansible, launchd`},
		{"", linux, `no format "" for linux 6.1: there are script, sysctl, ansible, tuned, cloud-init, nixos`},
		{"script", nt4, "there is no format for plan9"},
		{"script", nil, "facts of the host are missing"},
	} {
		f, err := Find(tc.name, tc.host)
		if err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%q: %v, %v, want an error that says %q", tc.name, f, err, tc.says)
		}
	}
}

// TestFor holds which systems have which formats.
func TestFor(t *testing.T) {
	for system, want := range map[string]string{
		"linux 2.4":          "script sysctl ansible tuned cloud-init nixos",
		"macos 10.3":         "script ansible sysctl.conf",
		"macos 10.4":         "script ansible sysctl.conf launchd",
		"macos 10.9.5":       "script ansible sysctl.conf launchd",
		"macos 10.10":        "script ansible launchd",
		"macos 15":           "script ansible launchd",
		"freebsd 14":         "script ansible sysctl.conf",
		"solaris 8":          "script system rc",
		"solaris 10":         "script system smf",
		"solaris 11.4":       "script ansible ipadm system smf",
		"illumos 5.11":       "script ansible ipadm system smf",
		"windows 5.0":        "netsh",
		"windows 6.0":        "netsh",
		"windows 6.1":        "powershell netsh",
		"windows 10.0.26100": "powershell netsh",
	} {
		var names []string
		os, version, _ := strings.Cut(system, " ")
		for _, f := range All() {
			if f.For(&host.Facts{OS: os, Version: version}) {
				names = append(names, f.Name)
			}
			if f.About == "" || f.Name == "" {
				t.Errorf("format %+v says nothing of itself", f)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %s, want %s", system, got, want)
		}
	}
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
