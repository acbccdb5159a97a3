package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	xhtml "golang.org/x/net/html"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/record"
)

// aChange is a change set of this host that still reverts by itself.
func aChange(c *Config, _ *AccessOptions) {
	c.Changes = func() ([]change.Set, error) {
		return []change.Set{
			{ID: "20261120-093214-f03da3", State: change.Live, Reason: "tune to nas2", Created: began, Deadline: began.Add(time.Hour), Values: []change.Value{{Tunable: "net.ipv4.tcp_rmem", Old: "4096 65536 87380", New: "4096 65536 67108864"}}},
			{ID: "20261119-093214-000001", State: change.Reverted, Reason: "gone"},
		}, nil
	}
}

var pictures = regexp.MustCompile(`(?s)<svg class="figure".*?</svg>`)

// What the pages say is in testdata, without the pictures: how those are drawn is
// figure's; and of a run without its report, which is report/html's.
func TestPages(t *testing.T) {
	place := kept(t)
	p := served(t, place, aChange)
	in := p.entered(t)
	for name, address := range map[string]string{
		"runs": "/?kind=tune", "run": "/runs/" + numbered(3), "stopped-sweep": "/runs/" + numbered(4), "paths": "/paths", "trend": "/paths/trend?from=nas1&to=nas2&kind=test&since=2026-10-01",
		"hosts": "/hosts", "host": "/hosts/nas1", "new-test": "/new?verb=test&host=nas2", "new-sweep": "/new?verb=sweep", "new-tune": "/new?verb=tune&scenario=clean-lan", "failed": "/nothing", "entered": "/enter?secret=again",
	} {
		_, body := in.get(address)
		body = strings.ReplaceAll(pictures.ReplaceAllString(body, "<svg>…</svg>"), place, "record.db")
		body = regexp.MustCompile(`(?s)<article>.*</article>`).ReplaceAllString(body, "<article>…</article>")
		body = regexp.MustCompile(`(?s)<pre tabindex="0" role="group" aria-label="([^"]*)">.*?</pre>`).ReplaceAllString(body, `<pre aria-label="$1">…</pre>`)
		body = regexp.MustCompile(`\d+ points, [^<]*?(, in the lab as)`).ReplaceAllString(body, "…$1") // by this machine's processors
		golden.Check(t, name+".html", body)
	}
	_, body := p.visit(t).get("/enter")
	golden.Check(t, "enter.html", strings.ReplaceAll(body, place, "record.db"))
}

// An empty record is how everyone begins: the page says what to do first.
func TestNothingIsKeptYet(t *testing.T) {
	p := served(t, filepath.Join(t.TempDir(), "new", "record.db"))
	for address, want := range map[string]string{"/": "fullbore tune --lab", "/paths": "No path was measured yet", "/hosts": "No host took part", "/compare": "Check two to eight", "/?tag=x": "No such run is kept"} {
		if status, body := p.visit(t).get(address); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s answers %d, want %q in it", address, status, want)
		}
	}
}

// A record that cannot be opened leaves a page that says why; it is tried again.
func TestRecordThatCannotBeOpened(t *testing.T) {
	for _, place := range []string{record.Nowhere, t.TempDir(), "nonsense://x"} {
		p := served(t, place)
		for _, address := range []string{"/", "/paths", "/hosts", "/paths/trend?from=a&to=b"} {
			if status, body := p.visit(t).get(address); status != http.StatusOK || !strings.Contains(body, "Runs cannot be read: ") {
				t.Errorf("%s of %s answers %d, without why", address, place, status)
			}
		}
		if status, _ := p.visit(t).get("/runs/" + numbered(1)); status != http.StatusServiceUnavailable {
			t.Errorf("a run of %s: %d", place, status)
		}
	}
}

