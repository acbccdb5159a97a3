package format

import (
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/tunable"
)

// TestShellQuoting: wherever a template of the catalogue has a name or a value,
// the shell gives the command exactly that, whatever it is.
func TestShellQuoting(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	texts := []string{"eth0", "a b", "'", `"`, "$(id)", "`id`", `\`, "$HOME", "*", "~", "a'\"b", "!x", "&& id", "é", "{value}", "{instance}", `'\''`, "#", "-n", "%s", ")", "\";"}
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"'", `"`, "$", "(", ")", "`", `\`, " ", "a", "{", "}", "value", ";", "#", "*", "|", "&", "<", "é", "\t"}
	for range 400 {
		var b strings.Builder
		for range 1 + random.IntN(12) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		texts = append(texts, b.String())
	}
	const template = `printf '%s\n' {instance} '{instance}' "{instance}" "$(printf '%s' {instance} )" a{instance}b 'x {value}' "{value}" {value} $(printf '%s' "{on}")`
	var script, want strings.Builder
	for i, instance := range texts {
		value := texts[len(texts)-1-i]
		one := &setting{entry: &tunable.Tunable{}, instance: instance}
		script.WriteString("set -- '' " + shellWord(value) + " on\n")
		script.WriteString(one.inShell(template, "2", "3") + "\n")
		script.WriteString(one.inShellAs(template, piece{text: value}, piece{text: "on"}) + "\n")
		lines := strings.Join([]string{instance, instance, instance, instance, "a" + instance + "b", "x " + value, value, value, "on", ""}, "\n")
		want.WriteString(lines + lines)
	}
	cmd := exec.Command(sh)
	cmd.Stdin = strings.NewReader(script.String())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %.1000s", err, out)
	}
	if d := cmp.Diff(strings.Split(want.String(), "\n"), strings.Split(string(out), "\n")); d != "" {
		t.Errorf("what commands are given (-want +got):\n%s", d)
	}
}
