package format

import (
	"os/exec"
	"strings"
	"testing"
	"unicode"

	"github.com/fullbore/fullbore/tunable"
)

// FuzzShellQuoting: wherever a template of the catalogue has a name or a value,
// the shell gives the command exactly that.
func FuzzShellQuoting(f *testing.F) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		f.Skip("there is no sh")
	}
	for _, text := range []string{"eth0", "a b", "'", `"`, "$(id)", "`id`", `\`, "$HOME", "*", "~", "a'\"b", "!x", "&& id", "é", "{value}", "{instance}", "'\\''", "#"} {
		f.Add(text, text)
	}
	const template = `printf '%s\n' {instance} '{instance}' "{instance}" "$(printf '%s' {instance} )" a{instance}b 'x {value}' "{value}" {value} $(printf '%s' "{on}")`
	f.Fuzz(func(t *testing.T, instance, value string) {
		if strings.ContainsFunc(instance+value, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
			return // refused before
		}
		one := &setting{entry: &tunable.Tunable{}, instance: instance}
		want := strings.Join([]string{instance, instance, instance, instance, "a" + instance + "b", "x " + value, value, value, "on", ""}, "\n")
		out, err := exec.Command(sh, "-c", one.inShell(template, "2", "3"), "sh", "", value, "on").CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("variable: %v: %q, want %q", err, out, want)
		}
		out, err = exec.Command(sh, "-c", one.inShellAs(template, piece{text: value}, piece{text: "on"})).CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("text: %v: %q, want %q", err, out, want)
		}
	})
}
