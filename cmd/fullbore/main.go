// Command fullbore measures a bulk path from both ends, names what limits it,
// changes that, proves the gain, and can undo it.
package main

import (
	"os"

	"github.com/fullbore/fullbore/lab"
)

func main() {
	lab.AgentMain() // does not return in a process that is a lab's host
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
