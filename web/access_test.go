package web

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// changing are the requests that change something.
var changing = []string{"/new", "/tasks/x/stop", "/tasks/x/again", "/api/tasks", "/api/tasks/x/stop"}

// Where a page listens on this host's loopback everyone may read; who has not the
// secret can start, stop and change nothing, and is told how to get it.
func TestReadOnlyWithoutTheSecret(t *testing.T) {
	p := served(t, kept(t))
	v := p.visit(t)
	for _, address := range []string{"/", "/runs/" + numbered(1), "/paths", "/hosts", "/new", "/api/runs", "/static/live.js"} {
		if status, _ := v.get(address); status != http.StatusOK {
			t.Errorf("%s answers %d, want that everyone may read", address, status)
		}
	}
	for _, address := range changing {
		answer, body := v.post(address, url.Values{"verb": {"test"}, "scenario": {"clean-lan"}})
		if answer.StatusCode != http.StatusForbidden || !strings.Contains(body, "secret") {
			t.Errorf("%s answers %d %.300s, want 403 with what to do", address, answer.StatusCode, body)
		}
	}
	if n := len(p.Tasks.List()); n > 0 {
		t.Errorf("%d tasks were started", n)
	}
}

// Elsewhere nobody sees anything without the secret: neither a run nor a host's name.
func TestNothingIsShownElsewhereWithoutTheSecret(t *testing.T) {
	p := served(t, kept(t), func(_ *Config, o *AccessOptions) { o.Open = false })
	v := p.visit(t)
	for _, address := range []string{"/", "/runs/" + numbered(3), "/runs/" + numbered(3) + "/run.json", "/compare", "/paths", "/hosts/nas2", "/flows", "/new", "/api/runs", "/api/openapi.json", "/events?runs", "/metrics", "/nothing"} {
		status, body := v.get(address)
		if status != http.StatusForbidden || strings.Contains(body, "nas") || strings.Contains(body, "record.db") {
			t.Errorf("%s answers %d: %.500s", address, status, body)
		}
	}
	if status, body := p.entered(t).get("/hosts/nas2"); status != http.StatusOK || !strings.Contains(body, "nas2") {
		t.Errorf("with the secret: %d", status)
	}
}

// The secret lets one browser in, once. Then there is another one, which is told where
// the page was started.
func TestTheSecretWorksOnce(t *testing.T) {
	var told []string
	p := served(t, kept(t), func(_ *Config, o *AccessOptions) { o.Renewed = func(secret string) { told = append(told, secret) } })
	first := p.Access.Secret()
	address := "/enter?secret=" + first
	v := p.visit(t)
	for name, headers := range map[string][]string{"a browser that only looks ahead": {"Sec-Purpose", "prefetch"}} {
		if status, body := v.get(address, headers...); status == http.StatusOK || strings.Contains(body, "You are in") {
			t.Errorf("%s used the secret up", name)
		}
	}
	if answer, _ := v.do(http.MethodHead, address, ""); answer.StatusCode == http.StatusOK || len(answer.Cookies()) > 0 {
		t.Error("a HEAD used the secret up")
	}
	answer, _ := v.do(http.MethodGet, address, "")
	cookies := answer.Cookies()
	if answer.StatusCode != http.StatusOK || len(cookies) != 1 {
		t.Fatalf("the secret does not let in: %d", answer.StatusCode)
	}
	c := cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.MaxAge != int(sessionFor.Seconds()) || len(c.Value) < 43 {
		t.Errorf("the cookie is %v", c)
	}
	if len(told) != 1 || told[0] == first || told[0] != p.Access.Secret() {
		t.Errorf("the next secrets told are %q after %q", told, first)
	}
	for name, secret := range map[string]string{"the same once more": first, "none of ours": strings.Repeat("A", 43), "an endless one": strings.Repeat("A", 1<<12)} {
		other := p.visit(t)
		if status, body := other.get("/enter?secret=" + secret); status != http.StatusForbidden || strings.Contains(body, "You are in") {
			t.Errorf("%s lets in: %d", name, status)
		}
	}
	if status, body := v.get(address); status != http.StatusOK || !strings.Contains(body, "You are in") {
		t.Errorf("going back to the address: %d", status)
	}
	if status, body := v.get("/"); status != http.StatusOK || !strings.Contains(body, "You may start and stop runs") {
		t.Errorf("with the cookie: %d", status)
	}
}

