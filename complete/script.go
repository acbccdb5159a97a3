package complete

import (
	"embed"
	"fmt"
	"io"
)

//go:embed shells
var shells embed.FS

// Shells are those for which there is a script.
var Shells = []string{"bash", "zsh", "fish", "powershell"}

// Script is what a shell reads once: it asks the program's hidden verb __complete for each word, so that it never grows old.
func Script(shell string) (string, error) {
	text, err := shells.ReadFile("shells/" + shell)
	return string(text), err
}

// Asked is the verb of the program that scripts call, with the words behind "--".
const Asked = "__complete"

// Write is the answer as scripts read it: a line for each word, with a tab and what it is, and ":files" where files come in question.
func (a Answer) Write(w io.Writer) error {
	for _, c := range a.Candidates {
		text := c.Word
		if c.Says != "" {
			text += "\t" + c.Says
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	if !a.Files {
		return nil
	}
	_, err := fmt.Fprintln(w, ":files")
	return err
}
