package format

import (
	"strings"
	"unicode/utf8"

	"github.com/fullbore/fullbore/printable"
)

// comments is how a kind of file has comments, for those that write the file and
// for those that look at what was written.
type comments struct {
	mark  string                 // begins one: "#"
	close string                 // ends one, where its line does not: " -->"
	clean func(string) string    // takes out what would end a comment; nil: nothing but the end of its line does
	are   func(line string) bool // whether the file's reader takes a line, without blanks around it, for nothing but a comment
}

// hashComments are those of most files.
var hashComments = &comments{mark: "#", are: func(line string) bool {
	return strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "#!")
}}

// text and program are files that are read, and that are run.
func (c *comments) text(name, text string) File {
	return File{Name: name, Text: text, Mode: 0o644, comments: c}
}

func (c *comments) program(name, text string) File {
	return File{Name: name, Text: text, Mode: 0o755, comments: c}
}

// page is a file in the making.
type page struct {
	strings.Builder
	comments *comments
	indent   string // before each comment
}

// columns is how long lines of comments get.
const columns = 78

// longest is how long a word in a comment can be, in bytes. Addresses are whole;
// cmd.exe would take what is beyond 8191 bytes of a line for another line.
const longest = 1000

// comment writes text as comment lines of at most [columns] where its words
// allow that. Whatever the text is, it stays inside: a line that the file's reader
// would take for more than a comment is not written.
func (p *page) comment(text string) {
	text = printable.Line(text)
	if p.comments.clean != nil {
		text = p.comments.clean(text)
	}
	begin := p.indent + p.comments.mark
	line := begin
	end := func() {
		if line += p.comments.close; p.comments.are(strings.TrimSpace(line)) {
			p.line(line)
		}
	}
	for word := range strings.FieldsSeq(text) {
		if len(word) > longest {
			word = strings.ToValidUTF8(word[:longest], "") + "..."
		}
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns && line != begin {
			end()
			line = begin
		}
		line += " " + word
	}
	if line != begin {
		end()
	}
}

func (p *page) blank() { p.WriteString("\n") }

func (p *page) line(text ...string) {
	for _, t := range text {
		p.WriteString(t)
	}
	p.WriteString("\n")
}
