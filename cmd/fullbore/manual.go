package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/fullbore/fullbore/manual"
)

// manualCmd writes the manual pages: packages have them, and who builds from a clone makes them.
type manualCmd struct {
	Folder string `arg:"" help:"Where to write them, one file a page."`
}

func (c *manualCmd) Run(app *app) error {
	if err := os.MkdirAll(c.Folder, 0o755); err != nil {
		return fmt.Errorf("write manual pages: %w", err)
	}
	pages := manual.Pages(app.model, manual.Program{Date: built(), Exits: []manual.Exit{
		{Code: exitDone, Says: "It was done."},
		{Code: exitFailed, Says: "It failed."},
		{Code: exitUsage, Says: "The command line, or a file that it names, is wrong."},
		{Code: exitRefused, Says: "It was refused: not allowed there, or less than what the host had."},
		{Code: exitBelow, Says: "It was measured, and is below what was asked for."},
	}})
	for _, page := range pages {
		if err := os.WriteFile(filepath.Join(c.Folder, page.Name), []byte(page.Text), 0o644); err != nil {
			return fmt.Errorf("write manual pages: %w", err)
		}
	}
	_, err := fmt.Fprintf(app.stdout, "%d manual pages in %s: man -l %s\n", len(pages), c.Folder, filepath.Join(c.Folder, pages[0].Name))
	return err
}

// built is when the program's source was committed, so that the same source makes the same pages; of what was built elsewhere than in a
// clone, now.
func built() time.Time {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if at, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
				return at
			}
		}
	}
	return time.Now()
}
