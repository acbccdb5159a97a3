package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fullbore/fullbore/figure"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
	"github.com/fullbore/fullbore/web/live"
	"github.com/fullbore/fullbore/web/task"
)

// liveRun is what moves, and what of it is shown where no script moves it.
type liveRun struct {
	Events  string // address of what is told of it; empty: nothing more will be
	Running bool
	Run     *live.Run
	Task    *task.Task
	Doing   string
	Now     *record.Progress
	RTT     string
	Figure  *figure.Figure
	Stops   bool
}

// task is the page of one that was started here: it waits, runs, or has ended.
func (p *Page) task(w http.ResponseWriter, r *http.Request) {
	t, ok := p.theTask(w, r)
	if !ok {
		return
	}
	data := liveRun{Events: "/events?task=" + url.QueryEscape(t.ID), Task: &t}
	if t.Run != "" {
		if run, ok := p.Hub.Run(t.Run); ok {
			data.of(&run)
		}
	}
	data.Running = !t.State.Ended()
	data.Stops = !t.State.Ended() && t.State != task.Stopping
	v := view{Title: "Task: " + string(t.Request.Verb), Data: data}
	if !t.State.Ended() {
		v.Live, v.Refresh = true, 3
	}
	p.show(w, r, http.StatusOK, "task", v)
}

// writtenWithin is how long the record may take to have a run that has ended.
const writtenWithin = 20 * time.Second

// runningPage is the page of a run that goes on, or has ended and is not kept, or not yet.
func (p *Page) runningPage(w http.ResponseWriter, r *http.Request, run *live.Run) {
	data := liveRun{Running: run.Header.State == record.Running}
	data.of(run)
	v := view{Title: string(run.Header.Kind) + " is running", Live: true, Refresh: 3}
	if data.Running {
		data.Events = "/events?run=" + url.QueryEscape(run.Header.ID)
	} else {
		v = view{Title: string(run.Header.Kind) + " has ended"}
		if time.Since(run.Header.Ended) < writtenWithin {
			v.Refresh = 2
		}
	}
	if p.Tasks != nil {
		if t, err := p.Tasks.OfRun(run.Header.ID); err == nil {
			data.Task, data.Stops = &t, !t.State.Ended() && t.State != task.Stopping
			if data.Running {
				data.Events += "&task=" + url.QueryEscape(t.ID)
			}
		}
	}
	v.Data = data
	p.show(w, r, http.StatusOK, "running", v)
}

// of fills in how a run is now.
func (d *liveRun) of(run *live.Run) {
	d.Run = run
	for _, e := range run.Steps {
		if e.Kind == record.Phase {
			d.Doing = line(e.Text)
		}
	}
	if len(run.Points) > 0 {
		d.Now = &run.Points[len(run.Points)-1]
		if rtt := longestRTT(d.Now); rtt > 0 {
			d.RTT = figure.RTT.Write(rtt)
		}
		drawn := drawLive(run.Points)
		d.Figure = &drawn
	}
}

// Rate is goodput now.
func (d liveRun) Rate() unit.Rate { return d.Now.Sends + d.Now.Receives }

// longestRTT of the streams, in seconds; 0: none is known.
func longestRTT(p *record.Progress) (longest float64) {
	for _, s := range p.Streams {
		longest = max(longest, s.RTT.Seconds())
	}
	return longest
}

// mostLines is how many streams the live figure tells apart; of more, the sum is all.
const mostLines = 5

// betweenPoints of a transfer is less time: some four come a second.
const betweenPoints = 1500 * time.Millisecond

func pointers[T any](all []T) (p []*T) {
	for i := range all {
		p = append(p, &all[i])
	}
	return p
}

