package main

import (
	"fmt"

	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/record"
)

// fleetShiftsCmd lists what a hub that ran an experiment again and again found to have moved.
type fleetShiftsCmd struct {
	Experiment string `arg:"" help:"Its name in the schedule."`
	Most       int    `short:"n" default:"25" placeholder:"N" help:"At most this many, the latest first (${default})."`
	JSON       bool   `short:"J" name:"json" help:"Write one JSON document."`
}

// shiftsDocument is what fleet shifts --json prints.
type shiftsDocument struct {
	Schema string        `json:"schema"` // "fullbore/shifts/1"
	Shifts []datedShifts `json:"shifts"`
}

// datedShifts is a shift with what became different on its hosts meanwhile.
type datedShifts struct {
	record.Shift
	Changes []record.Dated `json:"changes"`
}

func (c *fleetShiftsCmd) Run(app *app) error {
	if c.Most < 1 {
		return usageError("-n %d: use 1 or more", c.Most)
	}
	store, err := openRecord(app.ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	shifts, err := store.Shifts(app.ctx, c.Experiment, c.Most)
	if err != nil {
		return err
	}
	document := shiftsDocument{Schema: "fullbore/shifts/1", Shifts: []datedShifts{}}
	for i := range shifts {
		changes, err := store.ChangesOf(app.ctx, &shifts[i])
		if err != nil {
			return err
		}
		document.Shifts = append(document.Shifts, datedShifts{shifts[i], changes})
	}
	if c.JSON {
		return printJSON(app.stdout, document)
	}
	if len(shifts) == 0 {
		_, runs, err := store.LastOf(app.ctx, record.Fleet, c.Experiment)
		if err != nil {
			return err
		}
		if !runs {
			return &hinted{err: fmt.Errorf("no experiment %q was run here", c.Experiment), hint: "it is known on the host of the hub that runs it, where FULLBORE_RECORD says: fullbore history --kind fleet lists its runs", code: exitFailed}
		}
		_, err = fmt.Fprintln(app.stdout, "Nothing moved to another level.")
		return err
	}
	for _, s := range document.Shifts {
		_, _ = fmt.Fprintf(app.stdout, "%s  %s\n", s.Found.Local().Format("2006-01-02 15:04"), printable.Line(s.String()))
		for _, d := range s.Changes {
			_, _ = fmt.Fprintf(app.stdout, "                  %s: %s is %s instead of %s\n", printable.Line(d.Host), printable.Line(d.Tunable), printable.Line(d.To), printable.Line(d.From))
		}
	}
	return nil
}
