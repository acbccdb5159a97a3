package collector

import (
	"bytes"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
)

// The command for Linux, run by the shells there are, tells what host.Collect
// tells on the same host.
func TestScriptTellsWhatCollectTells(t *testing.T) {
	text, err := Script("linux", "")
	if err != nil {
		t.Fatal(err)
	}
	shells := [][]string{{"sh"}, {"bash", "--posix"}}
	if _, err := exec.LookPath("busybox"); err == nil {
		shells = append(shells, []string{"busybox", "sh"})
	}
	for _, shell := range shells {
		t.Run(shell[0], func(t *testing.T) {
			run := exec.Command(shell[0], shell[1:]...)
			run.Stdin = strings.NewReader(text) // as "ssh HOST sh" gets it
			var complaints bytes.Buffer
			run.Stderr = &complaints
			out, err := run.Output()
			if err != nil || complaints.Len() > 0 {
				t.Fatalf("%v: %s", err, complaints.String())
			}
			got, notes, err := Understand(bytes.NewReader(out))
			if err != nil || len(notes) > 0 {
				t.Fatalf("%v, notes %q\n%s", err, notes, out)
			}
			want, err := host.Collect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			compare(t, want, got)
		})
	}
}

func compare(t *testing.T, want, got *host.Facts) {
	t.Helper()
	alike := func(f *host.Facts) host.Facts {
		return host.Facts{
			Name: f.Name, OS: f.OS, Version: f.Version, Distribution: f.Distribution, Arch: f.Arch,
			CPUs: f.CPUs, CPUModel: f.CPUModel, Memory: f.Memory, BootID: f.BootID, Forwards: f.Forwards,
		}
	}
	if diff := cmp.Diff(alike(want), alike(got)); diff != "" {
		t.Errorf("host (-Collect +script):\n%s", diff)
	}
	if diff := cmp.Diff(sysctls(want), sysctls(got)); diff != "" {
		t.Errorf("sysctls (-Collect +script):\n%s", diff)
	}
	if len(sysctls(got)) < 12 {
		t.Errorf("only %d sysctls", len(sysctls(got)))
	}
	type named struct {
		Name string
		MTU  int
		Up   bool
	}
	links := func(f *host.Facts) []named {
		var all []named
		for _, n := range f.Interfaces {
			all = append(all, named{n.Name, n.MTU, n.Up})
		}
		slices.SortFunc(all, func(a, b named) int { return strings.Compare(a.Name, b.Name) })
		return all
	}
	if diff := cmp.Diff(links(want), links(got)); diff != "" {
		t.Errorf("interfaces (-Collect +script):\n%s", diff)
	}
}

// sysctls are the tunables under /proc/sys.
func sysctls(f *host.Facts) map[string]string {
	found := maps.Clone(f.Tunables)
	maps.DeleteFunc(found, func(name, _ string) bool {
		known, ok := tunable.Lookup(f.OS, name)
		return !ok || !strings.Contains(known.Read, "sysctl ")
	})
	return found
}
