package main

import (
	"fmt"

	"github.com/fullbore/fullbore/version"
)

type versionCmd struct{}

func (c *versionCmd) Run(app *app) error {
	_, err := fmt.Fprintln(app.stdout, "fullbore", version.String())
	return err
}