// drawLive is the picture that the script moves on.
func drawLive(points []record.Progress) figure.Figure {
	sum, rtt := figure.Series{Name: "goodput", Look: figure.Stairs}, figure.Series{Name: "round trip"}
	var streams []figure.Series
	for i := range points {
		at := points[i].At.Seconds()
		if i > 0 && points[i].At-points[i-1].At > betweenPoints { // no transfer ran meanwhile
			for _, line := range append([]*figure.Series{&sum, &rtt}, pointers(streams)...) {
				line.Points = append(line.Points, figure.Point{X: at, Y: gap})
			}
		}
		sum.Points = append(sum.Points, figure.Point{X: at, Y: float64(points[i].Sends + points[i].Receives)})
		y := gap
		if longest := longestRTT(&points[i]); longest > 0 {
			y = longest
		}
		rtt.Points = append(rtt.Points, figure.Point{X: at, Y: y})
		for _, s := range points[i].Streams {
			name := "stream " + strconv.Itoa(s.ID+1)
			j := slices.IndexFunc(streams, func(one figure.Series) bool { return one.Name == name })
			if j < 0 {
				j = len(streams)
				streams = append(streams, figure.Series{Name: name, Look: figure.Stairs})
			}
			streams[j].Points = append(streams[j].Points, figure.Point{X: at, Y: float64(s.Rate)})
		}
	}
	goodput := figure.Panel{Y: figure.Axis{Name: "goodput", Of: figure.Rate}, Series: []figure.Series{sum}}
	if len(streams) > 1 && len(streams) <= mostLines {
		goodput.Series = append(goodput.Series, streams...)
	}
	c := figure.Chart{Title: "Goodput and round trip", X: figure.Axis{Name: "time", Of: figure.Seconds}, Panels: []figure.Panel{goodput}}
	if slices.ContainsFunc(rtt.Points, func(p figure.Point) bool { return p.Y > 0 }) {
		c.Panels = append(c.Panels, figure.Panel{Y: figure.Axis{Name: "round trip", Of: figure.RTT}, Series: []figure.Series{rtt}})
	}
	return c.Draw()
}

// theTask finds that of an address; it has answered if there is none.
func (p *Page) theTask(w http.ResponseWriter, r *http.Request) (t task.Task, ok bool) {
	err := task.ErrUnknown
	if p.Tasks != nil {
		t, err = p.Tasks.Get(r.PathValue("id"))
	}
	if err != nil {
		p.fail(w, r, http.StatusNotFound, "There is no such task (any more)", "Tasks are known while fullbore's page runs, and the latest of them only. What they measured is among the runs.")
		return t, false
	}
	return t, true
}

// stop ends a task as Ctrl-C would.
func (p *Page) stop(w http.ResponseWriter, r *http.Request) {
	t, ok := p.theTask(w, r)
	if !ok {
		return
	}
	if err := p.Tasks.Stop(t.ID); err != nil {
		p.fail(w, r, http.StatusConflict, "The task cannot be stopped", line(err.Error()))
		return
	}
	p.Log.Info("stopped", "task", t.ID, "from", r.RemoteAddr)
	http.Redirect(w, r, "/tasks/"+t.ID, http.StatusSeeOther)
}

// again starts the same once more; a sweep goes on where it was stopped. A far end's
// token is not kept, so that the form asks for it.
func (p *Page) again(w http.ResponseWriter, r *http.Request) {
	t, ok := p.theTask(w, r)
	if !ok {
		return
	}
	request := t.Request
	request.Afresh = false
	if request.Host != "" {
		http.Redirect(w, r, "/new?"+fields(&request).Encode(), http.StatusSeeOther)
		return
	}
	next, err := p.Tasks.Start(request)
	if _, invalid := errors.AsType[*task.Invalid](err); err != nil && invalid {
		p.showForm(w, r, statusOf(err), request, err)
		return
	}
	if err != nil {
		p.fail(w, r, statusOf(err), "It cannot be started now", line(err.Error()))
		return
	}
	http.Redirect(w, r, "/tasks/"+next.ID, http.StatusSeeOther)
}

// fields are those of the form for a request.
func fields(t *task.Request) url.Values {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	count := func(name string, n int) {
		if n != 0 {
			q.Set(name, strconv.Itoa(n))
		}
	}
	set("verb", string(t.Verb))
	set("host", t.Host)
	set("scenario", t.Scenario)
	set("experiment", t.Experiment)
	set("direction", string(t.Direction))
	set("apply", t.Apply)
	set("tags", strings.Join(t.Tags, ","))
	count("streams", t.Streams)
	count("seconds", t.Seconds)
	return q
}
