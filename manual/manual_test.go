package manual

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/fullbore/fullbore/internal/golden"
)

// grammar has all that a page can trip over.
type grammar struct {
	Test struct {
		Host  string   `arg:"" optional:"" help:".profile of the host. 'Quoted' \"words\", a\\backslash."`
		More  []string `arg:"" optional:"" help:"More of them."`
		Rate  string   `short:"b" placeholder:"RATE[/BURST]" help:"No faster; -1 is none. Bl It Xr are words, too."`
		Mode  string   `enum:"none,live," default:"" help:"What becomes of it."`
		Dot   string   `placeholder:".x" help:"'begins with a quote"`
		Count int      `default:"5" help:"How many (5)."`
		JSON  bool     `short:"J" name:"json" help:"One document."`
		Inner string   `hidden:""`
	} `cmd:"" help:"IPv6 too: measure. Change nothing."`
	Fleet struct {
		Run struct{} `cmd:"" help:"Have them measure."`
	} `cmd:""`
	Secret struct{} `cmd:"" hidden:""`
}

// TestPages: a page for the program and for each verb that is not hidden, as mdoc has them; what is in help texts is printed as it is.
func TestPages(t *testing.T) {
	parser := kong.Must(&grammar{}, kong.Name("fullbore"), kong.Description("Runs a path at full bore. And more."))
	pages := Pages(parser.Model, Program{Date: time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC), Exits: []Exit{{0, "It was done."}, {2, "The command line is wrong."}}})
	var names, text []string
	for _, p := range pages {
		names, text = append(names, p.Name), append(text, "== "+p.Name+"\n"+p.Text)
	}
	if got := strings.Join(names, " "); got != "fullbore.1 fullbore-test.1 fullbore-fleet-run.1" {
		t.Error(got)
	}
	golden.Check(t, "pages.txt", strings.Join(text, "\n"))

	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("this machine has no mandoc")
	}
	dir := t.TempDir()
	for _, p := range pages {
		file := filepath.Join(dir, p.Name)
		if err := os.WriteFile(file, []byte(p.Text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), mandoc, "-T", "lint", "-W", "warning", file).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	out, err := exec.CommandContext(t.Context(), mandoc, "-T", "utf8", "-O", "width=200", filepath.Join(dir, "fullbore-test.1")).Output()
	if err != nil {
		t.Fatal(err)
	}
	printed := overstrikes.Replace(string(out))
	for _, want := range []string{".profile of the host.", `'Quoted' "words", a\backslash.`, "-b, --rate=RATE[/BURST]", "Bl It Xr are words, too.", "--dot=.x", "'begins with a quote", "--mode=none|live", "--json"} {
		if !strings.Contains(plain(printed), want) {
			t.Errorf("%q is not printed:\n%s", want, plain(printed))
		}
	}
}

var overstrikes = strings.NewReplacer("‐", "-", "−", "-", "‘", "'", "’", "'")

// plain is what mandoc prints without its bold and underlined letters, which it types twice.
func plain(text string) string {
	var out []rune
	for _, r := range text {
		if r == '\b' {
			out = out[:max(0, len(out)-1)]
			continue
		}
		out = append(out, r)
	}
	return string(out)
}
