// Package complete says what a command line can go on with, for any shell: it walks the model that the parser itself has, so that no verb and no
// flag is forgotten.
package complete

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Candidate is a word that the last one can become.
type Candidate struct {
	Word string
	Says string // one line; "": nothing more is known of it
}

// Values gives what a flag or an argument may be, beside what the model has. What it is called is its placeholder, as the help has it, or the
// argument's name.
type Values func(line Line, called string) []Candidate

// Line is a command line that is being typed.
type Line struct {
	Verb  *kong.Node
	Flags []string // that are there, without dashes
}

// Answer is what there is to choose from.
type Answer struct {
	Candidates []Candidate
	Files      bool // names of files too: the shell knows them best

	orFiles bool // if there is no other candidate
}

// Words says what the last of the words of a command line, without the program's own name, can become.
func Words(model *kong.Application, words []string, values Values) Answer {
	if len(words) == 0 {
		words = []string{""}
	}
	at := &place{node: model.Node, values: values}
	for _, word := range words[:len(words)-1] {
		at.passes(word)
	}
	a := at.next(words[len(words)-1])
	last := words[len(words)-1]
	a.Candidates = slices.DeleteFunc(a.Candidates, func(c Candidate) bool { return !strings.HasPrefix(c.Word, last) })
	a.Files = a.Files || a.orFiles && len(a.Candidates) == 0
	return a
}

// Arguments are those of a whole command line, by their names, without the verb and its flags.
func Arguments(model *kong.Application, words []string) map[string]string {
	at := &place{node: model.Node}
	found := map[string]string{}
	for _, word := range words {
		verb, before := at.node, at.args
		at.passes(word)
		if at.node == verb && at.args > before && before < len(verb.Positional) {
			found[verb.Positional[before].Name] = word
		}
	}
	return found
}

// place is how far a command line has been understood.
type place struct {
	node    *kong.Node
	values  Values
	given   []string   // flags
	waiting *kong.Flag // for its value
	args    int        // arguments of the verb that are there
	plain   bool       // what begins with a dash is an argument, too
}

// passes goes on over a word that is complete.
func (p *place) passes(word string) {
	switch {
	case p.waiting != nil:
		p.waiting = nil
	case p.plain:
		p.args++
	case word == "--":
		p.plain = true
	case strings.HasPrefix(word, "--"):
		name, _, has := strings.Cut(word[2:], "=")
		p.given = append(p.given, name)
		if !has {
			p.waits(p.flag(func(f *kong.Flag) bool { return f.Name == name || slices.Contains(f.Aliases, name) }))
		}
	case strings.HasPrefix(word, "-") && len(word) > 1:
		p.short(word[1:])
	default:
		if child := p.child(word); child != nil {
			p.node, p.args = child, 0
		} else {
			p.args++
		}
	}
}

// short goes over letters of which the first that takes a value has the rest for it.
func (p *place) short(letters string) {
	for i, letter := range letters {
		f := p.flag(func(f *kong.Flag) bool { return f.Short == letter })
		if f == nil || f.IsBool() || f.IsCounter() {
			continue
		}
		if i == len(letters)-1 {
			p.waiting = f
		}
		return
	}
}

func (p *place) waits(f *kong.Flag) {
	if f != nil && !f.IsBool() && !f.IsCounter() {
		p.waiting = f
	}
}

// flag finds one of the verb and of those above it.
func (p *place) flag(is func(*kong.Flag) bool) *kong.Flag {
	for _, group := range p.node.AllFlags(false) {
		for _, f := range group {
			if is(f) {
				return f
			}
		}
	}
	return nil
}

func (p *place) child(word string) *kong.Node {
	for _, child := range p.node.Children {
		if child.Name == word || slices.Contains(child.Aliases, word) {
			return child
		}
	}
	return nil
}

// next is what can come now.
func (p *place) next(begun string) Answer {
	if p.waiting != nil {
		return p.of(p.waiting.Value, p.waiting.PlaceHolder)
	}
	if !p.plain && strings.HasPrefix(begun, "--") {
		if name, _, has := strings.Cut(begun[2:], "="); has {
			f := p.flag(func(f *kong.Flag) bool { return f.Name == name })
			if f == nil {
				return Answer{}
			}
			a := p.of(f.Value, f.PlaceHolder)
			for i := range a.Candidates {
				a.Candidates[i].Word = "--" + name + "=" + a.Candidates[i].Word
			}
			return a
		}
	}
	if !p.plain && strings.HasPrefix(begun, "-") {
		return Answer{Candidates: p.flags()}
	}
	var a Answer
	for _, child := range p.node.Children {
		if !child.Hidden {
			a.Candidates = append(a.Candidates, Candidate{child.Name, line(child.Help)})
		}
	}
	if len(p.node.Positional) > 0 {
		arg := p.node.Positional[min(p.args, len(p.node.Positional)-1)]
		if p.args < len(p.node.Positional) || arg.IsCumulative() {
			more := p.of(arg, arg.Name)
			a.Candidates, a.Files = append(a.Candidates, more.Candidates...), more.Files
			a.orFiles = more.orFiles
		}
	}
	return a
}

// flags are all that the verb takes.
func (p *place) flags() (all []Candidate) {
	for _, group := range p.node.AllFlags(true) {
		for _, f := range group {
			all = append(all, Candidate{"--" + f.Name, line(f.Help)})
		}
	}
	return all
}

// of is what a value can be: what the model lists, or what is known beside it, or a file.
func (p *place) of(v *kong.Value, called string) Answer {
	var a Answer
	if v.Enum != "" {
		for _, word := range v.EnumSlice() {
			if word = strings.TrimSpace(word); word != "" {
				a.Candidates = append(a.Candidates, Candidate{Word: word})
			}
		}
		return a
	}
	if p.values != nil {
		a.Candidates = p.values(Line{p.node, p.given}, called)
	}
	switch strings.ToLower(called) {
	case "file", "folder", "dir", "plan":
		a.Files = true
	case "experiment", "scenario", "run", "of": // names, or files
		a.orFiles = true
	}
	return a
}

// line is the first sentence of a help text: shells show one line.
func line(help string) string {
	help = strings.Join(strings.Fields(help), " ")
	if i := strings.Index(help, ". "); i >= 0 {
		help = help[:i]
	}
	return strings.TrimSuffix(help, ".")
}
