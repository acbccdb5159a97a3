package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/limit"
	"github.com/fullbore/fullbore/nfs/mounted"
	"github.com/fullbore/fullbore/report"
)

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
	case load.ReadAhead != nil:
		return nil, usageError("--readahead: a mount reads ahead by itself (read_ahead_kb of its device)")
	}
	place, err := mounted.Find(c.Target)
	if errors.Is(err, mounted.ErrNone) {
		return nil, &hinted{err: err, hint: "fullbore nfs diagnose nfs://SERVER/EXPORT/FILE needs no mount", code: exitUsage}
	}
	return place, err
}

// diagnose says what holds back programs that read a file through its mount.
func (c *nfsDiagnoseCmd) mount(app *app, load nfs.Load) error {
	place, err := c.place(load)
	if err != nil {
		return err
	}
	watch := report.NewMonitor(app.stderr, c.JSON && !isTerminal(app.stderr))
	e, err := mounted.Measure(app.ctx, place, mounted.Load{Size: load.Size, Random: load.Random}, load.Depth, watch)
	watch.End()
	if err != nil {
		return interruptedNFS(app, err, "not all was measured")
	}
	found := limit.Diagnose(e)
	if len(found) == 0 {
		return errors.New("what was measured fits no limit: is something else going on at the server?")
	}
	if c.JSON {
		return printJSON(app.stdout, nfsDiagnosis{"fullbore/nfs-diagnose/1", c.Target, found[0], found, e})
	}
	_, _ = fmt.Fprintln(app.stdout)
	report.NFSMounted(app.stdout, place)
	report.NFSLimits(app.stdout, e, found)
	return nil
}
