package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
	"github.com/fullbore/fullbore/web/live"
)

// browser is a real one, which reaches nothing but this host.
type browser struct {
	ctx   context.Context
	mu    sync.Mutex
	asked []string // addresses that were asked for
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("this test drives chromium, which is not installed")
	}
	ctx, stop := context.WithTimeout(t.Context(), 8*time.Minute)
	t.Cleanup(stop)
	ctx, free := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox,
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"))...)
	t.Cleanup(free)
	ctx, quit := chromedp.NewContext(ctx)
	t.Cleanup(quit)
	b := &browser{ctx: ctx}
	err := chromedp.Listen(ctx, func(event any) {
		if sent, ok := event.(*network.EventRequestWillBeSent); ok {
			b.mu.Lock()
			b.asked = append(b.asked, sent.Request.URL)
			b.mu.Unlock()
		}
	})
	if err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	return b
}

func (b *browser) open(t *testing.T, address string, width int64) {
	t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate(address)); err != nil {
		t.Fatalf("open %s: %v", address, err)
	}
}

func (b *browser) resize(t *testing.T, width int64) {
	t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 900)); err != nil {
		t.Fatalf("resize to %d: %v", width, err)
	}
}

// foreign are the addresses asked for that are not of a site.
func (b *browser) foreign(site string) (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, address := range b.asked {
		if !strings.HasPrefix(address, site+"/") && !strings.HasPrefix(address, "data:") && !strings.HasPrefix(address, "about:") {
			all = append(all, address)
		}
	}
	return all
}

func evaluate[T any](t *testing.T, b *browser, script string, options ...chromedp.EvaluateOption) T {
	t.Helper()
	came, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, options...))
	if err != nil {
		t.Fatalf("run %.60q: %v", script, err)
	}
	return came
}

