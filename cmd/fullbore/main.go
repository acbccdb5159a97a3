// Command fullbore measures a bulk path from both ends, names what limits it,
// changes that, proves the gain, and can undo it.
package main

import (
	"fmt"
	"os"

	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/version"
)

func main() {
	lab.AgentMain() // does not return in a process that is a lab's host
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

type versionCmd struct{}

func (c *versionCmd) Run(app *app) error {
	_, err := fmt.Fprintln(app.stdout, "fullbore", version.String())
	return err
}
