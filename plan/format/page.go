package format

import (
	"strings"
	"unicode/utf8"

	"github.com/fullbore/fullbore/printable"
)

// page is a file in the making.
type page struct {
	strings.Builder
	mark  string              // begins a comment: "#"
	close string              // ends one, where its line does not: "-->"
	clean func(string) string // takes out what would end a comment; nil: nothing but the end of its line does
}

// columns is how long lines of comments get.
const columns = 78

// longest is how long a word in a comment can be, in bytes. Addresses are whole;
// cmd.exe would take what is beyond 8191 bytes of a line for another line.
const longest = 1000

// comment writes text as comment lines of at most [columns] where its words
// allow that. Whatever the text is, it stays inside.
func (p *page) comment(text string) {
	text = printable.Line(text)
	if p.clean != nil {
		text = p.clean(text)
	}
	line := p.mark
	for word := range strings.FieldsSeq(text) {
		if len(word) > longest {
			word = strings.ToValidUTF8(word[:longest], "") + "..."
		}
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns && line != p.mark {
			p.line(line + p.close)
			line = p.mark
		}
		line += " " + word
	}
	if line != p.mark {
		p.line(line + p.close)
	}
}

func (p *page) blank() { p.WriteString("\n") }

func (p *page) line(text ...string) {
	for _, t := range text {
		p.WriteString(t)
	}
	p.WriteString("\n")
}