// eventually waits until a script gives true, over pages that lead to others.
func (b *browser) eventually(t *testing.T, what, script string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		is, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](script))
		if is {
			return
		}
		if time.Now().After(end) {
			said, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.querySelector('main').innerText.slice(0, 1500)`))
			t.Fatalf("%s does not come: %v; the page says\n%s", what, err, said)
		}
	}
}

// goesOn tells the page of a run that goes on: its steps, and so many points.
func goesOn(p *shownPage, id string, points int) {
	tell := p.Hub.Observer("")
	tell(id, record.Message{Begin: &record.Header{Schema: record.Schema, ID: id, Kind: record.Tune, State: record.Running, Started: began, From: "nas1", To: "nas2", Command: []string{"tune", "nas2"}, Tags: []string{}}})
	tell(id, record.Message{Event: &record.Event{At: time.Second, Kind: record.Phase, Text: "measure as it is now"}})
	progress(p, id, 0, points)
	tell(id, record.Message{Event: &record.Event{At: 20 * time.Second, Kind: record.Result, Text: "2.94 Mb/s; the limit is receiver-buffer (97 % sure)"}})
	tell(id, record.Message{Event: &record.Event{At: 21 * time.Second, Kind: record.Phase, Text: "try: larger receive buffers"}})
}

func progress(p *shownPage, id string, from, to int) {
	for i := from; i < to; i++ {
		at := time.Duration(i) * 250 * time.Millisecond
		now := record.Progress{At: at, Transfer: at, Count: 3}
		for s := range 3 {
			rate := unit.Rate(float64(200+40*s+7*(i*(s+3)%11)) * 1e6)
			now.Sends += rate
			now.Streams = append(now.Streams, record.StreamNow{ID: s, Sender: true, Rate: rate, RTT: time.Duration(20+i%9) * time.Millisecond, Retransmits: int64(i / 10)})
		}
		p.Hub.Observer("")(id, record.Message{Progress: &now})
	}
}

// found is what axe says of a page.
type found struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML           string
		FailureSummary string
	}
}

// checked is a script that lets axe look at the whole page with everything unfolded.
const checked = `(async () => {
	document.querySelectorAll('details').forEach(d => d.open = true);
	const came = await axe.run(document, {resultTypes: ['violations']});
	return came.violations.map(v => ({ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.slice(0, 4).map(n => ({HTML: n.html.slice(0, 300), FailureSummary: n.failureSummary}))}));
})()`

// pagesToSee are all kinds of pages, with what they need to be there.
func pagesToSee(p *shownPage) map[string]string {
	return map[string]string{
		"runs": "/", "filtered": "/?kind=test&since=yesterday", "older": "/?after=" + markText(record.Mark{Started: began, ID: numbered(1)}), "nothing found": "/?tag=nothing",
		"diagnosis": "/runs/" + numbered(1), "tuning": "/runs/" + numbered(3), "sweep": "/runs/" + numbered(4), "test": "/runs/" + numbered(1005), "comparison": "/compare?run=" + numbered(1) + "&run=" + numbered(2), "none to compare": "/compare",
		"paths": "/paths", "trend": "/paths/trend?from=nas1&to=nas2&kind=test", "no trend": "/paths/trend?from=nas1&to=nas2&kind=sweep", "hosts": "/hosts", "host": "/hosts/nas1", "flows": "/flows",
		"new test": "/new?verb=test", "new diagnosis": "/new?verb=diagnose&scenario=clean-lan", "new tune": "/new?verb=tune", "new sweep": "/new?verb=sweep", "enter": "/enter", "failed": "/nothing", "running": "/runs/" + numbered(90), "task": "/tasks/" + p.Tasks.List()[0].ID,
	}
}

// In a real browser axe finds nothing that would keep anyone from using a page, in the
// light theme on a wide screen and in the dark one on a phone's; none has to be
// scrolled sideways; the policy lets all of it work, and no page asks anyone but us.
func TestEveryoneCanUseIt(t *testing.T) {
	t.Parallel()
	const axe = "../bin/axe/axe.min.js"
	script, err := os.ReadFile(axe)
	if err != nil {
		t.Skipf("this test needs axe-core: .ci/install takes it from its npm package (%v)", err)
	}
	b := startBrowser(t)
	p := served(t, kept(t), aChange)
	v := p.entered(t)
	if answer, body := v.post("/new", map[string][]string{"verb": {"test"}, "where": {"lab"}, "scenario": {"clean-lan"}}); answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d %s", answer.StatusCode, body)
	}
	goesOn(p, numbered(90), 40)
	b.open(t, p.site.URL+"/enter", 1280)
	for _, in := range []bool{false, true} {
		if in {
			b.open(t, p.site.URL+"/enter?secret="+p.Access.Secret(), 1280)
			b.eventually(t, "the list of runs", `location.pathname === '/'`)
		}
		for name, address := range pagesToSee(p) {
			if !in && !slices.Contains([]string{"runs", "enter", "new tune", "failed"}, name) {
				continue // these look different to who may only read
			}
			b.open(t, p.site.URL+address, 1280)
			evaluate[chromedp.Void](t, b, string(script))
			for _, look := range []struct {
				theme string
				width int64
			}{{"light", 1280}, {"dark", 390}} {
				b.resize(t, look.width)
				evaluate[any](t, b, fmt.Sprintf("document.documentElement.style.colorScheme = %q", look.theme))
				for _, one := range evaluate[[]found](t, b, checked, chromedp.EvalAwaitPromise) {
					t.Errorf("%s, %s, %d wide: %s (%s): %s\n%+v", name, look.theme, look.width, one.ID, one.Impact, one.Help, one.Nodes)
				}
				if wider := evaluate[int](t, b, "document.documentElement.scrollWidth - window.innerWidth"); wider > 0 {
					t.Errorf("%s is %d wider than a window of %d", name, wider, look.width)
				}
			}
		}
	}
	if foreign := b.foreign(p.site.URL); len(foreign) > 0 {
		t.Errorf("pages ask for %q", foreign)
	}
}

// The watch that no request leaves notices one that does.
func TestTheBrowserNoticesForeignRequests(t *testing.T) {
	b := startBrowser(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><title>x</title><img src="http://elsewhere.example/pixel">`))
	}))
	defer site.Close()
	b.open(t, site.URL+"/", 800)
	b.eventually(t, "the picture's end", "document.images[0].complete")
	if foreign := b.foreign(site.URL); len(foreign) != 1 || foreign[0] != "http://elsewhere.example/pixel" {
		t.Errorf("foreign requests are %q", foreign)
	}
}