// Whatever address somebody types, there is an answer that says what is wrong.
func TestWrongAddresses(t *testing.T) {
	p := served(t, kept(t))
	v := p.entered(t)
	for address, want := range map[string]int{
		"/runs/" + numbered(77): 404, "/runs/nothing": 404, "/runs/%27%20OR%201=1": 404, "/runs/..%2f..%2fetc": 404, "/runs/" + numbered(1) + "/other": 404, "/hosts/nobody": 404, "/hosts/%00": 404,
		"/paths/trend": 404, "/paths/trend?from=a": 404, "/paths/trend?from=a&to=b&kind=watch2": 404, "/paths/trend?from=a&to=b&since=yesterday": 400, "/?since=yesterday": 400, "/?kind=other": 400, "/?after=x": 400, "/?after=1-x": 400,
		"/tasks/none": 404, "/static/page.css": 404, "/static/..%2faccess.go": 404, "/compare?run=" + numbered(1) + "&run=nothing": 404, "/events": 400, "/api/runs?after=x": 422, "/api/runs?most=9999": 422, "/api/runs/none": 404, "/api/other": 404, "/metrics": 404,
		"/runs/" + numbered(1)[30:]: 302, // a run by its end, as on the command line
	} {
		if status, body := v.get(address); status != want || want >= 400 && strings.TrimSpace(body) == "" {
			t.Errorf("%s answers %d, want %d: %.200s", address, status, want, body)
		}
	}
	if answer, _ := v.do(http.MethodPut, "/new", "", "Origin", p.site.URL); answer.StatusCode != http.StatusMethodNotAllowed && answer.StatusCode != http.StatusNotFound {
		t.Errorf("PUT answers %d", answer.StatusCode)
	}
}

// hostile is what no page may act on.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>'` + "\u202e\x1b[31m{{.}}/..%2f&amp;"

// Names, errors and tags come from elsewhere: they are shown as what they are.
func TestHostileNames(t *testing.T) {
	run := daily(7)
	run.ID, run.From, run.To, run.Tags, run.Verdict, run.State, run.Error, run.Started = numbered(50), hostile, hostile+"2", []string{hostile}, hostile, record.Failed, hostile, began.Add(time.Hour)
	done := daily(8)
	done.ID, done.From, done.To, done.Tags, done.Started = numbered(51), hostile, hostile+"2", []string{hostile}, began.Add(2*time.Hour)
	done.Changes = []record.Change{{Host: hostile, Tunable: hostile, From: hostile, To: hostile, Who: hostile}}
	p := served(t, kept(t, run, done))
	v := p.entered(t)
	q := url.QueryEscape(hostile)
	for _, address := range []string{
		"/", "/?host=" + q, "/?tag=" + q, "/?since=" + q, "/?kind=" + q, "/runs/" + numbered(50), "/runs/" + numbered(51), "/paths", "/paths/trend?from=" + q + "&to=" + q + "2&kind=test", "/hosts", "/hosts/" + url.PathEscape(hostile),
		"/new?verb=" + q + "&host=" + q + "&tags=" + q + "&scenario=" + q, "/enter?secret=" + q, "/" + url.PathEscape(hostile), "/runs/" + url.PathEscape(hostile), "/tasks/" + url.PathEscape(hostile), "/compare?run=" + numbered(50) + "&run=" + numbered(51),
	} {
		_, body := v.get(address)
		audit(t, address, body)
	}
	_, body := v.post("/new", url.Values{"verb": {hostile}, "host": {hostile}, "streams": {hostile}, "experiment": {hostile}})
	audit(t, "the form", body)
}

