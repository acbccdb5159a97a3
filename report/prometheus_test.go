package report

import (
	"bytes"
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/peer/iperf3/document"
)

func TestPrometheus(t *testing.T) {
	nasty := recorded(bulk.TCP, bulk.Forward)
	nasty.Host, nasty.Failed = "a\"b\\c\nd\xff", errors.New("the path went away")
	nasty.Result.Server = bulk.End{}
	for name, r := range map[string]document.Record{
		"tcp":     recorded(bulk.TCP, bulk.Both),
		"udp":     recorded(bulk.UDP, bulk.Reverse),
		"nasty":   nasty,
		"nothing": {Host: "b.example", Failed: errors.New("no answer")},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Prometheus(&out, r); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, name+".prom", out.Bytes())
			checkExposition(t, out.String())
			promtool(t, out.Bytes())
		})
	}
}

var (
	helpLine   = regexp.MustCompile(`^# HELP ([a-z_]+) [A-Z].*\.$`)
	typeLine   = regexp.MustCompile(`^# TYPE ([a-z_]+) gauge$`)
	sampleLine = regexp.MustCompile(`^([a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\\\|\\"|\\n)*",?)+)\} (\S+)$`)
)

// checkExposition reads the text format: each family has its help, its type, and
// then all of its samples, none of which is there twice.
func checkExposition(t *testing.T, text string) {
	t.Helper()
	if !strings.HasSuffix(text, "\n") {
		t.Error("the last line does not end")
	}
	var families, samples []string
	family := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := helpLine.FindStringSubmatch(line); m != nil {
			if slices.Contains(families, m[1]) {
				t.Errorf("%s is there twice", m[1])
			}
			families = append(families, m[1])
			family = ""
			continue
		}
		if m := typeLine.FindStringSubmatch(line); m != nil {
			family = m[1]
			if families[len(families)-1] != family {
				t.Errorf("the type of %s is not after its help", family)
			}
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil || m[1] != family {
			t.Errorf("%q is no sample of %q", line, family)
			continue
		}
		if _, err := strconv.ParseFloat(m[3], 64); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if series := m[1] + m[2]; slices.Contains(samples, series) {
			t.Errorf("%s is there twice", series)
		} else {
			samples = append(samples, series)
		}
	}
}

// promtool has Prometheus' own tool look at it too, where it is installed.
func promtool(t *testing.T, text []byte) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		t.Log("promtool is not installed: only our own check was done")
		return
	}
	check := exec.CommandContext(t.Context(), program, "check", "metrics")
	check.Stdin = bytes.NewReader(text)
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}
