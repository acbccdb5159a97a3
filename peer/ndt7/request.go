package ndt7

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fullbore/fullbore/bulk"
)

// maxQuery is the longest query string, as the specification has it.
const maxQuery = 4096

// earlyExits are the values of early_exit that M-Lab's server takes: a download
// ends when so many bytes have been acknowledged.
var earlyExits = map[string]int64{"250": 250_000_000}

// wish is what a request asks for.
type wish struct {
	direction bulk.Direction
	enough    int64 // bytes acknowledged that end a download; 0: only its time does
}

// understand reads a request, or says why it is none of ndt7's.
func understand(r *http.Request) (wish, error) {
	w := wish{direction: bulk.Forward}
	switch r.URL.Path {
	case DownloadPath:
		w.direction = bulk.Reverse
	case UploadPath:
	default:
		return w, fmt.Errorf("there is no test at this path: use %s or %s", DownloadPath, UploadPath)
	}
	if !slices.ContainsFunc(r.Header.Values("Sec-WebSocket-Protocol"), func(offered string) bool {
		return slices.ContainsFunc(strings.Split(offered, ","), func(one string) bool { return strings.TrimSpace(one) == Subprotocol })
	}) {
		return w, fmt.Errorf("this is an ndt7 server: open a WebSocket with the subprotocol %s", Subprotocol)
	}
	values, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return w, err
	}
	if values.Has("early_exit") {
		// As the specification asks, a key that comes twice counts once.
		enough, ok := earlyExits[values.Get("early_exit")]
		if !ok {
			return w, fmt.Errorf("early_exit must be 250 (MB)")
		}
		w.enough = enough
	}
	return w, nil
}

// parseQuery reads the metadata of a client. A key without a value has an empty
// one.
func parseQuery(raw string) (url.Values, error) {
	if len(raw) > maxQuery {
		return nil, fmt.Errorf("the query string has %d bytes: %d are allowed", len(raw), maxQuery)
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, fmt.Errorf("the query string is malformed: %w", err)
	}
	for key, all := range values {
		if !utf8.ValidString(key) || slices.ContainsFunc(all, func(v string) bool { return !utf8.ValidString(v) }) {
			return nil, fmt.Errorf("the query string is not UTF-8")
		}
	}
	return values, nil
}

// foreign says whether a web page of another host asks. Only browsers send an
// Origin; that of a page without a host of its own (a file) is "null". A name
// proves nothing: whoever owns it can make it point here, to a browser that has
// his page (DNS rebinding). An address cannot be made to.
func foreign(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	page, err := url.Parse(origin)
	if err != nil {
		return true
	}
	here, err := url.Parse("//" + r.Host)
	if err != nil || !strings.EqualFold(page.Hostname(), here.Hostname()) {
		return true
	}
	_, err = netip.ParseAddr(page.Hostname())
	return err != nil && !strings.EqualFold(page.Hostname(), "localhost")
}
