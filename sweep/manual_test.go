package sweep

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/lab/schema"
)

// TestManual: docs/sweep.md has a row for every key, every factor and every built-in
// experiment, as the program has them, and no others; and its example reads.
func TestManual(t *testing.T) {
	data, err := os.ReadFile("../docs/sweep.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	chapter := func(title string) string {
		_, rest, ok := strings.Cut(text, "\n## "+title+"\n")
		if !ok {
			t.Fatalf("there is no chapter %q", title)
		}
		rest, _, _ = strings.Cut(rest, "\n## ")
		return rest
	}
	rows := func(title string, columns int) (all []string) {
		row := regexp.MustCompile("(?m)^" + strings.Repeat(`\| ([^|]*?) `, columns) + `\|`)
		for _, match := range row.FindAllStringSubmatch(chapter(title), -1) {
			if strings.HasPrefix(match[1], "`") {
				all = append(all, strings.Join(match[1:], " | "))
			}
		}
		return all
	}
	var keys, factors, experiments []string
	for _, in := range []reflect.Type{reflect.TypeFor[Spec](), reflect.TypeFor[Measure]()} {
		for key, field := range schema.Keys(in) {
			takes := schema.Range(field)
			if key == "measure" {
				takes = ""
			}
			keys = append(keys, fmt.Sprintf("`%s` | `%s` | %s", key, field.Tag.Get("example"), takes))
		}
	}
	for _, s := range settings {
		takes := strings.Join(s.words, ", ")
		if s.least != "" {
			takes = s.least + " to " + s.most
		}
		factors = append(factors, fmt.Sprintf("`%s` | `%s` | %s | %s", s.name, s.example, takes, s.says))
	}
	for _, spec := range Builtin() {
		experiments = append(experiments, "`"+spec.Name+"` | "+spec.About)
	}
	if diff := cmp.Diff(keys, rows("Keys", 3)); diff != "" {
		t.Errorf("keys (-program +manual):\n%s", diff)
	}
	if diff := cmp.Diff(factors, rows("Factors", 4)); diff != "" {
		t.Errorf("factors (-program +manual):\n%s", diff)
	}
	if diff := cmp.Diff(experiments, rows("Built-in experiments", 2)); diff != "" {
		t.Errorf("experiments (-program +manual):\n%s", diff)
	}
	for i, example := range strings.Split(text, "```yaml\n")[1:] {
		example, _, _ = strings.Cut(example, "```")
		if _, err := Parse("sweep.md", []byte(example)); err != nil {
			t.Errorf("example %d: %v", i+1, err)
		}
	}
	for _, says := range []string{
		fmt.Sprintf("omitted: %s |", "2s"), fmt.Sprintf("omitted: %d, of a search %d |", defaultBlocks, defaultPairs), "omitted: 10m |", "omitted: 3% |",
		fmt.Sprintf("at most %d combinations", mostPoints), fmt.Sprintf("up to %d factors", mostFactors),
	} {
		if !strings.Contains(text, says) {
			t.Errorf("docs/sweep.md does not say %q", says)
		}
	}
}

// TestEveryFactorArrives: whatever is varied reaches the transfer, the requests, the hosts or the path.
func TestEveryFactorArrives(t *testing.T) {
	for _, s := range settings {
		spec, err := Parse("x.yaml", []byte("name: x\nfactors: {"+s.name+": "+s.example+"}"))
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
			continue
		}
		factors, err := spec.Factors.with(4)
		if err != nil {
			t.Fatal(err)
		}
		points, usual := factors.points()
		seen := map[string]bool{}
		for i, p := range points {
			_, window := p.tunables("near")
			load, connections := p.load(spec.Measure)
			key := fmt.Sprint(p.Spec(spec.Measure), p.path(), window.Text(Bytes), load.Depth, load.Size, connections)
			if seen[key] {
				t.Errorf("%s: %s is as another point", s.name, p)
			}
			seen[key] = true
			if i == usual && len(p.path()) > 0 {
				t.Errorf("%s: the present setting changes the path", s.name)
			}
		}
	}
}
