package peer

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// forPage says whether a request is for the page that browsers are shown: all is that
// is neither of the control API nor a test. Who may see what the page decides: it has
// the secret and the token, and a far end without a page never shows one.
func (s *Server) forPage(r *http.Request) bool {
	return s.page != nil && !strings.HasPrefix(r.URL.Path, "/v1/") && !isTest(r)
}

// showPage answers a browser. Requests have
// the same pace as all others without the token, whoever sends them: a page in a browser
// has three of them at most.
func (s *Server) showPage(w http.ResponseWriter, r *http.Request) {
	from, err := remoteOfRequest(r)
	if err != nil || !s.pace.allow(from.Addr(), time.Now()) {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many requests: wait a few seconds", http.StatusTooManyRequests)
		return
	}
	s.page.ServeHTTP(w, r)
}

// toTLS sends a browser that came without encryption to where the page is; false: it
// is none, or there is no page. Only what changes nothing is sent on: a form's secrets
// have gone over the network by then, and its sender should know.
func (s *Server) toTLS(w http.ResponseWriter, r *http.Request) bool {
	if !s.forPage(r) || r.Method != http.MethodGet && r.Method != http.MethodHead || r.Host == "" || strings.ContainsAny(r.Host, "/\\@?#") {
		return false
	}
	w.Header().Set("Connection", "close")
	http.Redirect(w, r, (&url.URL{Scheme: "https", Host: r.Host, Path: r.URL.Path, RawQuery: r.URL.RawQuery}).String(), http.StatusPermanentRedirect)
	return true
}
