package sweep

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/lab/schema"
)

// TestBuiltinExperiments: each reads, is named as its file, runs in a scenario that is
// there, and takes five minutes at most on hosts of up to 16 CPUs.
func TestBuiltinExperiments(t *testing.T) {
	want := []string{"gigaswift-acks", "gigaswift-buffers", "gigaswift-cpus", "gigaswift-writes", "receive-spread", "window-rtt"}
	var got []string
	for _, spec := range Builtin() {
		got = append(got, spec.Name)
		if _, err := os.Stat("experiments/" + spec.Name + ".yaml"); err != nil {
			t.Error(err)
		}
		scenario, err := lab.Load(spec.Scenario)
		if err != nil {
			t.Errorf("%s: %v", spec.Name, err)
			continue
		}
		if spec.About == "" {
			t.Errorf("%s does not say what it is about", spec.Name)
		}
		factors, err := spec.Factors.with(16)
		if err != nil {
			t.Fatal(err)
		}
		points, _ := factors.points()
		cost := spec.cost(factors, len(points), len(points)*spec.Blocks, float64(scenario.Path.AToB.Rate))
		t.Logf("%s: %s", spec.Name, cost)
		if cost.Time > 5*time.Minute || cost.Time > spec.Budget {
			t.Errorf("%s takes %v", spec.Name, cost.Time)
		}
		for _, p := range points {
			if err := p.Spec(spec.Measure).Check(); err != nil {
				t.Errorf("%s, %s: %v", spec.Name, p, err)
			}
			if _, err := changed(scenario, p.path()); err != nil {
				t.Errorf("%s, %s: %v", spec.Name, p, err)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestErrors: whatever is wrong with a file is said with its line and column, all of
// it at once, and what was probably meant.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/wrong/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		_, err = Parse(name, data)
		if err == nil {
			t.Errorf("%s was accepted", name)
			continue
		}
		golden.Check(t, "wrong/"+strings.TrimSuffix(name, ".yaml")+".txt", err.Error()+"\n")
	}
}

// TestFullExperiment reads a file that has every key.
func TestFullExperiment(t *testing.T) {
	for _, name := range []string{"full", "search"} {
		spec, err := Load("testdata/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.MarshalIndent(spec, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name+".json", string(text)+"\n")
	}
}

func TestLoad(t *testing.T) {
	if _, err := Load("gigaswift-bufers"); err == nil || !strings.Contains(err.Error(), "did you mean gigaswift-buffers") {
		t.Error(err)
	}
	if _, err := Load("./none.yaml"); err == nil {
		t.Error("a file that is not there was read")
	}
	big := filepath.Join(t.TempDir(), "big.yaml")
	if err := os.WriteFile(big, []byte("name: x\nfactors: {mss: [1460]} #"+strings.Repeat("#", schema.MaxFile)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(big); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
}

// FuzzParse: whatever the file, the answer is an error or an experiment within the
// bounds, never a panic; and its points are transfers that can be asked for.
func FuzzParse(f *testing.F) {
	for _, spec := range Builtin() {
		data, err := experimentFiles.ReadFile("experiments/" + spec.Name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, text := range []string{
		"name: x\nfactors: {both.net.ipv4.tcp_rmem: [present, \"4096 131072 8388608\"], path.queue: [1bdp]}",
		"name: x\nfactors: {window: {from: present, to: 16MiB}}\nplan: search",
		"name: x\nfactors: {cpus: {from: 1, to: all, step: +1}}", "name: x\nfactors: {path.loss: {from: 0.01%, to: 1%, step: x10}}", "~", "factors: {buffers: {from: 1}}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		spec, err := Parse("fuzz.yaml", data)
		if err != nil {
			return
		}
		if spec.Name == "" || spec.Blocks < 2 || spec.Measure.Duration < 100*time.Millisecond || spec.Budget <= 0 || !(spec.Smallest > 0) || len(spec.Factors) == 0 {
			t.Errorf("incomplete: %+v", spec)
		}
		if _, err := json.Marshal(spec); err != nil {
			t.Error(err)
		}
		if spec.Plan == Search {
			return
		}
		factors, err := spec.Factors.with(4)
		if err != nil {
			t.Fatal(err)
		}
		points, _ := factors.points()
		if len(points) > mostPoints+1 {
			t.Fatalf("%d points", len(points))
		}
		for _, p := range points {
			if err := p.Spec(spec.Measure).Check(); err != nil {
				t.Errorf("%s: %v", p, err)
			}
		}
	})
}
