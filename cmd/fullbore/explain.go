package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/report"
)

// explainFlag is --explain, --explain=CAUSE, or --explain CAUSE: then the cause
// stands where a far end otherwise does.
type explainFlag struct {
	asked bool
	cause string
}

// IsBool lets kong accept the flag without a value.
func (explainFlag) IsBool() bool { return true }

// Decode is called by kong.
func (e *explainFlag) Decode(ctx *kong.DecodeContext) error {
	e.asked = true
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		if e.cause = ctx.Scan.Pop().String(); e.cause == "" {
			return errors.New("name a cause behind the =")
		}
	}
	return nil
}

// explanationDocument is the JSON contract of --explain (docs/json.md).
type explanationDocument struct {
	Schema string `json:"schema"` // "fullbore/explain/1"
	*diagnose.Explanation
	Causes any `json:"causes,omitempty"` // of the list, []diagnose.Cause; of all, []*diagnose.Explanation
}

// explain prints the physics of one cause, or of all; without one, or with one
// that there is not, the list of them.
func (c *diagnoseCmd) explain(app *app) error {
	cause := c.Explain.cause
	switch {
	case cause == "":
		cause = c.Host
	case c.Host != "":
		return usageError("--explain=%s explains a cause: name no far end beside it", printable.Line(cause))
	}
	switch {
	case cause == "":
		return c.listCauses(app)
	case cause == "all":
		return c.explainAll(app)
	case !diagnose.Known(cause):
		report.Causes(app.stderr)
		meant := ""
		if like := diagnose.Like(cause); len(like) > 0 {
			meant = ": did you mean " + strings.Join(like, " or ") + "?"
		}
		return &hinted{err: fmt.Errorf("there is no cause %q%s", cause, meant), hint: "--explain takes one of the causes above, or all", code: exitUsage}
	}
	e, err := diagnose.Explain(cause)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(app.stdout, explanationDocument{Schema: explanationSchema, Explanation: e})
	}
	report.Explanation(app.stdout, e, style(app))
	return nil
}

const explanationSchema = "fullbore/explain/1"

func (c *diagnoseCmd) listCauses(app *app) error {
	if c.JSON {
		return printJSON(app.stdout, explanationDocument{Schema: explanationSchema, Causes: diagnose.Causes})
	}
	report.Causes(app.stdout)
	return nil
}

func (c *diagnoseCmd) explainAll(app *app) error {
	var all []*diagnose.Explanation
	for i, known := range diagnose.Causes {
		e, err := diagnose.Explain(known.ID)
		if err != nil {
			return err
		}
		if all = append(all, e); c.JSON {
			continue
		}
		if i > 0 {
			_, _ = fmt.Fprint(app.stdout, "\n\n")
		}
		report.Explanation(app.stdout, e, style(app))
	}
	if c.JSON {
		return printJSON(app.stdout, explanationDocument{Schema: explanationSchema, Causes: all})
	}
	return nil
}

// style is what stdout understands: nothing stands out in a file or a pipe, or
// where the user wants it so (https://no-color.org).
func style(app *app) report.Style {
	return report.Style{Terminal: isTerminal(app.stdout.Writer) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}