// A session ends after a working day; a cookie that somebody makes up is none; and there
// are so many sessions at most, the oldest of which goes first.
func TestSessions(t *testing.T) {
	a := NewAccess(AccessOptions{})
	now := time.Now()
	a.now = func() time.Time { return now }
	with := func(cookie string) level {
		r, _ := http.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
		r.AddCookie(&http.Cookie{Name: "fullbore", Value: cookie})
		l, _ := a.of(r)
		return l
	}
	cookie := a.trade(a.Secret())
	if with(cookie) != starts || with(cookie+"A") != nothing || with("") != nothing {
		t.Error("want that only the cookie is one")
	}
	now = now.Add(sessionFor - time.Second)
	if with(cookie) != starts {
		t.Error("the session ended too early")
	}
	now = now.Add(2 * time.Second)
	if with(cookie) != nothing {
		t.Error("the session does not end")
	}
	var all []string
	for range mostSessions + 1 {
		all = append(all, a.trade(a.Secret()))
		now = now.Add(time.Second)
	}
	if len(a.sessions) != mostSessions || with(all[0]) != nothing || with(all[1]) != starts || with(all[mostSessions]) != starts {
		t.Errorf("%d sessions, the first may %d", len(a.sessions), with(all[0]))
	}
}

// Every request that changes something comes from a page of ours: not from another
// site that the same browser has open, nor from something that does not say.
func TestOtherSitesChangeNothing(t *testing.T) {
	p := served(t, kept(t))
	v := p.entered(t)
	own := p.site.URL
	form := url.Values{"verb": {"test"}, "where": {"lab"}, "scenario": {"clean-lan"}}.Encode()
	for name, headers := range map[string][]string{
		"no origin":                {},
		"another origin":           {"Origin", "http://evil.example"},
		"the same on another port": {"Origin", own[:len(own)-1]},
		"an origin that is hidden": {"Origin", "null"},
		"https instead of http":    {"Origin", strings.Replace(own, "http:", "https:", 1)},
		"another site":             {"Origin", own, "Sec-Fetch-Site", "cross-site"},
		"a site of this host":      {"Origin", own, "Sec-Fetch-Site", "same-site"},
	} {
		for _, address := range append(slices.Clone(changing), "/enter") {
			answer, _ := v.do(http.MethodPost, address, form, append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)...)
			if answer.StatusCode != http.StatusForbidden {
				t.Errorf("%s: %s answers %d, want 403", name, address, answer.StatusCode)
			}
		}
	}
	if n := len(p.Tasks.List()); n > 0 {
		t.Fatalf("%d tasks were started", n)
	}
	if answer, body := v.post("/new", url.Values{"verb": {"test"}, "where": {"lab"}, "scenario": {"clean-lan"}}); answer.StatusCode != http.StatusSeeOther || len(p.Tasks.List()) != 1 {
		t.Errorf("our own form answers %d: %.300s", answer.StatusCode, body)
	}
}

// A name that is not this host's is somebody's trick to make a browser send them what
// is here: the page answers to its addresses and names only.
func TestOnlyByItsOwnNames(t *testing.T) {
	p := served(t, kept(t), func(_ *Config, o *AccessOptions) { o.Names = []string{"nas1", "nas1.example.net"} })
	v := p.visit(t)
	for name, want := range map[string]int{
		"localhost": 200, "localhost:9": 200, "LOCALHOST": 200, "127.0.0.1": 200, "127.0.0.1:80": 200, "127.8.8.8": 200, "[::1]:80": 200, "nas1": 200, "NAS1.example.net:5280": 200,
		"evil.example": 421, "evil.example:5280": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421, "192.0.2.1": 421, "nas1.evil.example": 421, "": 421,
	} {
		if name == "" {
			continue // a client does not let us
		}
		status, body := v.get("/", "Host", name)
		if status != want || want != 200 && strings.Contains(body, "nas2") {
			t.Errorf("as %q it answers %d, want %d", name, status, want)
		}
	}
}

