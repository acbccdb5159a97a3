package main

import (
	"errors"
	"fmt"

	"github.com/fullbore/fullbore/nfs/limit"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report"
)

type nfsDiagnoseCmd struct {
	nfsFile
}

// nfsDiagnosis is what 'nfs diagnose --json' prints (docs/json.md).
type nfsDiagnosis struct {
	Schema   string          `json:"schema"` // "fullbore/nfs-diagnose/1"
	Target   string          `json:"target"`
	Verdict  limit.Finding   `json:"verdict"`
	Findings []limit.Finding `json:"findings"`
	Evidence *limit.Evidence `json:"evidence"`
}

func (c *nfsDiagnoseCmd) Run(app *app) (err error) {
	load, err := c.load(c.Connections)
	if err != nil {
		return err
	}
	target, err := c.file(app, "diagnose")
	if target == nil {
		return err
	}
	kept := c.keepFile(app, record.NFSDiagnose, target.Host, load.Op)
	var came record.Outcome
	var document any
	defer func() { kept.end(came, document, err) }() // people see the result first
	watch := kept.watching(report.NewMonitor(app.stderr, c.JSON && !isTerminal(app.stderr)))
	e, err := limit.Measure(app.ctx, *target, load, c.Connections, 0, watch)
	watch.End()
	if err != nil {
		return interruptedNFS(app, err, "not all was measured")
	}
	found := limit.Diagnose(e)
	if len(found) == 0 {
		return errors.New("what was measured fits no limit: is something else going on at the server?")
	}
	d := &nfsDiagnosis{"fullbore/nfs-diagnose/1", c.Target, found[0], found, e}
	came, document = d.outcome(), d
	if c.JSON {
		return printJSON(app.stdout, d)
	}
	_, _ = fmt.Fprintln(app.stdout)
	report.NFSLimits(app.stdout, e, found)
	return nil
}
