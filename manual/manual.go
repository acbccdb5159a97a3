// Package manual makes manual pages of a command line, in mdoc(7): one of the program and one of each verb. They follow from the model that the parser
// itself has.
package manual

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Page is one manual page.
type Page struct {
	Name string // of its file: "fullbore-tune.1"
	Text string
}

// Program is what a page says beside the model.
type Program struct {
	Date  time.Time // of the program
	Exits []Exit
}

// Exit is a code with which the program ends.
type Exit struct {
	Code int
	Says string
}

// Pages are those of a program.
func Pages(model *kong.Application, p Program) []Page {
	verbs := model.Leaves(true)
	pages := []Page{p.program(model, verbs)}
	for _, verb := range verbs {
		pages = append(pages, p.verb(model, verb))
	}
	return pages
}

// writer writes mdoc.
type writer struct{ strings.Builder }

// macro is a line with a macro. Its arguments are as mdoc has them.
func (w *writer) macro(name string, args ...string) {
	w.WriteString("." + strings.Join(append([]string{name}, args...), " ") + "\n")
}

// text is a paragraph, a sentence a line, as mdoc has it.
func (w *writer) text(paragraph string) {
	paragraph = strings.Join(strings.Fields(paragraph), " ")
	for paragraph != "" {
		sentence, rest, _ := strings.Cut(paragraph, ". ")
		if rest != "" {
			sentence += "."
		}
		w.WriteString(escape(sentence) + "\n")
		paragraph = rest
	}
}

// escape makes a text one that roff prints as it is: without a control character at the beginning of its line, and with hyphens that can be copied.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

// argument is a text as a macro's argument: a macro's name, or punctuation, within it means nothing.
func argument(text string) string {
	text = escape(strings.ReplaceAll(text, `"`, `""`))
	return `"\&` + text + `"`
}

func (w *writer) head(p Program, title, says string) {
	w.macro("Dd", p.Date.UTC().Format("January 2, 2006"))
	w.macro("Dt", strings.ToUpper(title), "1")
	w.macro("Os")
	w.macro("Sh", "NAME")
	w.macro("Nm", title)
	w.macro("Nd", escape(first(says)))
	w.macro("Sh", "SYNOPSIS")
}

// first is the first sentence of a help text, as the line of a list has it.
func first(help string) string {
	help, _, _ = strings.Cut(strings.Join(strings.Fields(help), " "), ". ")
	help = strings.TrimSuffix(help, ".")
	if len(help) > 1 && help[1] >= 'a' && help[1] <= 'z' {
		help = strings.ToLower(help[:1]) + help[1:]
	}
	return help
}

// title of the page of a verb: "fullbore-fleet-run".
func title(model *kong.Application, verb *kong.Node) string {
	return model.Name + "-" + strings.ReplaceAll(path(verb), " ", "-")
}

// path is a verb's, without its arguments: "fleet run".
func path(verb *kong.Node) string {
	var names []string
	for n := verb; n != nil && n.Parent != nil; n = n.Parent {
		names = append(names, n.Name)
	}
	slices.Reverse(names)
	return strings.Join(names, " ")
}

func (p Program) program(model *kong.Application, verbs []*kong.Node) Page {
	var w writer
	w.head(p, model.Name, model.Help)
	w.macro("Nm", model.Name)
	w.macro("Ar", "verb")
	w.macro("Op", "Ar", "arguments")
	w.macro("Sh", "DESCRIPTION")
	w.text(model.Help)
	w.macro("Pp")
	w.text("Each verb has a page of its own.")
	w.macro("Bl", "-tag", "-width", "Ds")
	for _, verb := range verbs {
		w.macro("It", "Xr", title(model, verb), "1")
		w.text(verb.Help)
	}
	w.macro("El")
	p.exits(&w)
	return Page{model.Name + ".1", w.String()}
}

func (p Program) verb(model *kong.Application, verb *kong.Node) Page {
	var w writer
	name := title(model, verb)
	w.head(p, name, verb.Help)
	w.macro("Nm", argument(model.Name+" "+path(verb)))
	w.macro("Op", "Ar", "options")
	for _, arg := range verb.Positional {
		synopsis := []string{"Ar", argument(arg.Name)}
		if arg.IsCumulative() {
			synopsis = append(synopsis, "...")
		}
		if !arg.Required {
			synopsis = append([]string{"Op"}, synopsis...)
		}
		w.macro(synopsis[0], synopsis[1:]...)
	}
	w.macro("Sh", "DESCRIPTION")
	w.text(verb.Help)
	if verb.Detail != "" {
		w.macro("Pp")
		w.text(verb.Detail)
	}
	if len(verb.Positional) > 0 {
		w.macro("Bl", "-tag", "-width", "Ds")
		for _, arg := range verb.Positional {
			w.macro("It", "Ar", argument(arg.Name))
			w.text(arg.Help)
		}
		w.macro("El")
	}
	w.macro("Pp")
	w.text("The options are:")
	w.macro("Bl", "-tag", "-width", "Ds")
	for _, group := range verb.AllFlags(true) {
		for _, f := range group {
			w.flag(f)
		}
	}
	w.macro("El")
	p.exits(&w)
	w.macro("Sh", "SEE", "ALSO")
	w.macro("Xr", model.Name, "1")
	return Page{name + ".1", w.String()}
}

// flag is one of a verb, with what it takes.
func (w *writer) flag(f *kong.Flag) {
	var item []string
	if f.Short != 0 {
		item = append(item, "Fl", string(f.Short), ",")
	}
	item = append(item, "Fl", argument("-"+f.Name))
	if !f.IsBool() && !f.IsCounter() {
		item = append(item, "Ns", "=", "Ns", "Ar", argument(takes(f)))
	}
	w.macro("It", item...)
	w.text(f.Help)
}

// takes is what stands for a flag's value.
func takes(f *kong.Flag) string {
	switch {
	case f.PlaceHolder != "":
		return f.PlaceHolder
	case f.Enum != "":
		return strings.Trim(strings.ReplaceAll(f.Enum, ",", "|"), "|")
	case f.HasDefault && f.Default != "":
		return f.Default
	}
	return strings.ToUpper(f.Name)
}

func (p Program) exits(w *writer) {
	w.macro("Sh", "EXIT", "STATUS")
	w.macro("Bl", "-tag", "-width", "Ds")
	for _, e := range p.Exits {
		w.macro("It", fmt.Sprint(e.Code))
		w.text(e.Says)
	}
	w.macro("El")
}
