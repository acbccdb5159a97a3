package collector

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/tunable"
)

// scripts are those whose text is held against testdata/scripts.
var scripts = []struct{ name, os, version string }{
	{"linux.sh", "linux", ""},
	{"solaris.sh", "solaris", ""},
	{"solaris8.sh", "solaris", "8"},
	{"solaris10.sh", "solaris", "10"},
	{"solaris11.4.sh", "solaris", "11.4"},
	{"illumos.sh", "illumos", "5.11"},
	{"macos10.4.sh", "macos", "10.4"},
	{"macos.sh", "macos", ""},
	{"freebsd.sh", "freebsd", ""},
	{"windows2000.cmd", "windows", "5.0"},
	{"windows2003.cmd", "windows", "5.2"},
	{"windows.ps1", "windows", ""},
}

func TestScripts(t *testing.T) {
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			text, err := Script(s.os, s.version)
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "scripts/"+s.name+".txt", text)
			for one := range strings.Lines(text) {
				if len(one) > 255 || strings.ContainsRune(one, '\t') {
					t.Errorf("a terminal does not take this line as it stands: %q", one)
				}
			}
			header := "fullbore facts 1 " + s.os
			if strings.Count(text, header) != 1 || strings.Count(text, " end\n") != 1 {
				t.Errorf("it does not print %q first and the end last", header)
			}
		})
	}
}

// The shell scripts keep to what every POSIX shell has; that of Solaris 8 has
// backquotes only.
func TestScriptsPassShellcheck(t *testing.T) {
	for _, s := range scripts {
		if !strings.HasSuffix(s.name, ".sh") {
			continue
		}
		text, err := Script(s.os, s.version)
		if err != nil {
			t.Fatal(err)
		}
		args := []string{"-s", "sh", "-"}
		if s.os == "solaris" {
			args = append([]string{"-e", "SC2006"}, args...)
			if strings.Contains(text, "$(") {
				t.Errorf("%s: the shell of Solaris 8 has no $(...)", s.name)
			}
		}
		check := exec.Command("shellcheck", args...)
		check.Stdin = strings.NewReader(text)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", s.name, err, out)
		}
	}
}

// Each system of the catalogue has a script for each of its releases, and it
// asks for all that Read keeps of the host as a whole.
func TestScriptsAskForEveryTunable(t *testing.T) {
	elsewhere := map[string]bool{"cpu.governor": true, "cmdline.iommu": true, "nfsd.threads": true, "nfsd.max_block_size": true,
		"module.nfs.max_session_slots": true, "nfsd.servers": true}
	for _, id := range tunable.Systems() {
		s, err := tunable.Of(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Releases {
			text, err := Script(id, r.Version)
			if err != nil {
				t.Errorf("%s %s: %v", id, r.Version, err)
				continue
			}
			if id == "windows" {
				continue // whose commands tell all there is of a kind
			}
			for _, k := range s.Tunables {
				name := k.Name
				if _, variable, ok := strings.Cut(name, ":"); ok {
					name = variable
				} else if id == "linux" {
					name = strings.ReplaceAll(name, ".", "/")
				}
				if k.Applies(r.Version) && !k.Scope.Instanced() && !elsewhere[k.Name] && !strings.Contains(text, name) {
					t.Errorf("%s %s: the script does not ask for %s", id, r.Version, k.Name)
				}
			}
		}
	}
	if _, err := Script("plan9", ""); err == nil || !strings.Contains(err.Error(), "linux") {
		t.Errorf("of an unknown system: %v", err)
	}
}