// audit holds a page against what must be true of each: it is valid where browsers are
// lenient, nothing in it acts that is not ours, and people who cannot see it get along.
func audit(t testing.TB, address, body string) (links []string) {
	t.Helper()
	root, err := xhtml.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	ids, labels, described := map[string]bool{}, map[string]bool{}, []string{}
	var controls []*xhtml.Node
	counts := map[string]int{}
	attr := func(n *xhtml.Node, name string) (string, bool) {
		for _, a := range n.Attr {
			if a.Key == name {
				return a.Val, true
			}
		}
		return "", false
	}
	for n := range root.Descendants() {
		if n.Type == xhtml.TextNode {
			for _, r := range n.Data {
				if r != '\n' && (r < ' ' || r == 0x7f || r >= 0x202a && r <= 0x202e) {
					t.Errorf("%s: text %.80q has the character %U", address, n.Data, r)
					break
				}
			}
		}
		if n.Type != xhtml.ElementNode {
			continue
		}
		counts[n.Data]++
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" && a.Val != "/static/live.js":
				t.Errorf("%s: <%s %s=%.60q>", address, n.Data, a.Key, a.Val)
			case a.Key == "id":
				if ids[a.Val] {
					t.Errorf("%s: two elements are called %s", address, a.Val)
				}
				ids[a.Val] = true
			case a.Key == "aria-describedby":
				described = append(described, strings.Fields(a.Val)...)
			case (a.Key == "href" || a.Key == "action") && n.Data != "link":
				if !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#") || strings.HasPrefix(a.Val, "//") {
					t.Errorf("%s: <%s> leads to %.80q", address, n.Data, a.Val)
				}
				if n.Data == "a" {
					links = append(links, a.Val)
				}
			}
		}
		switch kind, _ := attr(n, "type"); {
		case n.Data == "label":
			of, _ := attr(n, "for")
			labels[of] = true
		case n.Data == "select" || n.Data == "input" && kind != "hidden":
			controls = append(controls, n)
		case n.Data == "img" || n.Data == "iframe" || n.Data == "object" || n.Data == "style":
			t.Errorf("%s: a <%s>", address, n.Data)
		case n.Data == "html":
			if lang, _ := attr(n, "lang"); lang != "en" {
				t.Errorf("%s: the language is %q", address, lang)
			}
		case n.Data == "title" && n.Parent.Data == "head" && strings.TrimSpace(n.FirstChild.Data) == "":
			t.Errorf("%s: no title", address)
		}
	}
	for _, n := range controls {
		id, _ := attr(n, "id")
		if name, _ := attr(n, "aria-label"); !labels[id] && name == "" {
			t.Errorf("%s: a field has no label: %v", address, n.Attr)
		}
	}
	for _, id := range described {
		if !ids[id] {
			t.Errorf("%s: nothing is called %s, which describes a field", address, id)
		}
	}
	if counts["h1"] != 1 || counts["main"] != 1 || counts["script"] > 1 {
		t.Errorf("%s: %d main headings, %d main parts, %d scripts", address, counts["h1"], counts["main"], counts["script"])
	}
	return links
}

// Every link of every page leads to a page, and all of them are valid.
func TestEveryLink(t *testing.T) {
	t.Parallel()
	p := served(t, kept(t), aChange)
	for _, v := range []*visitor{p.visit(t), p.entered(t)} {
		seen := map[string]bool{}
		queue := []string{"/", "/new?verb=sweep"}
		for len(queue) > 0 && len(seen) < 400 {
			address := queue[0]
			queue = queue[1:]
			address, _, _ = strings.Cut(address, "#")
			if seen[address] || address == "" {
				continue
			}
			seen[address] = true
			answer, body := v.do(http.MethodGet, address, "")
			if answer.StatusCode != http.StatusOK {
				t.Errorf("%s answers %d", address, answer.StatusCode)
			}
			if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") && answer.Header.Get("Content-Disposition") == "" {
				queue = append(queue, audit(t, address, body)...)
			}
		}
		if len(seen) < 80 {
			t.Errorf("only %d pages were found", len(seen))
		}
		for _, want := range []string{"/paths", "/hosts/nas1", "/runs/" + numbered(4), "/runs/" + numbered(1030) + "/run.json", "/flows", "/new?verb=tune", "/api/openapi.json"} {
			if !seen[want] {
				t.Errorf("no link leads to %s", want)
			}
		}
	}
}

