package diagnose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/bulk"
)

// Every cause has an explanation, whole, and there is no other file.
func TestEveryCauseIsExplained(t *testing.T) {
	files, err := fs.Glob(explanations, "explain/*")
	if err != nil || len(files) != len(Causes) {
		t.Errorf("%d explanations of %d causes (%v)", len(files), len(Causes), err)
	}
	for _, c := range Causes {
		e, err := Explain(c.ID)
		if err != nil {
			t.Fatal(err)
		}
		for part, is := range map[string]bool{
			"cause": e.Cause == c.ID, "means": e.Means == c.Means, "happens": e.Happens != "", "formula": strings.Contains(e.Formula, "\n"),
			"example": strings.ContainsAny(e.Example, "0123456789"), "recognised": e.Recognised != "", "mistaken": len(e.Mistaken) > 0,
			"do": len(e.Do) > 0, "see": len(e.See) > 0, "sources": len(e.Sources) > 0,
		} {
			if !is {
				t.Errorf("%s: %s is missing or wrong", c.ID, part)
			}
		}
		for _, m := range e.Mistaken {
			if !Known(m.Cause) || m.Cause == c.ID || m.Says == "" {
				t.Errorf("%s may be mistaken for %q, it says", c.ID, m.Cause)
			}
		}
		for _, s := range e.See {
			if s.Run == "" || s.Says == "" {
				t.Errorf("%s: a command without words, or words without a command: %+v", c.ID, s)
			}
		}
	}
	if _, err := Explain("gremlins"); err == nil || err.Error() != `there is no cause "gremlins"` {
		t.Errorf("Explain of no cause: %v", err)
	}
}

// The trials that an explanation names are those that this package asks for, and
// the other way round.
func TestExplainedTrialsAreAsked(t *testing.T) {
	explained := []string{}
	for _, c := range Causes {
		e, err := Explain(c.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range e.Trials {
			explained = append(explained, string(q.Kind)+" "+c.ID)
		}
	}
	kinds, ids := constants(t, "trial.go"), constants(t, "causes.go")
	asked := []string{}
	file, err := parser.ParseFile(token.NewFileSet(), "ask.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if function, ok := call.Fun.(*ast.SelectorExpr); !ok || function.Sel.Name != "ask" {
			return true
		}
		for _, argument := range call.Args {
			expects, ok := argument.(*ast.CompositeLit)
			if !ok {
				continue
			}
			if cause, ok := expects.Elts[0].(*ast.Ident); ok { // else it is of whatever cause is in question
				asked = append(asked, kinds[call.Args[0].(*ast.Ident).Name]+" "+ids[cause.Name])
			}
		}
		return true
	})
	slices.Sort(explained)
	slices.Sort(asked)
	if diff := cmp.Diff(asked, explained); diff != "" || len(asked) == 0 {
		t.Errorf("trials that are asked for (-) and explained (+):\n%s", diff)
	}
}

// constants are a file's string constants.
func constants(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+)\s.*= "([^"]*)"`).FindAllSubmatch(text, -1) {
		values[string(m[1])] = string(m[2])
	}
	return values
}

// What an explanation calls by the name of a fact is one that findings carry.
func TestExplainedFactsExist(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".go") && !strings.HasSuffix(f.Name(), "_test.go") {
			text, err := os.ReadFile(f.Name())
			if err != nil {
				t.Fatal(err)
			}
			source.Write(text)
		}
	}
	for _, c := range Causes {
		e, err := Explain(c.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`\b[a-z]+(_[a-z]+)+\b`).FindAllString(e.Recognised, -1) {
			if !strings.Contains(source.String(), `"`+name+`"`) && !strings.HasPrefix(name, "tcp_") {
				t.Errorf("%s: no finding has a fact called %s", c.ID, name)
			}
		}
	}
}

