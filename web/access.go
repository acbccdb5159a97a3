package web

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Access says who may see the page, and who may start and stop runs on it.
//
// A secret that is printed where the page was started is traded once for the cookie of
// a session. Who has that may do all; others may read if the page is for this host
// only, and see nothing elsewhere.
type Access struct {
	options  AccessOptions
	now      func() time.Time
	guesses  guesses
	mu       sync.Mutex
	secret   string
	sessions map[[sha256.Size]byte]time.Time // until when, by the hash of the cookie
}

// AccessOptions are what differs from page to page.
type AccessOptions struct {
	Open    bool                    // whoever reaches it may read: it listens on this host's loopback only
	Names   []string                // by which browsers may call this host, besides its addresses
	Accepts func(token string) bool // that lets in too, compared in constant time; nil: none does
	Renewed func(secret string)     // told the next secret when one was used; nil: nobody
	Log     *slog.Logger            // nil: silent
}

// Bounds of sessions.
const (
	sessionFor   = 12 * time.Hour // a working day
	mostSessions = 64             // the oldest goes first
	longestTold  = 512            // bytes of a secret, cookie or token
)

// NewAccess has a first secret, and no sessions.
func NewAccess(o AccessOptions) *Access {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Access{options: o, now: time.Now, secret: random(), sessions: map[[sha256.Size]byte]time.Time{}}
}

// random is 256 bits as text.
func random() string {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(bits[:])
}

// Secret is what lets the next one in, once.
func (a *Access) Secret() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.secret
}

// trade makes a session for the secret, which is void then; the empty text if it is
// another one.
func (a *Access) trade(secret string) string {
	a.mu.Lock()
	if !same(secret, a.secret) {
		a.mu.Unlock()
		return ""
	}
	a.secret = random()
	next, cookie := a.secret, a.begin()
	a.mu.Unlock()
	if a.options.Renewed != nil {
		a.options.Renewed(next)
	}
	return cookie
}

// same compares hashes, so that the time that takes says nothing of a guess.
func same(a, b string) bool {
	return len(a) <= longestTold && sha256.Sum256([]byte(a)) == sha256.Sum256([]byte(b))
}

// begin makes a session; the caller holds the lock.
func (a *Access) begin() string {
	now := a.now()
	for len(a.sessions) >= mostSessions {
		var oldest [sha256.Size]byte
		for key, until := range a.sessions {
			if first, ok := a.sessions[oldest]; !ok || until.Before(first) {
				oldest = key
			}
		}
		delete(a.sessions, oldest)
	}
	cookie := random()
	a.sessions[sha256.Sum256([]byte(cookie))] = now.Add(sessionFor)
	return cookie
}

// level is what somebody may do.
type level int

const (
	nothing level = iota
	reads
	starts
)

// of says what the sender of a request may do. A token in a header is a program's; it
// is no browser's, so that no other site can make one send it.
func (a *Access) of(r *http.Request) (l level, program bool) {
	if cookie, err := r.Cookie(cookieName(r)); err == nil && len(cookie.Value) <= longestTold {
		a.mu.Lock()
		until, ok := a.sessions[sha256.Sum256([]byte(cookie.Value))]
		a.mu.Unlock()
		if ok && a.now().Before(until) {
			return starts, false
		}
	}
	if token, sent := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); sent && a.knows(token, r) {
		return starts, true
	}
	if a.options.Open {
		return reads, false
	}
	return nothing, false
}

// knows says whether a token is one that lets in. Guesses have a pace.
func (a *Access) knows(token string, r *http.Request) bool {
	if a.options.Accepts == nil || len(token) > longestTold || !a.guesses.allow(remote(r), a.now()) {
		return false
	}
	if !a.options.Accepts(token) {
		a.options.Log.Warn("a token that is not known was tried on the page", "from", r.RemoteAddr)
		return false
	}
	a.guesses.forget(remote(r))
	return true
}

// cookieName has the port in it: browsers give all ports of a host the same cookies.
func cookieName(r *http.Request) string {
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		if at, err := netip.ParseAddrPort(local.String()); err == nil {
			return "fullbore-" + at.String()[strings.LastIndex(at.String(), ":")+1:]
		}
	}
	return "fullbore"
}

func remote(r *http.Request) netip.Addr {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return from.Addr().Unmap()
}

// knownAs says whether a request's Host is a name of this host. A page of elsewhere can
// give a name of its own our address; then that is what the Host says.
func (a *Access) knownAs(r *http.Request) bool {
	name := r.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	name = strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(name), "["), "]")
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	var at netip.Addr
	if local != nil {
		if parsed, err := netip.ParseAddrPort(local.String()); err == nil {
			at = parsed.Addr().Unmap().WithZone("")
		}
	}
	if asked, err := netip.ParseAddr(name); err == nil {
		asked = asked.Unmap().WithZone("")
		return asked == at || asked.IsLoopback() && at.IsLoopback()
	}
	if name == "localhost" {
		return at.IsLoopback()
	}
	for _, own := range a.options.Names {
		if name == strings.ToLower(own) {
			return true
		}
	}
	return false
}

// ownOrigin says whether a page of ours sent a request that changes something. Browsers
// say which page does; what says nothing is no browser's form.
func ownOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return false
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return r.Header.Get("Origin") == scheme+r.Host
}
