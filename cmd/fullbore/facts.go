package main

import (
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/report"
)

type factsCmd struct {
	JSON bool `help:"One JSON document on stdout."`
}

func (c *factsCmd) Run(app *app) error {
	facts, err := host.Collect(app.ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(app.stdout, facts)
	}
	report.Facts(app.stdout, facts)
	return nil
}
