package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/near"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/plan/format"
)

// written is how a plan is written.
type written struct {
	Format  string `group:"How the plan is written" placeholder:"NAME" help:"text (the default), json (for 'fullbore apply'); or for the system and tool that carry it out: ${formats}."`
	JSON    bool   `group:"How the plan is written" help:"The same as --format json."`
	Undo    bool   `group:"How the plan is written" help:"Write what takes the changes back instead."`
	ForHost string `group:"How the plan is written" placeholder:"NAME" help:"Host whose part is written, of a plan for two (default: this host; with --facts, the first)."`
	Output  string `group:"How the plan is written" placeholder:"DIR" help:"Write the files of --format, and those that take the changes back, into this directory."`
	Force   bool   `group:"How the plan is written" help:"Let --output replace files that are there."`
}

// formatNames are all that --format takes besides text and json.
func formatNames() []string {
	var names []string
	for _, f := range format.All() {
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// format is the name of the chosen one.
func (w *written) format() string {
	switch {
	case w.JSON:
		return "json"
	case w.Format == "":
		return "text"
	}
	return w.Format
}

// document says whether the format is a whole document, not files for one host.
func (w *written) document() bool { return w.format() == "text" || w.format() == "json" }

func (w *written) check() error {
	switch {
	case w.JSON && w.Format != "" && w.Format != "json":
		return fmt.Errorf("both --json and --format %s were given: use one", w.Format)
	case w.document() && (w.Undo || w.Output != "" || w.ForHost != ""):
		return fmt.Errorf("--undo, --output and --for-host go with a format that writes files: --format %s", strings.Join(formatNames(), "|"))
	case w.Force && w.Output == "":
		return errors.New("--force goes with --output")
	case !w.document() && !slices.Contains(formatNames(), w.Format):
		return fmt.Errorf("--format %s%s: there are text, json, %s", w.Format, near.DidYouMean(w.Format, append(formatNames(), "text", "json")), strings.Join(formatNames(), ", "))
	}
	return nil
}

// write writes one host's part of the plan, to standard output or into files.
func (w *written) write(app *app, p *plan.Plan, h *host.Facts) error {
	f, err := format.Find(w.Format, h)
	if err != nil {
		return planUsage("%w", err)
	}
	var files []format.File
	if !w.Undo {
		if files, err = f.Write(p, h); err != nil {
			return err
		}
	}
	if w.Undo || w.Output != "" {
		undo, err := f.Undo(p, h)
		if err != nil {
			return err
		}
		files = append(files, undo...)
	}
	if w.Output != "" {
		names, err := format.WriteFiles(w.Output, files, w.Force)
		if errors.Is(err, fs.ErrExist) {
			return &hinted{err: err, hint: "give another directory to --output; or --force, which replaces files", code: exitRefused}
		}
		for _, name := range names {
			_, _ = fmt.Fprintln(app.stdout, name)
		}
		return err
	}
	for _, file := range files {
		if len(files) > 1 {
			_, _ = fmt.Fprintln(app.stdout, "# file:", file.Name)
		}
		_, _ = fmt.Fprint(app.stdout, file.Text)
	}
	return nil
}
