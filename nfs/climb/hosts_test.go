package climb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/host"
)

// onlyHost keeps one change set in memory.
type onlyHost struct {
	change.Host // of which nothing else is called
	live        map[string]string
	kept        string // how it was confirmed
	reverted    bool
	persistent  error // what comes of keeping it for good
}

func (h *onlyHost) Begin(context.Context, string, time.Duration) (string, error) { return "set-1", nil }

func (h *onlyHost) Apply(_ context.Context, _ string, settings []change.Setting) error {
	for _, s := range settings {
		h.live[s.Tunable] = s.Value
	}
	return nil
}

func (h *onlyHost) PutBack(_ context.Context, _ string, names ...string) error {
	for _, name := range names {
		delete(h.live, name)
	}
	return nil
}

func (h *onlyHost) Renew(context.Context, string) error { return nil }

func (h *onlyHost) Confirm(_ context.Context, _ string, persist bool) error {
	if persist && h.persistent != nil {
		return h.persistent
	}
	h.kept = fmt.Sprintf("persist %v", persist)
	return nil
}

func (h *onlyHost) Revert(context.Context, string) (*change.Set, error) {
	h.live, h.reverted = map[string]string{}, true
	return &change.Set{}, nil
}

// linux is a host whose mounts ask for 64 slots.
func linux() *host.Facts {
	return &host.Facts{OS: "linux", Name: "client", CanChange: true, Tunables: map[string]string{slots: "64"}}
}

// TestClient: where slots cannot be changed from here, they limit how far a climb goes.
func TestClient(t *testing.T) {
	own := &onlyHost{}
	if c := ClientOf(linux(), own); c == nil || c.Slots != 64 || c.most() != 1024 {
		t.Errorf("%+v", c)
	}
	for name, spoil := range map[string]func(*host.Facts){
		"not root":          func(f *host.Facts) { f.CanChange = false },
		"another namespace": func(f *host.Facts) { f.ReadOnly = []string{slots} },
		"no client":         func(f *host.Facts) { delete(f.Tunables, slots) },
		"nonsense":          func(f *host.Facts) { f.Tunables[slots] = "many" },
	} {
		facts := linux()
		spoil(facts)
		if c := ClientOf(facts, own); c != nil || c.most() != 0 || c.needs(1<<20) != 0 || c.bring(t.Context(), 1<<20) != nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestSlots: as many slots as requests in flight need are asked for by mounts that are made while
// these are tried, kept where that helped, and put back otherwise.
func TestSlots(t *testing.T) {
	for _, test := range []struct {
		name        string
		found, best int // requests in flight
		keep        bool
		persist     bool
		refused     error
		want        string // slots at the end
		how         string
		says        string
	}{
		{"kept", 64, 256, true, false, nil, "256", "persist false", "on client: fullbore revert set-1"},
		{"kept for good", 64, 256, true, true, nil, "256", "persist true", "on client: fullbore revert set-1"},
		{"not for good", 64, 256, true, true, fmt.Errorf("%w: a file says otherwise", change.ErrRefused), "256", "persist false", "until the next boot only: "},
		{"there are enough", 8, 16, true, false, nil, "", "", ""},
		{"not wanted", 64, 256, false, false, nil, "", "", ""},
		{"more readers than slots to begin with", 100, 100, true, false, nil, "", "", ""},
		{"more than there can be", 64, 4096, true, false, nil, "1024", "persist false", "set-1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			own := &onlyHost{live: map[string]string{}, persistent: test.refused}
			h := &Hosts{Client: ClientOf(linux(), own)}
			h.Client.Found = test.found
			for _, depth := range []int{test.found, test.best, test.found} { // as a climb does, in turns
				if err := h.Bring(t.Context(), State{Depth: depth}); err != nil {
					t.Fatal(err)
				}
			}
			if len(own.live) != 0 {
				t.Errorf("as it was found: %v", own.live)
			}
			sets, err := h.End(t.Context(), State{Depth: test.best}, test.keep, test.persist)
			if err != nil || own.live[slots] != test.want || own.kept != test.how {
				t.Errorf("%v slots, %s, %v", own.live, own.kept, err)
			}
			if got := strings.Join(sets, "\n"); (test.says == "") != (got == "") || !strings.Contains(got, test.says) {
				t.Errorf("it says %q", got)
			}
			kept := h.Kept(State{Depth: test.best})
			if (len(kept) == 1) != (test.best > max(test.found, 64)) {
				t.Errorf("changes of %d requests in flight: %+v", test.best, kept)
			}
		})
	}
}

// A host that does not take the slots ends the climb: it is said, and nothing is kept.
func TestSlotsRefused(t *testing.T) {
	own := &refusing{}
	h := &Hosts{Client: ClientOf(linux(), own)}
	if err := h.Bring(t.Context(), State{Depth: 128}); !errors.Is(err, ErrHosts) {
		t.Errorf("%v", err)
	}
}

type refusing struct{ onlyHost }

func (*refusing) Apply(context.Context, string, []change.Setting) error {
	return errors.New("read-only file system")
}
