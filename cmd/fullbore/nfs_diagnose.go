package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/climb"
	"github.com/fullbore/fullbore/nfs/limit"
	"github.com/fullbore/fullbore/nfs/mounted"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report"
)

type nfsDiagnoseCmd struct {
	nfsFile
	farServer
}

// farServer is where the file's server can be asked and changed.
type farServer struct {
	Far   string `placeholder:"HOST" help:"Where 'fullbore serve' runs on the file's server ('tune': the file's host). There alone is seen how many threads it has and what a request costs its processors; 'tune' raises windows and threads there."`
	Token string `env:"FULLBORE_TOKEN" placeholder:"TOKEN" help:"What that 'serve' printed: allows to read that host's facts and change its tunables."`
}

// dial connects to it; unnamed: to another host.
func (s *farServer) dial(app *app, unnamed string) (*peer.Client, error) {
	return (&optionalTarget{Host: cmp.Or(s.Far, unnamed), Token: s.Token}).dial(app)
}

// threads asks the file's server how many threads it has, if it is named; 0: not known.
func (s *farServer) threads(app *app) (int, error) {
	if s.Far == "" {
		return 0, nil
	}
	far, err := s.dial(app, "")
	if err != nil {
		return 0, err
	}
	defer func() { _ = far.Close() }()
	facts, err := far.Facts(app.ctx)
	if err != nil {
		return 0, fmt.Errorf("--far %s: %w", s.Far, err)
	}
	if server := climb.ServerOf(facts); server != nil {
		return server.Threads, nil
	}
	return 0, nil
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
	place, target, server, err := c.either(app, "diagnose", load)
	if server == "" {
		return err
	}
	threads, err := c.threads(app)
	if err != nil {
		return err
	}
	kept := c.keepFile(app, record.NFSDiagnose, server, load.Op)
	var came record.Outcome
	var document any
	defer func() { kept.end(came, document, err) }() // people see the result first
	watch := kept.watching(report.NewMonitor(app.stderr, c.JSON && !isTerminal(app.stderr)))
	e, err := c.evidence(app, place, target, load, watch)
	watch.End()
	if err != nil {
		return interruptedNFS(app, err, "not all was measured")
	}
	e.Threads = threads
	found := limit.Diagnose(e)
	d := &nfsDiagnosis{"fullbore/nfs-diagnose/1", c.Target, found[0], found, e}
	came, document = d.outcome(), d
	if c.JSON {
		return printJSON(app.stdout, d)
	}
	_, _ = fmt.Fprintln(app.stdout)
	if place != nil {
		report.NFSMounted(app.stdout, place)
	}
	report.NFSLimits(app.stdout, e, found)
	return nil
}

// evidence measures the file: through its mount where it has a place, else by requests of fullbore's own.
func (c *nfsDiagnoseCmd) evidence(app *app, place *mounted.Place, target *nfs.Target, load nfs.Load, watch report.Monitor) (*limit.Evidence, error) {
	if place != nil {
		return mounted.Measure(app.ctx, place, mounted.Load{Size: load.Size, Random: load.Random}, load.Depth, watch)
	}
	return limit.Measure(app.ctx, *target, load, c.Connections, 0, watch)
}

// either is the file that is named: of a mount of this host, or of a server; and that server. Of
// a scenario, where the verb has run, it is neither.
func (c *nfsFile) either(app *app, verb string, load nfs.Load) (place *mounted.Place, target *nfs.Target, server string, err error) {
	if isPath(c.Target) {
		if place, err = c.place(load); err != nil {
			return nil, nil, "", err
		}
		return place, nil, place.Server.Addr().String(), nil
	}
	if target, err = c.file(app, verb); target == nil {
		return nil, nil, "", err
	}
	return nil, target, target.Host, nil
}

// isPath says whether a target is a place of this host and no address.
func isPath(target string) bool {
	return strings.HasPrefix(target, "/") || strings.HasPrefix(target, "./") || strings.HasPrefix(target, "../") || target == "." || target == ".."
}

// place is the file of a mount that is meant, once what is asked of it can be done there.
func (c *nfsFile) place(load nfs.Load) (*mounted.Place, error) {
	switch {
	case c.Lab != "":
		return nil, usageError("name a file or a scenario with --lab, not both")
	case load.Op != nfs.Read || load.Writes > 0:
		return nil, usageError("%s: through a mount files are only read; for more name the file as nfs://SERVER/EXPORT/FILE", c.Target)
	case c.Connections != 1:
		return nil, usageError("--connections: a mount has its own (its option nconnect)")
	case load.Discard:
		return nil, usageError("--discard: programs that read through a mount get a copy")
	case load.Coalesce:
		return nil, usageError("--coalesce: the kernel takes a mount's answers, and does that as it likes")
	case load.ReadAhead != nil:
		return nil, usageError("--readahead: a mount reads ahead by itself (read_ahead_kb of its device)")
	}
	place, err := mounted.Find(c.Target)
	if errors.Is(err, mounted.ErrNone) {
		return nil, &hinted{err: err, hint: "fullbore nfs diagnose nfs://SERVER/EXPORT/FILE needs no mount", code: exitUsage}
	}
	return place, err
}