// Pages of a list are bounded, and together they have every run once.
func TestOlderRuns(t *testing.T) {
	p := served(t, kept(t))
	v := p.visit(t)
	var runs []string
	address := "/"
	for pages := 0; address != "" && pages < 5; pages++ {
		status, body := v.get(address)
		if status != http.StatusOK {
			t.Fatalf("%s answers %d", address, status)
		}
		found := regexp.MustCompile(`name="run" value="([^"]+)"`).FindAllStringSubmatch(body, -1)
		if len(found) > ofAPage {
			t.Errorf("%d runs on a page", len(found))
		}
		for _, one := range found {
			runs = append(runs, one[1])
		}
		address = ""
		if older := regexp.MustCompile(`href="([^"]*)" rel="next"`).FindStringSubmatch(body); older != nil {
			address = strings.ReplaceAll(older[1], "&amp;", "&")
		}
	}
	if sorted := slices.Compact(slices.Sorted(slices.Values(runs))); len(runs) != 65 || len(sorted) != 65 {
		t.Errorf("%d runs, %d of them different, want 65", len(runs), len(sorted))
	}
}

// What is taken home is what the command line writes: the report, with names or
// without, and the whole run, which can be imported elsewhere.
func TestTakenHome(t *testing.T) {
	p := served(t, kept(t))
	v := p.visit(t)
	id := "/runs/" + numbered(3)
	for address, want := range map[string]string{id + "/report.html": "nas2", id + "/report.md": "nas2", id + "/run.json": `"nas2"`} {
		answer, body := v.do(http.MethodGet, address, "")
		if answer.StatusCode != http.StatusOK || !strings.Contains(body, want) || !strings.HasPrefix(answer.Header.Get("Content-Disposition"), "attachment;") {
			t.Errorf("%s answers %d, %v", address, answer.StatusCode, answer.Header)
		}
	}
	if _, body := v.get(id + "/report.html?redact=1"); strings.Contains(body, "nas2") || !strings.Contains(body, "host-") {
		t.Error("the report without names has names")
	}
	_, body := v.get(id + "/run.json")
	var runs []*record.Run
	if err := record.ReadRuns(strings.NewReader(body), func(r *record.Run) error { runs = append(runs, r); return nil }); err != nil || len(runs) != 1 {
		t.Fatalf("%d runs in the file: %v", len(runs), err)
	}
	if d := cmp.Diff(tuned(t, 3).Header, runs[0].Header); d != "" {
		t.Errorf("the run is another one (-want +got):\n%s", d)
	}
}

// Programs read the same as people.
func TestAPI(t *testing.T) {
	p := served(t, kept(t))
	v := p.visit(t)
	ask := func(address string, into any) {
		t.Helper()
		status, body := v.get(address)
		if err := json.Unmarshal([]byte(body), into); status != http.StatusOK || err != nil {
			t.Fatalf("%s answers %d: %.200s, %v", address, status, body, err)
		}
	}
	var all []string
	after := ""
	for range 10 {
		var page struct {
			Runs []record.Header
			Next string
		}
		ask("/api/runs?most=20&after="+after, &page)
		for _, h := range page.Runs {
			all = append(all, h.ID)
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(all)))) != 65 || len(all) != 65 {
		t.Errorf("%d runs", len(all))
	}
	var h record.Header
	if ask("/api/runs/"+numbered(3), &h); h.From != "nas1" || h.Kind != record.Tune {
		t.Errorf("a run is %+v", h)
	}
	var trend record.Trend
	if ask("/api/trend?from=nas1&to=nas2", &trend); len(trend.Levels) != 2 || len(trend.Changes) != 1 {
		t.Errorf("the trend has %d levels, %d changes", len(trend.Levels), len(trend.Changes))
	}
	var hosts []record.Seen
	if ask("/api/hosts", &hosts); len(hosts) != 2 {
		t.Errorf("hosts are %v", hosts)
	}
	var paths []record.Path
	if ask("/api/paths", &paths); len(paths) != 4 {
		t.Errorf("%d paths: %v", len(paths), paths)
	}
	document, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	_, servedDocument := v.get("/api/openapi.json")
	var want, got any
	if json.Unmarshal(document, &want) != nil || json.Unmarshal([]byte(servedDocument), &got) != nil || cmp.Diff(want, got) != "" {
		t.Error("the OpenAPI document that is printed is not the one that is served")
	}
	golden.Check(t, "openapi.json", append(document, '\n'))
}
