package web

import (
	"maps"
	"math"
	"net/http"
	"slices"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
)

var gap = math.NaN()

func (p *Page) hosts(w http.ResponseWriter, r *http.Request) {
	v := view{Title: "Hosts"}
	var data struct {
		Hosts []record.Seen
		More  bool
		Own   string
		Sets  []change.Set
		Wrong string
	}
	store, err := p.record(r.Context())
	if err == nil {
		data.Hosts, err = store.Hosts(r.Context(), mostPaths)
	}
	if err != nil {
		v.Trouble = p.noRecord(err)
	}
	data.More, data.Own = len(data.Hosts) == mostPaths, p.Host
	data.Sets, data.Wrong = p.pending()
	v.Data = data
	p.show(w, r, http.StatusOK, "hosts", v)
}

// pending are the change sets of this host that are not reverted.
func (p *Page) pending() (sets []change.Set, wrong string) {
	if p.Changes == nil {
		return nil, ""
	}
	all, err := p.Changes()
	if err != nil {
		return nil, line(err.Error())
	}
	return slices.DeleteFunc(all, func(s change.Set) bool { return !s.Kept() && s.Trouble == "" }), ""
}

// hostPage is one host: what it is like, and the runs that it took part in.
type hostPage struct {
	Name     string
	Facts    *record.Host
	By       record.Header // that asked it
	Memory   unit.Size
	Tunables [][2]string
	Runs     []record.Header
	Own      bool
	Sets     []change.Set
	Wrong    string
}

// mostTunables a host's page lists; a catalogue has fewer, a hostile host may not.
const mostTunables = 1000

func (p *Page) host(w http.ResponseWriter, r *http.Request) {
	page := hostPage{Name: r.PathValue("name")}
	page.Own = page.Name == p.Host && p.Host != ""
	v := view{Title: line(page.Name)}
	store, err := p.record(r.Context())
	if err == nil {
		page.Runs, err = store.List(r.Context(), record.Filter{Host: page.Name, Outside: true, Most: 20})
	}
	if err == nil {
		page.Facts, page.By, err = store.LastSeen(r.Context(), page.Name)
	}
	if err != nil {
		v.Trouble = p.noRecord(err)
	}
	if err == nil && len(page.Runs) == 0 && !page.Own {
		p.fail(w, r, http.StatusNotFound, "No run of that host is kept", "The page of hosts lists those that took part in runs. Hosts of the lab are new in each run, and not among them.")
		return
	}
	if page.Facts != nil {
		page.Memory = unit.Size(page.Facts.Is.Memory)
		for _, name := range slices.Sorted(maps.Keys(page.Facts.Is.Tunables)) {
			if len(page.Tunables) < mostTunables {
				page.Tunables = append(page.Tunables, [2]string{line(name), line(page.Facts.Is.Tunables[name])})
			}
		}
	}
	if page.Own {
		page.Sets, page.Wrong = p.pending()
	}
	v.Data = page
	p.show(w, r, http.StatusOK, "host", v)
}
