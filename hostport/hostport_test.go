package hostport

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	type target struct {
		host string
		port uint16
	}
	for text, want := range map[string]target{
		"host":                  {"host", 5201},
		"host:5202":             {"host", 5202},
		"host.example.com:5202": {"host.example.com", 5202},
		"192.0.2.1":             {"192.0.2.1", 5201},
		"192.0.2.1:80":          {"192.0.2.1", 80},
		"2001:db8::1":           {"2001:db8::1", 5201},
		"[2001:db8::1]":         {"2001:db8::1", 5201},
		"[2001:db8::1]:80":      {"2001:db8::1", 80},
		"fe80::1%eth0":          {"fe80::1%eth0", 5201},
		"[fe80::1%eth0]:5202":   {"fe80::1%eth0", 5202},
	} {
		host, port, err := Parse(text, 5201)
		if got := (target{host, port}); err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":           "no host was given",
		":5201":      "no host was given",
		"host:":      "is not a port",
		"host:0":     "is not a port",
		"host:70000": "is not a port",
		"host:http":  "is not a port",
		"a:b:c":      "neither an address nor host:port",
		"[::1":       "neither an address nor host:port",
	} {
		if _, _, err := Parse(text, 5201); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want an error with %q", text, err, want)
		}
	}
}
