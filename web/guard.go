package web

import (
	"errors"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
)

// Times and sizes of requests.
const (
	RequestWithin = 10 * time.Second // in which a request has to come
	AnswerWithin  = 2 * time.Minute  // in which an answer has to be taken; not of what is live
	IdleFor       = time.Minute      // between two requests of a connection
	MostHeader    = 16 << 10         // bytes
	mostBody      = 64 << 10         // bytes of a form
)

// policy lets nothing in that is not this page's own: no script, style, picture or
// connection of another origin, nothing inline, and no frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP answers behind what holds for every request.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	for name, value := range map[string]string{
		"Content-Security-Policy":      policy,
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Referrer-Policy":              "same-origin", // with no-referrer, browsers would hide from us that a form is ours
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Cross-Origin-Embedder-Policy": "require-corp",
		"Cache-Control":                "no-store",
	} {
		header.Set(name, value)
	}
	defer func() {
		if problem := recover(); problem != nil {
			if err, ok := problem.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(problem)
			}
			p.Log.Error("the page failed", "at", r.URL.Path, "problem", problem, "stack", string(debug.Stack()))
			p.fail(w, r, http.StatusInternalServerError, "This page failed", "It is a defect of fullbore's; where it runs it says what happened.")
		}
	}()
	if !p.Access.knownAs(r) {
		p.fail(w, r, http.StatusMisdirectedRequest, "This host is not called that", "Open the page by the address that fullbore printed, or start it with a flag that names this host (fullbore page --name, fullbore serve --page-name).")
		return
	}
	if who, program := p.Access.of(r); !p.may(w, r, who, program) {
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, mostBody)
	p.router.ServeHTTP(w, r)
}

// may says whether a request is answered, and tells the sender if it is not.
func (p *Page) may(w http.ResponseWriter, r *http.Request, who level, program bool) bool {
	api := strings.HasPrefix(r.URL.Path, "/api/")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		switch {
		case !program && !ownOrigin(r):
			p.refuse(w, r, api, "A request that changes something must come from this page itself", "Open the page, and use its forms. Programs that have the cookie send the header Origin with the page's own.")
			return false
		case r.URL.Path == "/enter":
			return true // that is how one gets in
		case who < starts:
			p.refuse(w, r, api, "You may read here, and not start, stop or change anything", howToEnter)
			return false
		}
		return true
	}
	if who >= reads || r.URL.Path == "/enter" || strings.HasPrefix(r.URL.Path, "/static/") {
		return true
	}
	if api || r.URL.Path == "/events" || r.URL.Path == "/metrics" {
		p.refuse(w, r, true, "This page is not open to everyone", howToEnter)
		return false
	}
	p.entry(w, r, http.StatusForbidden, "")
	return false
}

const howToEnter = "Whoever started it was told an address with a secret; the first to open that may. It is printed where fullbore runs."

// refuse says no, to people or to programs.
func (p *Page) refuse(w http.ResponseWriter, r *http.Request, program bool, what, then string) {
	if program {
		problemOf(w, http.StatusForbidden, what+". "+then)
		return
	}
	p.fail(w, r, http.StatusForbidden, what, then)
}
