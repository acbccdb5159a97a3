package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/host"
)

// TestOf: what a plan has for a host, and why it is not carried out.
func TestOf(t *testing.T) {
	here := &host.Facts{Name: "a", OS: "linux", Tunables: map[string]string{"net.ipv4.tcp_rmem": "4096 131072 6291456", "net.ipv4.tcp_sack": "1"}}
	of := func(host, name, to string) Change { return Change{Host: host, Tunable: name, To: to} }
	raise := of("a", "net.ipv4.tcp_rmem", "4096 131072 67108864")
	for _, test := range []struct {
		name    string
		changes []Change
		want    []Change
		is      error  // nil: none of the named ones
		says    string // "": no error
	}{
		{"all are for it", []Change{raise}, []Change{raise}, nil, ""},
		{"of two hosts", []Change{of("b", "net.ipv4.tcp_wmem", "1 2 3"), raise}, []Change{raise}, nil, ""},
		{"as it is", []Change{of("a", "net.ipv4.tcp_rmem", "4096 131072 6291456")}, []Change{of("a", "net.ipv4.tcp_rmem", "4096 131072 6291456")}, nil, ""},
		{"none at all", nil, nil, nil, "nothing to apply"},
		{"for others", []Change{of("b", "net.ipv4.tcp_wmem", "1 2 3"), of("c", "net.ipv4.tcp_wmem", "1 2 3"), of("b", "net.ipv4.tcp_sack", "1")}, nil, ErrElsewhere, `only for ["b" "c"]`},
		{"unknown", []Change{of("a", "net.ipv4.tcp_rmen", "1 2 3")}, nil, nil, "did you mean net.ipv4.tcp_rmem"},
		{"not a value", []Change{of("a", "net.ipv4.tcp_rmem", "much")}, nil, nil, "plan sets net.ipv4.tcp_rmem: "},
		{"not there", []Change{of("a", "net.ipv4.tcp_wmem", "4096 16384 67108864")}, nil, ErrStale, "does not have net.ipv4.tcp_wmem"},
		{"one element lower", []Change{of("a", "net.ipv4.tcp_rmem", "4096 131071 67108864")}, nil, ErrStale, "would lower the present 4096 131072 6291456"},
		{"one of two is wrong", []Change{raise, of("a", "net.ipv4.tcp_rmem", "4096 131072 6291455")}, nil, ErrStale, "would lower"},
	} {
		p := &Plan{}
		for _, c := range test.changes {
			p.Steps = append(p.Steps, Step{Changes: []Change{c}})
		}
		got, err := p.Of("a", here)
		if len(got) != len(test.want) || len(got) > 0 && got[0] != test.want[0] {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
		switch {
		case (err != nil) != (test.says != "") || err != nil && !strings.Contains(err.Error(), test.says):
			t.Errorf("%s: %v, want %q", test.name, err, test.says)
		case errors.Is(err, ErrStale) != errors.Is(test.is, ErrStale), errors.Is(err, ErrElsewhere) != errors.Is(test.is, ErrElsewhere):
			t.Errorf("%s: %v is not %v", test.name, err, test.is)
		}
	}
}
