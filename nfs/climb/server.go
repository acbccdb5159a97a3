package climb

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/tunable"
)

// Server is a kernel's server of NFS on the far end.
type Server struct {
	Host    string
	Threads int // as found
	Most    int // that it may be given; 0: their number may not be changed from here

	held change.Held // apart from windows: what keeps those over a boot does not keep threads
}

// threads is the tunable of how many Linux's server of NFS has.
const threads = "nfsd.threads"

// ServerOf is the kernel's server of NFS of a host, as its facts have it; nil: none serves
// there.
func ServerOf(facts *host.Facts) *Server {
	if facts == nil {
		return nil
	}
	now, err := strconv.Atoi(facts.Tunables[threads])
	if err != nil || now < 1 {
		return nil
	}
	s := &Server{Host: facts.Name, Threads: now}
	if !facts.CanChange || slices.Contains(facts.ReadOnly, threads) {
		return s
	}
	s.Most = now
	if known, ok := tunable.Lookup(facts.OS, threads); ok && facts.Memory > 0 {
		s.Most = int(max(int64(now), min(known.Max, plan.MostThreads(facts.Memory))))
	}
	return s
}

// counts are how many threads the server has, and the most that it may be given; 0: they stay
// as they are.
func (h *Hosts) counts() (now, most int) {
	if h == nil || h.Server == nil || h.Server.Most == 0 {
		return 0, 0
	}
	return h.Server.Threads, h.Server.Most
}

// bring gives the server so many threads; 0, or as many as were found: it puts them back.
func (s *Server) bring(ctx context.Context, n int) error {
	if s == nil {
		return nil
	}
	if n == s.Threads {
		n = 0
	}
	return bring(ctx, &s.held, threads, n)
}

// bring has a change set keep a tunable at a number; 0: it is put back as it was found.
func bring(ctx context.Context, held *change.Held, tunable string, n int) error {
	want := map[string]string{}
	if n > 0 {
		want[tunable] = strconv.Itoa(n)
	}
	if held.ID == "" && len(want) == 0 {
		return nil
	}
	if err := held.Bring(ctx, want); err != nil {
		return fmt.Errorf("%w: %w", ErrHosts, err)
	}
	return nil
}

// keepThreads says what keeps so many threads over a reboot of the server.
func keepThreads(n int) string {
	known, ok := tunable.Lookup("linux", threads)
	if !ok {
		return ""
	}
	return known.Fill(threads, strconv.Itoa(n), "").Persist
}
