package complete

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// grammar is a small command line with all that one can have.
type grammar struct {
	Test struct {
		Host   string `arg:"" optional:""`
		Other  string `arg:"" optional:"" name:"file"`
		Lab    string `placeholder:"SCENARIO" help:"Use two hosts of a scenario. Nothing else is changed."`
		Time   int    `short:"t"`
		JSON   bool   `short:"J" name:"json"`
		Mode   string `enum:"none,live," default:""`
		Output string `short:"o" placeholder:"FILE"`
		Inner  string `hidden:""`
	} `cmd:"" aliases:"t" help:"Measure. Change nothing."`
	Report struct {
		Runs []string `arg:"" name:"run"`
	} `cmd:""`
	Fleet struct {
		Run  struct{} `cmd:""`
		Hide struct{} `cmd:"" hidden:""`
	} `cmd:""`
	Secret struct{} `cmd:"" hidden:""`
}

// asked is its model.
func asked() *kong.Application { return kong.Must(&grammar{}).Model }

// known are values of hosts and scenarios; with --json there are others.
func known(line Line, called string) (list []Candidate) {
	switch {
	case called == "SCENARIO":
		return []Candidate{{"california-uk", "far"}, {"clean-lan", ""}}
	case called == "host" && slices.Contains(line.Flags, "json"):
		return []Candidate{{"json-host", ""}}
	case called == "host":
		return []Candidate{{"store1", ""}, {"store2", ""}}
	case called == "run":
		return []Candidate{{"last", ""}}
	}
	return nil
}

// TestWords: what the words of a command line can go on with.
func TestWords(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"", "test report fleet"},
		{"re", "report"},
		{"se", ""}, // hidden
		{"fleet ", "run"},
		{"test ", "store1 store2"},
		{"test store1 ", ":files"}, // the second argument is a file
		{"test store1 x ", ""},     // and there is no third
		{"test --json ", "json-host"},
		{"test --", "--help --lab --time --json --mode --output"},
		{"test --l", "--lab"},
		{"test -", "--help --lab --time --json --mode --output"},
		{"test --lab ", "california-uk clean-lan"},
		{"test --lab cal", "california-uk"},
		{"test --lab=cal", "--lab=california-uk"},
		{"test --nothing=x", ""},
		{"test --lab cal ", "store1 store2"},
		{"test --mode ", "none live"},
		{"test -t ", ""}, // a number
		{"test -t 5 sto", "store1 store2"},
		{"test -t5 sto", "store1 store2"},
		{"test -Jt ", ""},
		{"test -o ", ":files"},
		{"test -- -", ""}, // an argument that begins with a dash
		{"test -- st", "store1 store2"},
		{"t --mo", "--mode"}, // by its other name
		{"report a b ", "last"},
		{"report a b x", ":files"},
		{"test --lab ./", ":files"},
		{"nonsense ", "test report fleet"},
	} {
		var b strings.Builder
		if err := Words(asked(), strings.Split(c.line, " "), known).Write(&b); err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(b.String()) {
			word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			got = append(got, word)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: %q, want %q", c.line, strings.Join(got, " "), c.want)
		}
	}
	if a := Words(asked(), nil, nil); len(a.Candidates) != 3 || a.Candidates[0].Says != "Measure" {
		t.Errorf("%+v", a)
	}
}

// TestArguments: those of a whole command line, by their names.
func TestArguments(t *testing.T) {
	got := Arguments(asked(), strings.Split("test -t 5 --lab x store1 file.txt --json", " "))
	if len(got) != 2 || got["host"] != "store1" || got["file"] != "file.txt" {
		t.Errorf("%v", got)
	}
}

// FuzzWords: whatever is typed, there is an answer, and each word of it begins with what was typed.
func FuzzWords(f *testing.F) {
	f.Add("test --lab=")
	f.Add("-- - --=\x00 fleet  run")
	model := asked()
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, " ")
		for _, c := range Words(model, words, known).Candidates {
			if !strings.HasPrefix(c.Word, words[len(words)-1]) {
				t.Errorf("%q: %q", line, c.Word)
			}
		}
		Arguments(model, words)
	})
}