// The token of serve lets in as well, by a form or as a program's header; guesses have
// a pace.
func TestTheTokenLetsIn(t *testing.T) {
	p := served(t, kept(t), func(_ *Config, o *AccessOptions) {
		o.Open, o.Accepts = false, func(token string) bool { return token == "right" }
	})
	if _, body := p.visit(t).get("/"); !strings.Contains(body, `name="token"`) {
		t.Error("the page of entry has no form for the token")
	}
	v := p.visit(t)
	if answer, _ := v.post("/enter", url.Values{"token": {"wrong"}}); answer.StatusCode != http.StatusForbidden {
		t.Errorf("a wrong token: %d", answer.StatusCode)
	}
	if answer, _ := v.post("/enter", url.Values{"token": {"right"}}); answer.StatusCode != http.StatusOK {
		t.Errorf("the token: %d", answer.StatusCode)
	}
	if status, _ := v.get("/hosts"); status != http.StatusOK {
		t.Errorf("with the cookie for the token: %d", status)
	}
	program := p.visit(t)
	if status, _ := program.get("/api/hosts", "Authorization", "Bearer right"); status != http.StatusOK {
		t.Errorf("a program with the token: %d", status)
	}
	if answer, body := program.do(http.MethodPost, "/api/tasks", `{"verb":"test","scenario":"clean-lan"}`, "Authorization", "Bearer right", "Content-Type", "application/json"); answer.StatusCode != http.StatusCreated {
		t.Errorf("a program starts a test: %d %s", answer.StatusCode, body)
	}
	for range mostGuesses {
		program.get("/api/hosts", "Authorization", "Bearer wrong")
	}
	if status, _ := program.get("/api/hosts", "Authorization", "Bearer right"); status != http.StatusForbidden {
		t.Errorf("after %d guesses the next one is looked at: %d", mostGuesses, status)
	}
}

// Guesses are counted by address, of IPv6 by the network that one customer gets, and
// what is remembered is bounded.
func TestPaceOfGuesses(t *testing.T) {
	var g guesses
	now := time.Now()
	count := func(who string) (n int) {
		for range 3 * mostGuesses {
			if g.allow(netip.MustParseAddr(who), now) {
				n++
			}
		}
		return n
	}
	if n := count("2001:db8::1"); n != mostGuesses {
		t.Errorf("%d guesses at once, want %d", n, mostGuesses)
	}
	if n := count("2001:db8::2"); n != 0 {
		t.Errorf("%d more from the same network", n)
	}
	if n := count("192.0.2.1"); n != mostGuesses {
		t.Errorf("%d of another host", n)
	}
	now = now.Add(guessesIn + time.Second)
	if n := count("2001:db8::1"); n != mostGuesses {
		t.Errorf("%d after a while", n)
	}
	for i := range 3 * mostGuessers {
		g.allow(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), now)
	}
	if len(g.made) > mostGuessers+1 {
		t.Errorf("%d addresses are remembered", len(g.made))
	}
}

// Every answer forbids what a page of ours never needs.
func TestHeaders(t *testing.T) {
	p := served(t, kept(t))
	v := p.entered(t)
	for _, address := range []string{"/", "/runs/" + numbered(3), "/nothing", "/static/style.css", "/api/runs", "/runs/" + numbered(3) + "/report.html"} {
		answer, _ := v.do(http.MethodGet, address, "")
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp", "Cache-Control": "no-store",
		} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", address, name, got, want)
			}
		}
		policy := answer.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy, "form-action 'self'") {
			t.Errorf("%s: the policy is %q", address, policy)
		}
	}
}

// A defect of one page answers 500 and leaves the others alone; a form that is too
// large is not read.
func TestDefects(t *testing.T) {
	p := served(t, kept(t), func(c *Config, _ *AccessOptions) {
		c.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("out of order") })
	})
	v := p.entered(t)
	if status, body := v.get("/metrics"); status != http.StatusInternalServerError || !strings.Contains(body, "This page failed") || strings.Contains(body, "out of order") {
		t.Errorf("a defect answers %d: %s", status, body)
	}
	if answer, _ := v.post("/new", url.Values{"verb": {"test"}, "host": {strings.Repeat("x", mostBody)}}); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("a form of more than %d bytes answers %d", mostBody, answer.StatusCode)
	}
	if status, _ := v.get("/"); status != http.StatusOK {
		t.Errorf("afterwards the page answers %d", status)
	}
}
