package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/sweep"
	"github.com/fullbore/fullbore/web/task"
)

// verbs are what can be started, with what each is for.
var verbs = []struct {
	Verb task.Verb
	Does string
}{
	{task.Test, "One transfer: how fast is this path now?"},
	{task.Diagnose, "Measures, and names what limits the path, with its evidence. Changes nothing."},
	{task.Tune, "Measures, explains, changes settings of both hosts one by one, measures again, and keeps only what helped. All of it can be undone."},
	{task.Sweep, "An experiment: varies settings by a plan, and says which are enough. All settings are put back."},
}

// startForm is what the form shows.
type startForm struct {
	Verbs       any
	Does        string
	Request     task.Request
	InLab       bool
	Wrong       string
	Field       string // that it is about
	Scenarios   []*lab.Scenario
	Experiments []experiment
	Busy        []task.Task // that run or wait
	Nothing     bool        // can be started here
}

// experiment is a sweep that is built in, with what it costs.
type experiment struct {
	Name, About, Scenario, Cost string
}

// experiments plans each that is built in for its scenario, once.
var experiments = sync.OnceValue(func() (all []experiment) {
	for _, spec := range sweep.Builtin() {
		e := experiment{Name: spec.Name, About: spec.About, Scenario: spec.Scenario}
		if scenario, err := lab.Load(spec.Scenario); err == nil {
			if cost, _, err := sweep.Planned(spec, sweep.NewPaths(scenario, sweep.LabHosts(), nil)); err == nil {
				e.Cost = cost.String()
			}
		}
		all = append(all, e)
	}
	return all
})

// asked reads a request from a form's fields; what is no number becomes an error.
func asked(q url.Values) (r task.Request, err error) {
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	number := func(name string) int {
		text := get(name)
		if text == "" {
			return 0
		}
		n, failed := strconv.Atoi(text)
		if failed != nil && err == nil {
			err = &task.Invalid{Field: name, Err: fmt.Errorf("%q is no whole number", line(text))}
		}
		return n
	}
	r = task.Request{
		Verb: task.Verb(get("verb")), Host: get("host"), Scenario: get("scenario"), Experiment: get("experiment"), Direction: bulk.Direction(get("direction")),
		Streams: number("streams"), Seconds: number("seconds"), Apply: get("apply"), Afresh: q.Has("afresh"), Quick: q.Has("quick"), Token: get("token"),
	}
	for tag := range strings.SplitSeq(get("tags"), ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			r.Tags = append(r.Tags, tag)
		}
	}
	switch get("where") { // the fields of the other choice may still be filled in
	case "lab":
		r.Host, r.Token = "", ""
	case "host":
		r.Scenario = ""
	}
	return r, err
}

// form shows what can be started. Its fields may come with the address.
func (p *Page) form(w http.ResponseWriter, r *http.Request) {
	request, _ := asked(r.URL.Query())
	request.Token = "" // never out of an address
	p.showForm(w, r, http.StatusOK, request, nil)
}

func (p *Page) showForm(w http.ResponseWriter, r *http.Request, status int, request task.Request, wrong error) {
	f := startForm{Verbs: verbs, Request: request, Scenarios: lab.OfTransfers(), Nothing: p.Tasks == nil}
	if i := slices.IndexFunc(verbs, func(v struct {
		Verb task.Verb
		Does string
	}) bool {
		return v.Verb == request.Verb
	}); i >= 0 {
		f.Does = verbs[i].Does
	} else {
		f.Request.Verb, f.Does = task.Test, verbs[0].Does
	}
	f.InLab = request.Scenario != "" || f.Request.Verb == task.Sweep && request.Host == ""
	if f.Request.Verb == task.Sweep {
		f.Experiments = experiments()
	}
	if invalid, ok := errors.AsType[*task.Invalid](wrong); ok {
		f.Wrong, f.Field = line(invalid.Error()), invalid.Field
	} else if wrong != nil {
		f.Wrong = line(wrong.Error())
	}
	if p.Tasks != nil {
		for _, t := range p.Tasks.List() {
			if !t.State.Ended() {
				f.Busy = append(f.Busy, t)
			}
		}
	}
	p.show(w, r, status, "new", view{Title: "New run", Data: f})
}

// start begins what a form asks for.
func (p *Page) start(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		p.fail(w, r, http.StatusBadRequest, "That form is too large, or none", "")
		return
	}
	request, err := asked(r.PostForm)
	if err == nil && p.Tasks == nil {
		err = errNothing
	}
	var t task.Task
	if err == nil {
		t, err = p.Tasks.Start(request)
	}
	if err != nil {
		request.Token = ""
		p.showForm(w, r, statusOf(err), request, err)
		return
	}
	p.Log.Info("started", "task", t.ID, "command", strings.Join(t.Command, " "), "from", r.RemoteAddr)
	http.Redirect(w, r, "/tasks/"+t.ID, http.StatusSeeOther)
}

var errNothing = errors.New("nothing can be started from this page")

// statusOf is what kind of error starting a task was.
func statusOf(err error) int {
	if _, ok := errors.AsType[*task.Invalid](err); ok {
		return http.StatusUnprocessableEntity
	}
	return http.StatusServiceUnavailable
}

// onward is the request that goes on with a sweep that was stopped, by its command
// line; nil: that of this run is not known well enough.
func onward(h *record.Header) *task.Request {
	if h.Kind != record.Sweep || h.State != record.Interrupted && h.State != record.Failed || len(h.Command) < 2 {
		return nil
	}
	r := &task.Request{Verb: task.Sweep}
	for i := 1; i < len(h.Command); i++ {
		arg := h.Command[i]
		switch name, value, given := strings.Cut(arg, "="); {
		case name == "--lab" && given:
			r.Scenario = value
		case arg == "--lab" && i+1 < len(h.Command):
			i++
			r.Scenario = h.Command[i]
		case (arg == "--tag" || arg == "--token") && i+1 < len(h.Command):
			i++
		case strings.HasPrefix(arg, "-"):
		case r.Experiment == "":
			r.Experiment = arg
		default:
			r.Host = arg
		}
	}
	if r.Check() != nil {
		return nil
	}
	return r
}
