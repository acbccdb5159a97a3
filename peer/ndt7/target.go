package ndt7

import (
	"fmt"
	"net/netip"
	"net/url"
	"runtime"
	"strconv"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/version"
)

// parseTarget gives the address to open for a test: of "host", "host:port",
// "192.0.2.1:5201", "2001:db8::1", "[fe80::1%eth0]:5201", each also behind
// ndt7:// or ws:// (HTTP, port 80 unless given) or ndt7s:// or wss:// (TLS, port
// 443); or of a whole URL, as M-Lab's locate service gives them, whose path then
// has to be of the direction.
func parseTarget(target string, d bulk.Direction) (*url.URL, error) {
	bad := func(format string, args ...any) (*url.URL, error) {
		return nil, fmt.Errorf("ndt7 server %q: %s; use host, host:port or [address]:port, behind ndt7:// for plain or ndt7s:// for TLS",
			target, fmt.Sprintf(format, args...))
	}
	scheme, rest, ok := strings.Cut(target, "://")
	if !ok {
		scheme, rest = "ndt7", target
	}
	schemes := map[string]string{"ndt7": "ws", "ndt7s": "wss", "ws": "ws", "wss": "wss"}
	if scheme, ok = schemes[strings.ToLower(scheme)]; !ok {
		return bad("it is not of this protocol")
	}
	u, err := url.Parse(scheme + "://" + bracket(rest))
	if err != nil {
		return bad("it is malformed")
	}
	switch port := u.Port(); {
	case u.Hostname() == "":
		return bad("no host was given")
	case u.User != nil || u.Fragment != "":
		return bad("a user or a fragment has no place in it")
	case port != "":
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return bad("%q is not a port from 1 to 65535", port)
		}
	}
	path := UploadPath
	if d == bulk.Reverse {
		path = DownloadPath
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = path
	}
	if !strings.HasSuffix(u.Path, "/"+testName(d)) {
		return bad("its path is %s, which is not that of the %s, %s", u.Path, testName(d), path)
	}
	query := u.Query()
	for key, value := range map[string]string{
		"client_name": "fullbore", "client_version": version.String(),
		"client_library_name": "fullbore", "client_library_version": version.String(),
		"client_os": runtime.GOOS, "client_arch": runtime.GOARCH,
	} {
		if !query.Has(key) {
			query.Set(key, value)
		}
	}
	u.RawQuery = query.Encode()
	if len(u.RawQuery) > maxQuery {
		return bad("its query string has %d bytes: %d are allowed", len(u.RawQuery), maxQuery)
	}
	return u, nil
}

// HostPort are the host and the port that a test's target names; see [Test].
func HostPort(target string, d bulk.Direction) (host string, port uint16, err error) {
	u, err := parseTarget(target, d)
	if err != nil {
		return "", 0, err
	}
	if u.Port() == "" {
		return u.Hostname(), map[string]uint16{"ws": 80, "wss": 443}[u.Scheme], nil
	}
	n, _ := strconv.ParseUint(u.Port(), 10, 16) // parseTarget has checked it
	return u.Hostname(), uint16(n), nil
}

// bracket writes an IPv6 address at the beginning of rest as URLs have it: in
// brackets, the % before a zone escaped.
func bracket(rest string) string {
	host, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	if address, err := netip.ParseAddr(host); err == nil && address.Is6() {
		host = "[" + host + "]"
	}
	if strings.HasPrefix(host, "[") && !strings.Contains(host, "%25") {
		host = strings.ReplaceAll(host, "%", "%25")
	}
	return host + path
}
