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
	if diff := cmp.Diff(told(want), told(got)); diff != "" {
		t.Errorf("tunables (-Collect +script):\n%s", diff)
	}
	if len(told(got)) < 40 {
		t.Errorf("only %d tunables", len(told(got)))
	}
	slices.Sort(want.ReadOnly)
	if diff := cmp.Diff(here(want.ReadOnly), here(got.ReadOnly)); diff != "" {
		t.Errorf("read-only (-Collect +script):\n%s", diff)
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

// told are the tunables that the programs on this host tell of. Masks of sending
// queues and of interrupts neither of them looks for.
func told(f *host.Facts) map[string]string {
	found := maps.Clone(f.Tunables)
	maps.DeleteFunc(found, func(name, _ string) bool { return !tells(name) })
	return found
}

func here(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !tells(name) })
}

func tells(name string) bool {
	known, ok := tunable.Lookup("linux", name)
	if !ok || known.Name == "link.irq_cpus" || known.Name == "link.xps_cpus" {
		return false
	}
	if program, _, _ := strings.Cut(known.Read, " "); program == "ethtool" || program == "tc" || program == "ip" {
		_, err := exec.LookPath(program)
		return err == nil
	}
	return true
}
