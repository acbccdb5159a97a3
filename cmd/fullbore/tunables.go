package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/tunable"
)

type tunablesCmd struct {
	Names []string `arg:"" optional:"" name:"name" help:"Show all that is known of these: net.ipv4.tcp_rmem, link.mtu@eth0. Default: list all."`
	OS    string   `name:"os" placeholder:"SYSTEM[VERSION]" help:"Those of another system or version: solaris10, rhel8, windows2019, linux5.15 (default: this host's)."`
	JSON  bool     `help:"One JSON document on stdout."`
}

const tunablesSchema = "fullbore/tunables/1"

// tunablesDocument is the JSON contract of tunables (docs/json.md).
type tunablesDocument struct {
	Schema   string            `json:"schema"` // "fullbore/tunables/1"
	System   string            `json:"system"`
	Title    string            `json:"title"`
	Version  string            `json:"version"`
	Tunables []*report.Tunable `json:"tunables"`
}

func (c *tunablesCmd) Run(app *app) error {
	facts, err := host.Collect(app.ctx)
	if err != nil {
		return err
	}
	s, version, err := c.system(facts)
	if err != nil {
		return err
	}
	names := c.Names
	if len(names) == 0 {
		for _, t := range s.Tunables {
			names = append(names, t.Name)
		}
	}
	var all []*report.Tunable
	for _, name := range names {
		t, err := c.find(s, version, name)
		if err != nil {
			return err
		}
		if t.System.ID == facts.OS {
			t.On(facts.Tunables, facts.ReadOnly)
		}
		all = append(all, t)
	}
	switch {
	case c.JSON:
		return printJSON(app.stdout, tunablesDocument{Schema: tunablesSchema, System: s.ID, Title: s.Title, Version: version, Tunables: all})
	case len(c.Names) == 0:
		report.Tunables(app.stdout, s, version, all, style(app))
	default:
		for i, t := range all {
			if i > 0 {
				_, _ = fmt.Fprint(app.stdout, "\n\n")
			}
			report.TunablePage(app.stdout, t, style(app))
		}
	}
	return nil
}

// system is the one that is asked for, in the version that is: without --os this
// host's, and without a version that of this host if it is such a system, or else
// the newest.
func (c *tunablesCmd) system(facts *host.Facts) (*tunable.System, string, error) {
	s, version, err := tunable.Find(cmp.Or(c.OS, facts.OS))
	if err != nil && c.OS != "" {
		return nil, "", usageError("--os: %w", err)
	}
	if err != nil {
		return nil, "", &hinted{err: err, hint: "--os names one of " + strings.Join(tunable.Systems(), ", "), code: exitUsage}
	}
	if version == "" && s.ID == facts.OS {
		version = facts.Version
	}
	return s, cmp.Or(version, s.Newest()), nil
}

// find looks a name up in the system, and unless that was asked for, in the others.
func (c *tunablesCmd) find(s *tunable.System, version, name string) (*report.Tunable, error) {
	for _, spelling := range append([]string{name}, ending(s, name)...) {
		if t, ok := report.NewTunable(s, version, spelling); ok {
			return t, nil
		}
	}
	if base, instance := tunable.Split(name); instance != "" {
		if _, ok := tunable.Lookup(s.ID, base); ok {
			return nil, &hinted{
				err:  fmt.Errorf("%s does not belong to an interface, a mount or a route, so it takes no @%.80s", base, instance),
				hint: "fullbore tunables " + base, code: exitUsage,
			}
		}
	}
	having := tunable.Having(name)
	if len(having) == 0 {
		return nil, &hinted{
			err:  fmt.Errorf("%s has no tunable %.80q%s", s.Title, name, s.DidYouMean(name)),
			hint: "fullbore tunables --os " + s.ID + " lists all", code: exitUsage,
		}
	}
	other, err := tunable.Of(having[0])
	if err != nil {
		return nil, err
	}
	if c.OS == "" {
		if t, ok := report.NewTunable(other, other.Newest(), name); ok {
			return t, nil
		}
	}
	return nil, &hinted{
		err:  fmt.Errorf("%s has no tunable %.80q: it is one of %s", s.Title, name, strings.Join(having, ", ")),
		hint: "fullbore tunables --os " + having[0] + " " + name, code: exitUsage,
	}
}

// ending gives the one name of the system that ends in what was given, as people
// say it ("tcp_rmem"); nothing where several do.
func ending(s *tunable.System, name string) []string {
	base, instance := tunable.Split(name)
	var found []string
	for i := range s.Tunables {
		if full := s.Tunables[i].Name; strings.HasSuffix(full, "."+base) || strings.HasSuffix(full, ":"+base) {
			found = append(found, tunable.Join(full, instance))
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found
}
