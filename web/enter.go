package web

import (
	"net/http"
	"strings"
)

// enter trades the secret of an address for a session. A browser that only looks ahead
// must not use it up.
func (p *Page) enter(w http.ResponseWriter, r *http.Request) {
	secret := r.URL.Query().Get("secret")
	if secret == "" {
		p.entry(w, r, http.StatusOK, "")
		return
	}
	if strings.Contains(r.Header.Get("Sec-Purpose")+r.Header.Get("Purpose"), "prefetch") || r.Method != http.MethodGet {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if who, _ := p.Access.of(r); who >= starts { // it was opened before, as by going back
		p.welcome(w, r)
		return
	}
	cookie := p.Access.trade(secret)
	if cookie == "" {
		p.Log.Warn("a secret that is void or wrong was tried", "from", r.RemoteAddr)
		p.entry(w, r, http.StatusForbidden, "This address was used before, or is mistyped: take the latest one that fullbore printed.")
		return
	}
	p.in(w, r, cookie)
}

// enterByToken is the same for who knows the token of serve.
func (p *Page) enterByToken(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil || !p.Access.knows(r.PostForm.Get("token"), r) {
		p.entry(w, r, http.StatusForbidden, "That is not the token, or too many were tried: wait a minute before you try again.")
		return
	}
	p.Access.mu.Lock()
	cookie := p.Access.begin()
	p.Access.mu.Unlock()
	p.in(w, r, cookie)
}

// in gives a browser its cookie. It goes on from a page of ours, as a strict cookie
// is not sent where another site, such as a mail's, had the link.
func (p *Page) in(w http.ResponseWriter, r *http.Request, cookie string) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: cookie, Path: "/", MaxAge: int(sessionFor.Seconds()),
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
	p.welcome(w, r)
}

func (p *Page) welcome(w http.ResponseWriter, r *http.Request) {
	p.show(w, r, http.StatusOK, "entered", view{Title: "You are in", Onward: "/", Data: "12 hours"})
}
