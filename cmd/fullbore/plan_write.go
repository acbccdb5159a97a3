package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
		return writeFiles(app, w.Output, files, w.Force)
	}
	for _, file := range files {
		if len(files) > 1 {
			_, _ = fmt.Fprintln(app.stdout, "# file:", file.Name)
		}
		_, _ = fmt.Fprint(app.stdout, file.Text)
	}
	return nil
}

// writeFiles writes files into a directory, all or none: each is complete under
// another name before the first gets its own.
func writeFiles(app *app, dir string, files []format.File, replace bool) (err error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return planUsage("--output %s: it is there already, and is no directory", dir)
	}
	for i, file := range files {
		if !filepath.IsLocal(file.Name) || slices.ContainsFunc(files[:i], func(f format.File) bool { return f.Name == file.Name }) {
			return fmt.Errorf("write %s: the format gives it twice, or outside of %s", file.Name, dir)
		}
		at := filepath.Join(dir, file.Name)
		switch info, err := os.Lstat(at); {
		case err == nil && (!replace || !info.Mode().IsRegular()):
			return &hinted{err: fmt.Errorf("%s is there already", at), hint: "give another directory to --output; or --force, which replaces files", code: exitRefused}
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("write plan: %w", err)
		}
	}
	var waiting, placed []string // files under their temporary names, and under their own
	defer func() {
		for _, name := range waiting {
			_ = os.Remove(name)
		}
		if err == nil || replace {
			return
		}
		for _, name := range placed {
			_ = os.Remove(name)
		}
	}()
	for _, file := range files {
		name, err := writeBeside(filepath.Join(dir, file.Name), file)
		if err != nil {
			return fmt.Errorf("write plan: %w", err)
		}
		waiting = append(waiting, name)
	}
	for i, file := range files {
		at := filepath.Join(dir, file.Name)
		if err := os.Rename(waiting[i], at); err != nil {
			return fmt.Errorf("write plan: %w", err)
		}
		placed = append(placed, at)
	}
	for _, name := range placed {
		_, _ = fmt.Fprintln(app.stdout, name)
	}
	return nil
}

// writeBeside writes a file completely, under another name in the directory where
// it is to be.
func writeBeside(at string, file format.File) (name string, err error) {
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(at), ".fullbore-*")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(file.Text)
	err = errors.Join(err, f.Chmod(fs.FileMode(file.Mode).Perm()), f.Sync(), f.Close())
	if err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}