// The examples' own arithmetic, against figures worked out by hand.
func TestExamples(t *testing.T) {
	for text, want := range map[string]string{
		`{{payload "1gbit" 1500}}`:                       "965 Mb/s", // 1448/1500
		`{{ethernet "1gbit" 1500}}`:                      "941 Mb/s", // 1448/1538
		`{{bdp "1gbit" "150ms"}}`:                        "17.9 MiB",
		`{{windowRate (receiverWindow "6MiB") "150ms"}}`: "168 Mb/s",
		`{{windowRate "2MiB" "150ms"}}`:                  "112 Mb/s",
		`{{cubic 1e-4 "150ms" 1448}}`:                    "19.6 Mb/s",
		`{{runLength "1gbit" "150ms"}}`:                  "503,000,000", // 3 * 12949^2
		`{{takes "1MiB" "10mbit"}}`:                      "839 ms",
		`{{takes "10MB" "10mbit"}}`:                      "8 s",
		`{{takes "1MB" "8mbit"}}`:                        "1 s",
		`{{inTurn "1gbit" "1gbit"}}`:                     "500 Mb/s",
		`{{percent (frameLoss 1e-4 125)}}`:               "9.52 %", // 1 - 0.9999^1000
		`{{queue (bdp "1gbit" "150ms") 0.5 100}}`:        "1.79 MiB",
		`{{cpuRate 0.5 1}}`:                              "4 Gb/s",
		`{{sockets 380000 "6MiB"}}`:                      "247",
		`{{oneIn 0.5}}`:                                  "2",
		`{{climb "1gbit" "150ms" 0.5}}`:                  "25 s", // cbrt(12949 * 0.5 / 0.4)
		`{{times "1gbit" 0.5}} {{times "1gbit" 1}}`:      "500 Mb/s 1 Gb/s",
	} {
		e, err := parseExplanation([]byte("happens: '" + text + "'"))
		if err != nil || e.Happens != want {
			t.Errorf("%s = %q, %v; want %q", text, e.Happens, err, want)
		}
	}
	for _, text := range []string{`{{payload "fast" 1500}}`, `{{payload 1 1500}}`, `{{takes "1MiB" (bdp "1gbit" "1ms")}}`, `{{gremlins}}`, `{{`, `x': 'y`} {
		if _, err := parseExplanation([]byte("happens: '" + text + "'")); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

func TestLike(t *testing.T) {
	for word, want := range map[string]string{
		"receiver-buffer":       "receiver-buffer",
		"Receiver Buffer":       "receiver-buffer",
		"recver-bufer":          "receiver-buffer",
		"receiver_cpu":          "receiver-cpu",
		"sender-cup":            "sender-cpu",
		"loss":                  "random-loss reordering",
		"ssh":                   "application-window",
		"buffer":                "receiver-buffer sender-buffer bufferbloat",
		"tcp_mem":               "memory-pressure",
		"policemen":             "policer", // a third of its letters may be wrong
		"the":                   "healthy receiver-buffer window-scale",
		"gremlins":              "",
		"":                      "",
		"x":                     "",
		strings.Repeat("x", 99): "",
	} {
		if got := strings.Join(Like(word), " "); got != want {
			t.Errorf("Like(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestCeilings(t *testing.T) {
	if got := Ceilings(nil); got != nil {
		t.Errorf("of no evidence: %v", got)
	}
	still, untimed := scene{rtt: 40 * ms}.evidence(), scene{goodput: 20 * mbps, unprobed: true}.evidence()
	eachSample(&untimed.Transfer.Client, func(_ int, s *bulk.TCPInfo) { s.RTT, s.MinRTT = 0, 0 })
	for name, e := range map[string]*Evidence{"nothing arrived": still, "no round trip is known": untimed} {
		if got := Ceilings(e); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, c := range scenes {
		all := Ceilings(c.scene.evidence())
		for i, one := range all {
			if one.Rate <= 0 || one.Of == "" || i == 0 && one.Of != "goodput" || i > 1 && one.Rate < all[i-1].Rate {
				t.Errorf("%s: %v", c.name, all)
			}
		}
	}
}
