package remote

import (
	"strings"
	"testing"
)

// TestParse: targets are read as ssh has them, and what is none says what to write.
func TestParse(t *testing.T) {
	for text, want := range map[string]Target{
		"ssh://host":               {"host", ""},
		"ssh://ann@host":           {"ann@host", ""},
		"ssh://ann@host:2222/":     {"ann@host", "2222"},
		"ssh://[fd00::1]:22":       {"fd00::1", "22"},
		"ssh://ann@storage.lan:22": {"ann@storage.lan", "22"},
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"host":                          "does not begin with ssh://",
		"ssh://":                        "no host",
		"ssh://ann@":                    "no host",
		"ssh://-oProxyCommand=touch":    "begin with -",
		"ssh://-oProxyCommand=x@host":   "begin with -",
		"ssh://host/etc":                "behind the host",
		"ssh://host?x":                  "behind the host",
		"ssh://ann:secret@host":         "a password does not belong",
		"ssh://host:port":               "no address",
		"ssh://ho st":                   "no address",
		"scp://host":                    "does not begin with ssh://",
		"ssh://a\x00b":                  "no address",
		"ssh://" + "host" + "#fragment": "behind the host",
	} {
		if got, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	if host := (Target{Destination: "ann@b@host"}).Host(); host != "host" {
		t.Error(host)
	}
}

// TestSystemOf: what uname says, as Go names it; of what there is no fullbore for, that is said.
func TestSystemOf(t *testing.T) {
	for said, want := range map[[3]string]System{
		{"Linux", "x86_64", "GNU/Linux"}:  {"linux", "amd64"},
		{"Linux", "aarch64", "GNU/Linux"}: {"linux", "arm64"},
		{"Darwin", "arm64", "Darwin"}:     {"darwin", "arm64"},
		{"SunOS", "i86pc", "illumos"}:     {"illumos", "amd64"},
		{"SunOS", "i86pc", "Solaris"}:     {"solaris", "amd64"},
		{"FreeBSD", "amd64", "FreeBSD"}:   {"freebsd", "amd64"},
	} {
		if got, err := systemOf(said[0], said[1], said[2]); err != nil || got != want {
			t.Errorf("%v: %v, %v", said, got, err)
		}
	}
	for _, said := range [][3]string{{"SunOS", "sun4v", "Solaris"}, {"HP-UX", "ia64", ""}, {"", "", ""}} {
		if got, err := systemOf(said[0], said[1], said[2]); err == nil {
			t.Errorf("%v: %v", said, got)
		}
	}
}

// TestQuoted: arguments and settings reach the program as they are, whatever is in them; a secret is in
// neither.
func TestQuoted(t *testing.T) {
	for want, got := range map[string]string{
		`say started; "$w/fullbore" 'serve' 'it'\''s $HOME ` + "`x`" + `'; say exit $?; exit` + "\n":                 runScript([]string{"serve", "it's $HOME `x`"}, nil, ""),
		`say secret; IFS= read -r TOKEN; export TOKEN; say started; A='b c' "$w/fullbore"; say exit $?; exit` + "\n": runScript(nil, []string{"A=b c"}, "TOKEN"),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