// axe notices a page that somebody could not use.
func TestAxeNotices(t *testing.T) {
	script, err := os.ReadFile("../bin/axe/axe.min.js")
	if err != nil {
		t.Skipf("this test needs axe-core: .ci/install takes it from its npm package (%v)", err)
	}
	b := startBrowser(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><html lang="en"><title>x</title><main><h1>x</h1><input name="x"><p style="color:#ccc;background:#fff">weak</p></main>`))
	}))
	defer site.Close()
	b.open(t, site.URL+"/", 800)
	evaluate[chromedp.Void](t, b, string(script))
	var ids []string
	for _, one := range evaluate[[]found](t, b, checked, chromedp.EvalAwaitPromise) {
		ids = append(ids, one.ID)
	}
	if !slices.Contains(ids, "label") || !slices.Contains(ids, "color-contrast") {
		t.Errorf("axe finds %q only", ids)
	}
}

// What goes on moves without anyone reloading: the figure, the steps, and the list of
// what is running; who cannot see is told each phase once.
func TestItMoves(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	p := served(t, kept(t))
	id := numbered(90)
	b.open(t, p.site.URL+"/", 1280)
	goesOn(p, id, 20)
	b.eventually(t, "the running run in the list", `!!document.querySelector('#running a[href="/runs/`+id+`"]')`)
	if said := evaluate[string](t, b, `document.getElementById('running-news').textContent`); said != "1 run is running." {
		t.Errorf("it is told: %q", said)
	}
	b.open(t, p.site.URL+"/runs/"+id, 1280)
	b.eventually(t, "the steps", `document.querySelectorAll('#steps li').length === 3 && document.getElementById('doing').textContent === 'try: larger receive buffers'`)
	b.eventually(t, "the figure", `document.querySelectorAll('#drawn svg[aria-label] path.line').length === 9`)
	before := evaluate[string](t, b, `[...document.querySelectorAll('#drawn path.line')].map(e => e.getAttribute('d')).join()`)
	progress(p, id, 20, 24)
	b.eventually(t, "the next points", fmt.Sprintf(`[...document.querySelectorAll('#drawn path.line')].map(e => e.getAttribute('d')).join() !== %q`, before))
	if rate := evaluate[string](t, b, `document.getElementById('now-rate').textContent`); !strings.HasSuffix(rate, " Mb/s") {
		t.Errorf("goodput is %q", rate)
	}
	if live := evaluate[int](t, b, `document.querySelectorAll('[aria-live], [role=status], [role=alert], [role=log]').length`); live != 2 {
		t.Errorf("%d places are read aloud as they change, want the phase, and that the connection was lost", live)
	}
	run := tuned(t, 90)
	store, err := record.Open(t.Context(), p.Place)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Import(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	p.Hub.Observer("")(id, record.Message{End: &record.Outcome{State: record.Done, Ended: began, Goodput: 1e9}})
	b.eventually(t, "the report at the end", `!!document.querySelector('article .result')`)
}

// Where as many pages are live as may be, the next one says that it stands still, and
// moves once there is room.
func TestNoRoomForAnotherLivePage(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	p := served(t, kept(t))
	others, leave := context.WithCancel(t.Context())
	defer leave()
	for i := range live.MostReaders {
		r, err := http.NewRequestWithContext(others, http.MethodGet, p.site.URL+"/events?runs", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := p.site.Client().Do(r)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("page %d: %v %v", i+1, answer, err)
		}
		defer answer.Body.Close()
	}
	b.open(t, p.site.URL+"/", 1280)
	b.eventually(t, "that nothing comes", `document.querySelector('#running .warning').checkVisibility()`)
	leave()
	goesOn(p, numbered(90), 3)
	b.eventually(t, "the running run in the list", `!!document.querySelector('#running a[href="/runs/`+numbered(90)+`"]')`)
	b.eventually(t, "a page that moves", `!document.querySelector('#running .warning').checkVisibility()`)
}

// With the keyboard alone one reaches everything, in the order of the page, and sees
// where one is; the first key leads past the navigation.
func TestKeyboard(t *testing.T) {
	b := startBrowser(t)
	p := served(t, kept(t))
	b.open(t, p.site.URL+"/enter?secret="+p.Access.Secret(), 1280)
	b.eventually(t, "the list of runs", `location.pathname === '/'`)
	b.open(t, p.site.URL+"/new?verb=tune", 1280)
	want := evaluate[int](t, b, `[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, summary, [tabindex="0"]')].filter(e => e.checkVisibility() && !(e.type === 'radio' && !e.checked)).length`)
	seen := map[string]bool{}
	for i := range want {
		if err := chromedp.Do(b.ctx, chromedp.KeyEvent(kb.Tab)); err != nil {
			t.Fatal(err)
		}
		at := evaluate[struct {
			Name, Outline string
			Left          float64
		}](t, b, `(() => { const e = document.activeElement, all = [...document.querySelectorAll('*')]; return {Name: e.tagName + all.indexOf(e) + ' ' + e.textContent.slice(0, 30), Outline: getComputedStyle(e).outlineStyle, Left: e.getBoundingClientRect().left}; })()`)
		if i == 0 && (!strings.Contains(at.Name, "Skip to the content") || at.Left < 0) {
			t.Errorf("the first key leads to %+v", at)
		}
		if at.Outline == "none" || seen[at.Name] || strings.HasPrefix(at.Name, "BODY") {
			t.Errorf("key %d leads to %+v: seen before %v", i+1, at, seen[at.Name])
		}
		seen[at.Name] = true
	}
	if len(seen) != want || want < 15 {
		t.Errorf("%d places of %d were reached", len(seen), want)
	}
}
