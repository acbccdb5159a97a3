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
		return printJSON(app.stdout, factsDocument{Schema: "fullbore/facts/1", Facts: facts})
	}
	report.Facts(app.stdout, facts)
	return nil
}

// factsDocument is what facts prints with --json.
type factsDocument struct {
	Schema string `json:"schema"` // "fullbore/facts/1"
	*host.Facts
}
