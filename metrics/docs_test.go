package metrics

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// family is a metric as it is exported.
type family struct{ name, kind, help, labels string }

// families reads the text format, as far as it is of this repository.
func families(texts ...string) []family {
	help := regexp.MustCompile(`^# HELP (\S+) (.*)\.$`)
	kind := regexp.MustCompile(`^# TYPE (\S+) (\S+)$`)
	sample := regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})? \S+$`)
	label := regexp.MustCompile(`([a-z]+)="(?:[^"\\]|\\.)*"`)
	all := map[string]*family{}
	var order []string
	for _, text := range texts {
		for line := range strings.SplitSeq(text, "\n") {
			if m := help.FindStringSubmatch(line); m != nil && all[m[1]] == nil {
				order = append(order, m[1])
				all[m[1]] = &family{name: m[1], help: m[2]}
			} else if m := kind.FindStringSubmatch(line); m != nil {
				all[m[1]].kind = m[2]
			} else if m := sample.FindStringSubmatch(line); m != nil && all[m[1]].labels == "" {
				var names []string
				for _, l := range label.FindAllStringSubmatch(m[2], -1) {
					names = append(names, "`"+l[1]+"`")
				}
				all[m[1]].labels = strings.Join(names, ", ")
			}
		}
	}
	var list []family
	for _, name := range order {
		list = append(list, *all[name])
	}
	return list
}

// units are by how a name ends, the first that fits.
var units = [][2]string{
	{"_timestamp_seconds", "s since 1970"}, {"_bytes_per_second", "bytes/s"}, {"_requests_per_second", "1/s"}, {"_seconds", "s"}, {"_bytes_total", "bytes"}, {"_bytes", "bytes"},
	{"_gain_ratio", "factor"}, {"_gain_lower_ratio", "factor"}, {"_gain_upper_ratio", "factor"}, {"_ratio", "share, 0 to 1"}, {"", ""},
}

// exported are all metrics that there are: those of a far end, and of one transfer.
func exported(t *testing.T) (all []family, scraped map[string]bool) {
	t.Helper()
	list := families(scrape(t, opened(t, everything(t))))
	scraped = map[string]bool{}
	for _, f := range list {
		scraped[f.name] = true
	}
	golden, err := filepath.Glob("../report/testdata/*.prom")
	if err != nil || len(golden) == 0 {
		t.Fatalf("what a transfer exports is not known: %v", err)
	}
	slices.Sort(golden) // tcp before udp, which have most
	for _, name := range golden {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families(string(text)) {
			if !slices.ContainsFunc(list, func(have family) bool { return have.name == f.name }) {
				list = append(list, f)
			}
		}
	}
	return list, scraped
}

