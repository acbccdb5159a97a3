package html

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// looks is what a browser makes of a page.
type looks struct {
	Overflow int      // units by which the page is wider than the window
	Ground   string   // colour behind the page
	Ink      string   // colour of a figure's text
	Collide  []string // texts of one figure that lie on each other, or outside of it
	Figures  int
	Font     string // height of a figure's text
}

// look measures it, with every table open.
const look = `(() => {
	document.querySelectorAll('details').forEach(d => d.open = true);
	const collide = [];
	const figures = document.querySelectorAll('svg');
	for (const figure of figures) {
		const frame = figure.getBoundingClientRect();
		const texts = [...figure.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
		texts.forEach(([a, r], i) => {
			if (r.left < frame.left - 1 || r.right > frame.right + 1 || r.bottom > frame.bottom + 3) collide.push(a + ' is outside');
			for (const [b, s] of texts.slice(0, i)) {
				// A line's box is higher than its letters.
				if (r.left < s.right - .5 && s.left < r.right - .5 && r.top + r.height * .2 < s.bottom - s.height * .2 && s.top + s.height * .2 < r.bottom - r.height * .2) collide.push(a + ' on ' + b);
			}
		});
	}
	const text = getComputedStyle(document.querySelector('svg text'));
	return {Overflow: document.documentElement.scrollWidth - window.innerWidth, Ground: getComputedStyle(document.body).backgroundColor,
		Ink: text.fill, Collide: collide, Figures: figures.length, Font: text.fontSize};
})()`

// In a real browser, with its own fonts: the policy lets the style through and nothing
// is loaded; no text of a figure lies on other text; neither a phone nor a wide screen
// has to scroll sideways; and a dark theme changes page and figures.
func TestInABrowser(t *testing.T) {
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("this test drives chromium, which is not installed")
	}
	hostile := tuned(t)
	infect(hostile, strings.Repeat("W", 4000))
	pages := map[string][]byte{"/hostile": written(t, hostile, hostile)}
	for name, runs := range realRuns(t) {
		pages["/"+name] = written(t, runs...)
	}
	var asked sync.Map
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.Path, true)
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(pages[r.URL.Path])
	}))
	defer site.Close()

	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	ctx, free := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox)...)
	defer free()
	browser, quit := chromedp.NewContext(ctx)
	defer quit()
	for name := range pages {
		for _, width := range []int64{390, 1280} {
			if err := chromedp.Do(browser, chromedp.EmulateViewport(width, 900), chromedp.Navigate(site.URL+name)); err != nil {
				t.Fatalf("open %s: %v", name, err)
			}
			light, err := chromedp.Run(browser, chromedp.Evaluate[looks](look))
			if err != nil {
				t.Fatal(err)
			}
			dark, err := chromedp.Run(browser, chromedp.Evaluate[looks](`document.documentElement.style.colorScheme = 'dark', `+look))
			if err != nil {
				t.Fatal(err)
			}
			if light.Overflow > 0 || len(light.Collide) > 0 || light.Figures == 0 || light.Font != "12px" {
				t.Errorf("%s, %d wide: %+v", name, width, light)
			}
			if light.Ground == dark.Ground || light.Ink == dark.Ink {
				t.Errorf("%s: the dark theme has the colours of the light one, %s on %s", name, dark.Ink, dark.Ground)
			}
		}
	}
	asked.Range(func(path, _ any) bool {
		if pages[path.(string)] == nil && path != "/favicon.ico" { // browsers look for that by themselves
			t.Errorf("a page loads %s", path)
		}
		return true
	})
}
