package report

// Style says how text may stand out.
type Style struct {
	Terminal bool // escape sequences for bold, faint and colour are understood
}

func (s Style) bold(text string) string   { return s.mark(text, "1") }
func (s Style) faint(text string) string  { return s.mark(text, "2") }
func (s Style) green(text string) string  { return s.mark(text, "32") }
func (s Style) yellow(text string) string { return s.mark(text, "33") }

func (s Style) mark(text, code string) string {
	if !s.Terminal || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// columns of a terminal as most people have it.
const columns = 80