// The manual has each metric with its type, unit, labels and meaning, as they are
// exported, and no other.
func TestManualHasAllMetrics(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/prometheus.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `fullbore_[^\n]*\\|$").FindAllString(string(text), -1) {
		rows[row] = true
	}
	all, _ := exported(t)
	for _, f := range all {
		unit := ""
		for _, u := range units {
			if strings.HasSuffix(f.name, u[0]) {
				unit = u[1]
				break
			}
		}
		row := fmt.Sprintf("| `%s` | %s | %s | %s | %s |", f.name, f.kind, unit, f.labels, f.help)
		if !rows[row] {
			t.Errorf("docs/prometheus.md lacks\n%s", row)
		}
		delete(rows, row)
	}
	for row := range rows {
		t.Errorf("docs/prometheus.md has what there is not:\n%s", row)
	}
}

// The panels of the dashboard do not overlap and have numbers of their own; each says
// in words what it shows, in which unit, and asks the data source that was chosen.
func TestDashboardIsWhole(t *testing.T) {
	d := readDashboard(t)
	if d.SchemaVersion < 39 || d.UID == "" || d.Title == "" || len(d.Templating.List) == 0 || d.Templating.List[0].Name != "datasource" || d.Templating.List[0].Type != "datasource" {
		t.Errorf("%q, %q, schema %d: its first variable is to be the data source", d.UID, d.Title, d.SchemaVersion)
	}
	ids, titles := map[int]bool{}, map[string]bool{}
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		if p.ID <= 0 || ids[p.ID] || p.Title == "" || titles[p.Title] {
			t.Errorf("panel %d, %q: its number or its title is there twice, or is none", p.ID, p.Title)
		}
		ids[p.ID], titles[p.Title] = true, true
		if g := p.Grid; g.X < 0 || g.Y < 0 || g.W < 1 || g.H < 1 || g.X+g.W > 24 {
			t.Errorf("%s does not fit: %+v", p.Title, g)
		}
		for x := p.Grid.X; x < p.Grid.X+p.Grid.W; x++ {
			for y := p.Grid.Y; y < p.Grid.Y+p.Grid.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("%s lies on %s", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if !slices.Contains([]string{"timeseries", "table", "stat"}, p.Type) || len(p.Targets) == 0 {
			t.Errorf("%s is a %q of %d expressions", p.Title, p.Type, len(p.Targets))
		}
		if !strings.HasSuffix(p.Description, ".") || p.Config.Defaults.Unit == "" || !p.Source.chosen() {
			t.Errorf("%s: described as %q, in %q, of %+v", p.Title, p.Description, p.Config.Defaults.Unit, p.Source)
		}
		refs := map[string]bool{}
		for _, target := range p.Targets {
			if refs[target.Ref] || target.Ref == "" || !target.Source.chosen() || target.Instant == target.Range {
				t.Errorf("%s: %+v", p.Title, target)
			}
			refs[target.Ref] = true
			if bits := strings.Contains(target.Expr, "_bytes_per_second") || strings.Contains(target.Expr, "moved_bytes"); bits != (p.Config.Defaults.Unit == "bps") || bits && !strings.HasPrefix(target.Expr, "8 * ") {
				t.Errorf("%s in %q: %s", p.Title, p.Config.Defaults.Unit, target.Expr)
			}
		}
	}
	for _, v := range d.Templating.List[1:] {
		if v.Type != "query" || !v.Source.chosen() || v.AllValue != ".*" {
			t.Errorf("variable %+v", v)
		}
	}
}

// Dashboard and alerts name metrics that there are, with labels that these have.
func TestExpressionsNameWhatThereIs(t *testing.T) {
	t.Parallel()
	all, scraped := exported(t)
	labels := map[string]string{}
	for _, f := range all {
		labels[f.name] = f.labels
	}
	var expressions []string
	d := readDashboard(t)
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			expressions = append(expressions, target.Expr)
		}
	}
	for _, v := range d.Templating.List[1:] {
		expressions = append(expressions, v.Definition)
	}
	rules, err := os.ReadFile("../docs/prometheus/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	expressions = append(expressions, string(rules))
	named := map[string]bool{}
	selector := regexp.MustCompile(`(fullbore_[a-z_]+)(?:\{([^}]*)\})?`)
	for _, e := range expressions {
		for _, m := range selector.FindAllStringSubmatch(e, -1) {
			named[m[1]] = true
			if !scraped[m[1]] {
				t.Errorf("%s is no metric of a far end: %s", m[1], e)
			}
			for _, l := range regexp.MustCompile(`([a-z]+)(?:=|!)`).FindAllStringSubmatch(m[2], -1) {
				if l[1] != "instance" && !strings.Contains(labels[m[1]], "`"+l[1]+"`") {
					t.Errorf("%s has no label %s: %s", m[1], l[1], e)
				}
			}
		}
	}
	if len(named) < 20 {
		t.Errorf("only %v are named", slices.Sorted(maps.Keys(named)))
	}
}

// The alerts do what their tests say.
func TestAlerts(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed")
	}
	for _, args := range [][]string{{"check", "rules", "--lint=all", "--lint-fatal", "rules.yml"}, {"test", "rules", "rules_test.yml"}} {
		check := exec.CommandContext(t.Context(), program, args...)
		check.Dir = "../docs/prometheus"
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	rules, err := os.ReadFile("../docs/prometheus/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	manual, err := os.ReadFile("../docs/prometheus.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("../docs/prometheus/rules_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`- alert: (\S+)`).FindAllStringSubmatch(string(rules), -1) {
		if !strings.Contains(string(manual), "| `"+m[1]+"` |") || !regexp.MustCompile(`alertname: `+m[1]+`\n\s+exp_alerts:\n`).Match(tests) || !strings.Contains(string(tests), "alertname: "+m[1]+", exp_alerts: []") {
			t.Errorf("%s is not in the manual, or lacks a test in which it fires or one in which it does not", m[1])
		}
	}
}

// dashboard is what these tests read of Grafana's file.
type dashboard struct {
	UID           string `json:"uid"`
	Title         string `json:"title"`
	SchemaVersion int    `json:"schemaVersion"`
	Templating    struct {
		List []struct {
			Name       string `json:"name"`
			Type       string `json:"type"`
			Definition string `json:"definition"`
			AllValue   string `json:"allValue"`
			Source     source `json:"datasource"`
		} `json:"list"`
	} `json:"templating"`
	Panels []struct {
		ID          int    `json:"id"`
		Type        string `json:"type"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Source      source `json:"datasource"`
		Grid        struct {
			X int `json:"x"`
			Y int `json:"y"`
			W int `json:"w"`
			H int `json:"h"`
		} `json:"gridPos"`
		Config struct {
			Defaults struct {
				Unit string `json:"unit"`
			} `json:"defaults"`
		} `json:"fieldConfig"`
		Targets []struct {
			Ref     string `json:"refId"`
			Expr    string `json:"expr"`
			Instant bool   `json:"instant"`
			Range   bool   `json:"range"`
			Source  source `json:"datasource"`
		} `json:"targets"`
	} `json:"panels"`
}

type source struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// chosen says whether it is the one that the dashboard's variable names.
func (s source) chosen() bool { return s.Type == "prometheus" && s.UID == "${datasource}" }

func readDashboard(t *testing.T) *dashboard {
	t.Helper()
	text, err := os.ReadFile("../docs/prometheus/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return &d
}
