package main

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/limit"
	"github.com/fullbore/fullbore/report"
)

type nfsDiagnoseCmd struct {
	nfsRequests
	Target string `arg:"" optional:"" help:"File: nfs://HOST[:PORT]/EXPORT/FILE[?version=3|4.1&mountport=N&uid=N&gid=N]."`
	Lab    string `placeholder:"SCENARIO" help:"Use the two hosts of a scenario instead; host b is a server whose files need no disk."`
	JSON   bool   `short:"J" help:"One JSON document instead of text."`
}

// nfsDiagnosis is what 'nfs diagnose --json' prints (docs/json.md).
type nfsDiagnosis struct {
	Schema   string          `json:"schema"` // "fullbore/nfs-diagnose/1"
	Target   string          `json:"target"`
	Verdict  limit.Finding   `json:"verdict"`
	Findings []limit.Finding `json:"findings"`
	Evidence *limit.Evidence `json:"evidence"`
}

func (c *nfsDiagnoseCmd) Run(app *app) error {
	load, err := c.load(c.Connections)
	if err != nil {
		return err
	}
	if (c.Target == "") == (c.Lab == "") {
		return &hinted{err: errors.New("name a file of a server, such as nfs://server/export/file, or a scenario with --lab"), hint: "see fullbore nfs diagnose --help", code: exitUsage}
	}
	if c.Lab != "" {
		flags := []string{"--nfs", "--nfs-writes", "--nfs-client", "0.0.0.0/0"}
		return inLabWith(app, c.Lab, flags, func(b netip.Addr, serves *serveDocument) string { return serves.NFS.target(b.String()) })
	}
	target, err := nfs.ParseTarget(c.Target)
	if err != nil {
		return &hinted{err: err, hint: "see fullbore nfs diagnose --help", code: exitUsage}
	}
	watch := report.NewMonitor(app.stderr, c.JSON && !isTerminal(app.stderr))
	e, err := limit.Measure(app.ctx, target, load, c.Connections, 0, watch)
	watch.End()
	switch {
	case app.ctx.Err() != nil:
		return errors.New("interrupted before all was measured")
	case err != nil:
		return err
	}
	found := limit.Diagnose(e)
	if len(found) == 0 {
		return errors.New("what was measured fits no limit: is something else going on at the server?")
	}
	if c.JSON {
		return printJSON(app.stdout, nfsDiagnosis{"fullbore/nfs-diagnose/1", c.Target, found[0], found, e})
	}
	_, _ = fmt.Fprintln(app.stdout)
	report.NFSLimits(app.stdout, e, found)
	return nil
}
