package format

import (
	"regexp"
	"strings"

	"github.com/fullbore/fullbore/tunable"
)

// fill puts into one of the catalogue's templates what put gives for {name},
// {instance}, {family}, {value} and {on}: the value of a switch as "on" or "off".
func fill(template string, put func(placeholder string) string) string {
	return strings.NewReplacer("{name}", put("{name}"), "{instance}", put("{instance}"), "{value}", put("{value}"), "{on}", put("{on}"), "{family}", put("{family}")).Replace(template)
}

// inWords fills a template for people, and for files in which nothing is quoted.
func (s *setting) inWords(template, value string) string {
	return fill(template, func(placeholder string) string { return s.word(placeholder, value) })
}

// word is what stands for a placeholder.
func (s *setting) word(placeholder, value string) string {
	switch placeholder {
	case "{name}":
		return s.entry.Name
	case "{instance}":
		return s.instance
	case "{family}":
		return tunable.Family(s.instance)
	case "{on}":
		return onOff(value)
	}
	return value
}

func onOff(value string) string {
	if value == "1" {
		return "on"
	}
	return "off"
}

// inShell fills a template that is a shell command. Values are those of the
// shell's variables, so that what is found when the command runs can decide.
func (s *setting) inShell(template, value, on string) string {
	text := s.inShellAs(template, piece{variable: value}, piece{variable: on})
	// '{value}' comes out as an empty word, the variable, and an empty word.
	return strings.ReplaceAll(text, `''"$`+value+`"''`, `"$`+value+`"`)
}

// inShellAs fills a template that is a shell command, each piece quoted for its
// place.
func (s *setting) inShellAs(template string, value, on piece) string {
	var out strings.Builder
	quotes := []rune{0} // what the shell is in the middle of, innermost last: 0 nothing, a quote
	for i := 0; i < len(template); {
		rest := template[i:]
		in := &quotes[len(quotes)-1]
		if placeholder := placeholders.FindString(rest); placeholder != "" {
			out.WriteString(quotedIn(*in, s.piece(placeholder, value, on)))
			i += len(placeholder)
			continue
		}
		switch c := rest[0]; {
		case c == '\\' && *in != '\'' && len(rest) > 1:
			out.WriteByte(c)
			i, rest = i+1, rest[1:]
		case *in == '\'':
			if c == '\'' {
				*in = 0
			}
		case strings.HasPrefix(rest, "$("):
			out.WriteByte(c)
			i, rest = i+1, rest[1:]
			quotes = append(quotes, 0)
		case c == ')' && *in == 0 && len(quotes) > 1:
			quotes = quotes[:len(quotes)-1]
		case c == '"' && *in == '"':
			*in = 0
		case *in == 0 && (c == '"' || c == '\''):
			*in = rune(c)
		}
		out.WriteByte(rest[0])
		i++
	}
	return out.String()
}

var placeholders = regexp.MustCompile(`^\{(name|instance|family|value|on)\}`)

// piece is a text, or the name of a shell variable.
type piece struct{ text, variable string }

func (s *setting) piece(placeholder string, value, on piece) piece {
	switch placeholder {
	case "{value}":
		return value
	case "{on}":
		return on
	}
	return piece{text: s.word(placeholder, "")}
}

// quotedIn writes a piece where the shell is inside of a quote, or of none.
func quotedIn(quote rune, p piece) string {
	switch {
	case p.variable != "" && quote == '\'':
		return `'"$` + p.variable + `"'`
	case p.variable != "" && quote == '"':
		return "${" + p.variable + "}"
	case p.variable != "":
		return `"$` + p.variable + `"`
	case quote == '\'':
		return strings.ReplaceAll(p.text, "'", `'\''`)
	case quote == '"':
		return doubleQuoted.Replace(p.text)
	}
	return shellWord(p.text)
}

// doubleQuoted takes the meaning from what has one between double quotes
// (POSIX.1-2017, Shell Command Language, 2.2.3).
var doubleQuoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`")

// shellWord quotes a text as one word, where it needs quotes.
func shellWord(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !needsNoQuotes(r) }) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// needsNoQuotes reports whether a rune means nothing to any shell or file here.
func needsNoQuotes(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._/:-", r)
}

// isSafe reports whether all of a text is plain.
func isSafe(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !needsNoQuotes(r) })
}
