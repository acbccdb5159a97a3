package peer

import (
	"context"
	"slices"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
)

// reserved says whether a tunable is not to be set over the network unless the
// far end was started so: one of an interface, a route or a mount, or one that can
// take a link down. A wrong value there may cut the host off from everyone, also
// from whoever would put it back, and a stolen token should not be enough for
// that. What the catalogue does not have, change.Host refuses.
func (s *Server) reserved(name string) bool {
	known, ok := tunable.Lookup(host.System(), name)
	return ok && !s.links && (known.Scope.Instanced() || known.Bounces)
}

// mayTouch refuses, as an error, what is reserved.
func (s *Server) mayTouch(name string) error {
	if !s.reserved(name) {
		return nil
	}
	return problem(ErrForbidden, "%.80s is not changed over the network, since that can cut the host off: run `fullbore apply` on that host, or start `fullbore serve --allow-link-changes` there", name)
}

// mayTouchSet is mayTouch of all that a change set holds, which may have been
// made on this host. It looks at no other set: one that cannot be read is not to
// keep a client from reverting its own.
func (s *Server) mayTouchSet(ctx context.Context, id string) error {
	if s.links {
		return nil
	}
	set, err := s.changes.Find(ctx, id)
	if err != nil {
		return answer(err)
	}
	for _, v := range set.Values {
		if err := s.mayTouch(v.Tunable); err != nil {
			return err
		}
	}
	return nil
}

// withReserved marks what is reserved as not to be set, so that it is not planned.
// Where nothing is changed over the network, the host's own administrator is advised
// what to do, and may do all of it.
func (s *Server) withReserved(facts *host.Facts) *host.Facts {
	if s.changes == nil || s.links {
		return facts
	}
	marked := *facts
	marked.ReadOnly = slices.Clone(facts.ReadOnly)
	for name := range facts.Tunables {
		if s.reserved(name) {
			marked.ReadOnly = append(marked.ReadOnly, name)
		}
	}
	slices.Sort(marked.ReadOnly)
	marked.ReadOnly = slices.Compact(marked.ReadOnly)
	return &marked
}
