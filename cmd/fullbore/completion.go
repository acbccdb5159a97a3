package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/fullbore/fullbore/complete"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/fleet/pattern"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/sweep"
	"github.com/fullbore/fullbore/tunable"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish,powershell" help:"bash, zsh, fish or powershell."`
}

func (c *completionCmd) Run(app *app) error {
	script, err := complete.Script(c.Shell)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(app.stdout, script)
	return err
}

// completeCmd is what a shell's script asks.
type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

func (c *completeCmd) Run(app *app) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	known := &knownValues{app: app}
	return complete.Words(app.model, words, known.of).Write(app.stdout)
}

// knownValues are those that are not in the command line's model.
type knownValues struct{ app *app }

// askedWithin bounds what is looked up while somebody waits for a word.
const askedWithin = 200 * time.Millisecond

func (k *knownValues) of(line complete.Line, called string) []complete.Candidate {
	verb := line.Verb
	switch strings.ToUpper(called) {
	case "SCENARIO":
		return k.scenarios(verb)
	case "CAUSE":
		return knownCauses()
	case "EXPERIMENT":
		return knownExperiments(verb)
	case "RUN", "OF":
		return k.runs()
	case "HOST":
		if slices.Contains(line.Flags, "explain") { // then it is no host
			return knownCauses()
		}
		return k.hosts()
	case "FROM", "TO":
		return k.hosts()
	case "ID":
		return k.changeSets()
	case "NAME":
		return knownNames(verb)
	case "SYSTEM", "SYSTEM[VERSION]":
		return words(tunable.Systems()...)
	}
	return nil
}

func words(all ...string) (list []complete.Candidate) {
	for _, word := range all {
		list = append(list, complete.Candidate{Word: word})
	}
	return list
}

// scenarios are those with two hosts, or, for a fleet, with many.
func (k *knownValues) scenarios(verb *kong.Node) (list []complete.Candidate) {
	all := lab.Builtin()
	switch {
	case strings.HasPrefix(verb.Path(), "fleet"):
		all = lab.Networks()
	case strings.HasPrefix(verb.Path(), "lab"):
		all = append(all, lab.Networks()...)
	}
	for _, s := range all {
		list = append(list, complete.Candidate{Word: s.Name, Says: s.About})
	}
	return list
}

func knownCauses() (list []complete.Candidate) {
	for _, c := range diagnose.Causes {
		list = append(list, complete.Candidate{Word: c.ID, Says: c.Means})
	}
	return list
}

func knownExperiments(verb *kong.Node) (list []complete.Candidate) {
	if !strings.HasSuffix(verb.Path(), "sweep") {
		return nil
	}
	for _, s := range sweep.Builtin() {
		list = append(list, complete.Candidate{Word: s.Name, Says: s.About})
	}
	return list
}

// knownNames are what a verb calls names.
func knownNames(verb *kong.Node) (list []complete.Candidate) {
	switch path := verb.Path(); {
	case path == "tunables":
		all, _ := tunable.Catalogue(host.System()) // of another system, all that is known of them is
		for i := range all {
			list = append(list, complete.Candidate{Word: all[i].Name, Says: all[i].About})
		}
	case path == "plan":
		return words(formatNames()...)
	case strings.HasPrefix(path, "fleet"):
		for _, p := range pattern.All {
			list = append(list, complete.Candidate{Word: p.Name})
		}
	}
	return list
}

// recent are the runs that were kept last; none where that takes too long, or none was kept yet: who only looks for a word makes no record.
func (k *knownValues) recent(most int) []record.Header {
	place, err := record.Place()
	if err != nil {
		return nil
	}
	if _, err := os.Stat(place); err != nil && !strings.Contains(place, "://") {
		return nil
	}
	done := make(chan []record.Header, 1)
	go func() { // a database may not answer at all
		store, err := openRecord(k.app.ctx)
		if err != nil {
			done <- nil
			return
		}
		defer store.Close()
		runs, _ := store.List(k.app.ctx, record.Filter{Most: most})
		done <- runs
	}()
	select {
	case runs := <-done:
		return runs
	case <-time.After(askedWithin):
		return nil
	}
}

func (k *knownValues) runs() []complete.Candidate {
	const most = 20
	list := []complete.Candidate{{Word: "last", Says: "the run that began last"}}
	for _, r := range k.recent(most) {
		list = append(list, complete.Candidate{Word: r.ID[max(0, len(r.ID)-8):], Says: fmt.Sprintf("%s %s, %s > %s", r.Started.Local().Format("2006-01-02 15:04"), r.Kind, r.From, r.To)})
	}
	return list
}

// hosts are those that runs were made to, by the words of their command lines.
func (k *knownValues) hosts() []complete.Candidate {
	const most = 200
	used := map[string]bool{}
	for _, r := range k.recent(most) {
		for called, word := range complete.Arguments(k.app.model, r.Command) {
			if called == "host" {
				used[word] = true
			}
		}
	}
	return words(slices.Sorted(maps.Keys(used))...)
}

func (k *knownValues) changeSets() (list []complete.Candidate) {
	manager, err := localChanges()
	if err != nil {
		return nil
	}
	sets, _ := manager.List(k.app.ctx)
	for i := range sets {
		list = append(list, complete.Candidate{Word: sets[i].ID, Says: string(sets[i].State)})
	}
	return list
}
