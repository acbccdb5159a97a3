package complete

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMain: the test's program is also the one whose words are completed.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "fullbore" {
		if len(os.Args) > 2 && os.Args[1] == Asked && os.Args[2] == "--" {
			_ = Words(asked(), os.Args[3:], known).Write(os.Stdout)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestPowerShell: by the grammar of the packages that .ci/install fetches; Debian has no PowerShell.
func TestPowerShell(t *testing.T) {
	python := filepath.Join("..", "bin", "python", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Skipf("needs the PowerShell grammar: .ci/install fetches it: %v", err)
	}
	out, err := exec.CommandContext(t.Context(), python, filepath.Join("..", "plan", "format", "testdata", "powershell.py"), filepath.Join("shells", "powershell")).CombinedOutput()
	if err != nil || strings.Contains(string(out), "cannot be parsed") {
		t.Errorf("%v: %s", err, out)
	}
}

// program puts the test's program into a folder of the path, as fullbore.
func program(t *testing.T) (dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "fullbore")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"notes.txt": "", "none": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tries is, for each shell, a script that prints what a command line can become: %SCRIPT% is the file with its script, %LINE% what was typed.
var tries = map[string]string{
	"bash": `. "$SCRIPT"; COMP_LINE=$LINE; COMP_POINT=${#LINE}; COMP_WORDBREAKS=$' \t\n"'"'"'><=;|&(:'
		read -ra COMP_WORDS <<<"${LINE//=/ = }"; [[ $LINE != *[[:blank:]=] ]] || COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_fullbore; printf '%s\n' "${COMPREPLY[@]}"`,
	"fish": `source $SCRIPT; complete -C $LINE | cut -f 1`,
	"zsh": `compdef() { :; }; . $SCRIPT; _describe() { for f in "$found[@]"; do f=${f//\\:/@@}; f=${f%%:*}; print -r -- ${f//@@/:}; done; }; _files() { print -r -- files; }
		words=(${(s: :)LINE}); if [[ $LINE == *' ' ]]; then words+=(''); fi; CURRENT=$#words; _fullbore`,
}

// TestShells: in a real bash, zsh and fish, words are completed.
func TestShells(t *testing.T) {
	dir := program(t)
	for shell, try := range tries {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skip("this machine has no ", shell)
			}
			text, err := Script(shell)
			if err != nil {
				t.Fatal(err)
			}
			script := filepath.Join(dir, "script."+shell)
			if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), path, "-n", script).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
			for line, want := range map[string]string{
				"fullbore ":                    "test report fleet",
				"fullbore re":                  "report",
				"fullbore test --lab ":         "california-uk clean-lan",
				"fullbore test --lab cal":      "california-uk",
				"fullbore test --mo":           "--mode",
				"fullbore test store1 --json ": "",
			} {
				c := exec.CommandContext(t.Context(), path, "-c", try)
				c.Dir, c.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "SCRIPT="+script, "LINE="+line, "HOME="+dir)
				out, err := c.CombinedOutput()
				got := strings.Fields(string(out))
				slices.Sort(got)
				wanted := strings.Fields(want)
				slices.Sort(wanted)
				if want == "" { // the second argument is a file
					wanted = []string{"files"}
					if shell != "zsh" {
						wanted = []string{"notes.txt"}
						got = slices.DeleteFunc(got, func(s string) bool { return s != "notes.txt" })
					}
				}
				if err != nil || !slices.Equal(got, wanted) {
					t.Errorf("%q: %v, %q, want %q", line, err, out, wanted)
				}
			}
		})
	}
}
