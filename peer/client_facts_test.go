package peer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/host"
)

// What a far end tells of its host is planned with, shown, and written into
// commands for people to run.
func TestHostileFactsDoNoHarm(t *testing.T) {
	honest := func() *host.Facts {
		return &host.Facts{Name: "b", OS: "linux", Version: "6.18", CanChange: true, Interfaces: []host.Interface{{Name: "eth0", MTU: 1500, Up: true}},
			Tunables: map[string]string{"net.core.rmem_max": "212992"}}
	}
	tell := honest()
	far := startFarEnd(t, Config{Facts: func(context.Context) (*host.Facts, error) { return tell, nil }}, "127.0.0.1:0")
	client := far.dial(t, far.TokenString())

	for name, spoil := range map[string]func(*host.Facts){
		"no system":                  func(f *host.Facts) { f.OS = "" },
		"a system of its own":        func(f *host.Facts) { f.OS = "../linux" },
		"no version":                 func(f *host.Facts) { f.Version = "" },
		"a version that is none":     func(f *host.Facts) { f.Version = "; reboot" },
		"no name":                    func(f *host.Facts) { f.Name = "" },
		"a name of two lines":        func(f *host.Facts) { f.Name = "b\nroot# " },
		"a name that moves a cursor": func(f *host.Facts) { f.Name = "b\x1b[2J" },
		"a name read backwards":      func(f *host.Facts) { f.Name = "b\u202etxt" },
		"a long name":                func(f *host.Facts) { f.Name = strings.Repeat("b", 1000) },
		"a long reason":              func(f *host.Facts) { f.WhyNot = strings.Repeat("no ", 1000) },
		"negative memory":            func(f *host.Facts) { f.Memory = -1 },
		"absurd memory":              func(f *host.Facts) { f.Memory = 1 << 62 },
		"negative CPUs":              func(f *host.Facts) { f.CPUs = -1 },
		"a negative MTU":             func(f *host.Facts) { f.Interfaces[0].MTU = -1500 },
		"a negative speed":           func(f *host.Facts) { f.Interfaces[0].Speed = -1 },
		"an address that is none":    func(f *host.Facts) { f.Interfaces[0].Addresses = []string{"$(reboot)"} },
		"an interface of two lines":  func(f *host.Facts) { f.Interfaces[0].Name = "eth0\nreboot" },
		"a queue of negative rate":   func(f *host.Facts) { f.Interfaces[0].Qdiscs = []host.Qdisc{{Kind: "tbf", Rate: -1}} },
		"a manager of two lines":     func(f *host.Facts) { f.Managers = []host.Manager{{Name: "tuned", Sets: "a\nb"}} },
		"many managers":              func(f *host.Facts) { f.Managers = make([]host.Manager, 1000) },
		"many interfaces":            func(f *host.Facts) { f.Interfaces = make([]host.Interface, 10_000) },
		"many tunables": func(f *host.Facts) {
			for i := range 70_000 {
				f.Tunables[fmt.Sprintf("link.mtu@eth%d", i)] = "1500"
			}
		},
		"a tunable with a long name": func(f *host.Facts) { f.Tunables["link.mtu@"+strings.Repeat("e", 1000)] = "1500" },
	} {
		tell = honest()
		spoil(tell)
		facts, err := client.Facts(within(t, generous))
		if err == nil {
			t.Errorf("%s: accepted: %+v", name, facts.Name)
			continue
		}
		wantKind(t, err, ErrNotFullbore, "facts of its host that cannot be")
		if text := err.Error(); len(text) > 500 || strings.ContainsAny(text, "\n\x1b\u202e") {
			t.Errorf("%s: the error itself does harm: %q", name, text)
		}
	}

	// What a newer far end may tell, and what no tunable can be, is left out.
	tell = honest()
	maps.Copy(tell.Tunables, map[string]string{
		"net.core.of_the_future": "1", "net.core.wmem_max": "1; reboot", "net.ipv4.tcp_rmem": "1 2", "link.mtu@eth0\nreboot": "1500", "link.mtu": "1500",
		"net.ipv4.tcp_congestion_control": "$(reboot)", "link.mtu@eth0": "1500", "net.core.rmem_max@eth0": "1", "net.core.somaxconn": strings.Repeat("1", 1000),
	})
	tell.ReadOnly = []string{"link.mtu@eth0", "net.core.of_the_future\n"}
	tell.Most = map[string]int64{"link.mtu@eth0": -9, "net.core.of_the_future": 1}
	facts, err := client.Facts(within(t, generous))
	if err != nil {
		t.Fatal(err)
	}
	want := honest()
	want.Tunables["link.mtu@eth0"], want.ReadOnly = "1500", []string{"link.mtu@eth0"}
	if diff := cmp.Diff(want, facts, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Most" }, cmp.Ignore())); diff != "" || len(facts.Most) > 0 {
		t.Errorf("%s\nmost %v", diff, facts.Most)
	}

	// A system of which this program knows only what Go tells.
	tell = &host.Facts{Name: "b", OS: "freebsd", CPUs: 4, Interfaces: []host.Interface{}, WhyNot: "not supported"}
	if facts, err := client.Facts(within(t, generous)); err != nil || facts.CPUs != 4 {
		t.Errorf("of another system: %+v, %v", facts, err)
	}
}

// Why there are no facts is told apart, and says what to do.
func TestNoFacts(t *testing.T) {
	failing := startFarEnd(t, Config{Facts: func(context.Context) (*host.Facts, error) { return nil, errors.New("no /proc here") }}, "127.0.0.1:0")
	hanging := startFarEnd(t, Config{Facts: func(ctx context.Context) (*host.Facts, error) { <-ctx.Done(); return nil, ctx.Err() }}, "127.0.0.1:0")
	late := hanging.dial(t, hanging.TokenString())
	late.timing = hasteful
	answering := func(kind error, format string, args ...any) *Client {
		return hostile(t, func(w http.ResponseWriter, _ *http.Request) { writeProblem(w, problem(kind, format, args...)) })
	}
	kinds := []error{ErrMeasuresOnly, ErrForbidden, ErrToken, ErrTimeout, ErrFailed, ErrTooMuch, ErrNotFullbore, ErrBusy, ErrUnreachable}
	for name, c := range map[string]struct {
		client *Client
		kinds  []error
		says   []string
	}{
		"no token":                 {failing.dial(t, ""), []error{ErrMeasuresOnly, ErrForbidden}, []string{"only measures", "token that `fullbore serve` prints"}},
		"it cannot read them":      {failing.dial(t, failing.TokenString()), []error{ErrFailed}, []string{"no /proc here", "correct it there"}},
		"it hangs":                 {late, []error{ErrTimeout, ErrUnreachable}, []string{"stopped answering", "look at `fullbore serve` there"}},
		"forbidden all the same":   {answering(ErrForbidden, "not to you"), []error{ErrForbidden}, []string{"not to you"}},
		"the token no longer fits": {answering(ErrToken, "unknown: use the one printed there"), []error{ErrToken}, []string{"use the one"}},
		"another error of its own": {answering(errors.New("of the future"), "it broke"), []error{ErrFailed}, []string{"it broke"}},
		"too many requests":        {answering(ErrBusy, "wait a few seconds"), []error{ErrBusy}, []string{"wait"}},
	} {
		_, err := c.client.Facts(within(t, generous))
		for _, kind := range kinds {
			if errors.Is(err, kind) != slices.Contains(c.kinds, kind) {
				t.Errorf("%s: error %v: is it %v? %v", name, err, kind, errors.Is(err, kind))
			}
		}
		wantKind(t, err, c.kinds[0], c.says...)
	}
}
