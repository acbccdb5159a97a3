package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fullbore/fullbore/record"
)

// ofAPage is how many runs, paths or hosts a page lists.
const ofAPage = 50

// kinds are the verbs that keep runs.
var kinds = record.Kinds

// runFilter is what somebody looks for, as the form has it.
type runFilter struct {
	Host, Kind, Tag, Since, Scenario string
	Wrong                            string // with it
}

// chosen reads the filter of a query.
func chosen(q url.Values) (f runFilter, by record.Filter) {
	get := func(name string) string { return strings.TrimSpace(line(q.Get(name))) }
	f = runFilter{Host: get("host"), Kind: get("kind"), Tag: get("tag"), Since: get("since"), Scenario: get("scenario")}
	by = record.Filter{Host: f.Host, Kind: record.Kind(f.Kind), Tag: f.Tag, Scenario: f.Scenario}
	var err error
	if by.Since, err = record.ParseTime(f.Since, time.Now()); err != nil {
		f.Wrong = "Since: " + err.Error()
	}
	if by.Kind != "" && !slices.Contains(kinds, by.Kind) {
		f.Wrong = fmt.Sprintf("%q is no verb that keeps runs", f.Kind)
		by.Kind = ""
	}
	return f, by
}

// query is the filter as an address has it.
func (f runFilter) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"host": f.Host, "kind": f.Kind, "tag": f.Tag, "since": f.Since, "scenario": f.Scenario} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// Any says whether anything is looked for.
func (f runFilter) Any() bool { return len(f.query()) > 0 }

// mark reads where a page of a list begins; the zero one: at its beginning.
func mark(text string) (m record.Mark, err error) {
	if text == "" {
		return m, nil
	}
	at, id, ok := strings.Cut(text, "-")
	stamp, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil || !isRun(id) {
		return m, errors.New("this address is not complete: begin with the first page")
	}
	return record.Mark{Started: time.Unix(0, stamp).UTC(), ID: id}, nil
}

func markText(m record.Mark) string { return fmt.Sprintf("%d-%s", m.Started.UnixNano(), m.ID) }

// runList is what the list of runs shows.
type runList struct {
	Filter  runFilter
	Kinds   []record.Kind
	Running []record.Header
	Runs    []record.Header
	Older   string // address of the next page; empty: this is the last one
	Newest  string // of the first page; empty: this is it
	Tasks   bool   // something can be started from here
}

func (p *Page) runs(w http.ResponseWriter, r *http.Request) {
	list := runList{Kinds: kinds, Tasks: p.Tasks != nil}
	var by record.Filter
	list.Filter, by = chosen(r.URL.Query())
	v := view{Title: "Runs", Live: true, Refresh: 0}
	status := http.StatusOK
	if list.Filter.Wrong != "" {
		status = http.StatusBadRequest
	}
	var err error
	if by.After, err = mark(r.URL.Query().Get("after")); err != nil {
		list.Filter.Wrong, status = err.Error(), http.StatusBadRequest
	}
	if by.After.ID != "" {
		list.Newest = "/?" + list.Filter.query().Encode()
	}
	if store, err := p.record(r.Context()); err != nil {
		v.Trouble = p.noRecord(err)
	} else if err := list.read(r.Context(), store, by); err != nil {
		v.Trouble = line(err.Error())
	}
	if by.After.ID == "" {
		list.Running = p.running(r.Context(), by)
		list.Runs = slices.DeleteFunc(list.Runs, func(h record.Header) bool {
			return slices.ContainsFunc(list.Running, func(running record.Header) bool { return running.ID == h.ID })
		})
	}
	if len(list.Running) > 0 {
		v.Refresh = 5
	}
	v.Data = list
	p.show(w, r, status, "runs", v)
}

// noRecord says why runs cannot be read.
func (p *Page) noRecord(err error) string {
	p.Log.Warn("runs cannot be read", "err", err)
	return "Runs cannot be read: " + line(err.Error())
}

// read fills a page of the list.
func (l *runList) read(ctx context.Context, store *record.Store, by record.Filter) (err error) {
	by.Most = ofAPage + 1
	if l.Runs, err = store.List(ctx, by); err != nil {
		return err
	}
	if len(l.Runs) > ofAPage {
		l.Runs = l.Runs[:ofAPage]
		q := l.Filter.query()
		q.Set("after", markText(record.MarkOf(&l.Runs[ofAPage-1])))
		l.Older = "/?" + q.Encode()
	}
	return nil
}

// Bounds of what is looked for as running: a sweep may take days.
const (
	mostRunning = 20
	runningFor  = 14 * 24 * time.Hour
)

// running are the runs that go on now, here or in another process of this record.
func (p *Page) running(ctx context.Context, by record.Filter) (all []record.Header) {
	fits := func(h record.Header) bool {
		return (by.Host == "" || h.From == by.Host || h.To == by.Host) && (by.Kind == "" || h.Kind == by.Kind) &&
			(by.Tag == "" || slices.Contains(h.Tags, by.Tag)) && (by.Scenario == "" || h.Scenario == by.Scenario) && !h.Started.Before(by.Since)
	}
	for _, row := range p.Hub.Running() {
		if fits(row.Header) {
			all = append(all, row.Header)
		}
	}
	store, err := p.record(ctx)
	if err != nil {
		return all
	}
	by.State, by.After, by.Most = record.Running, record.Mark{}, mostRunning
	if earliest := time.Now().Add(-runningFor); by.Since.Before(earliest) {
		by.Since = earliest
	}
	kept, err := store.List(ctx, by)
	if err != nil {
		return all
	}
	for _, h := range kept {
		known := slices.ContainsFunc(all, func(other record.Header) bool { return other.ID == h.ID })
		if h.State == record.Running && !known {
			all = append(all, h)
		}
	}
	return all
}
