package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Watcher looks at the flows of one host (of one network namespace: that of the
// thread that called New), from look to look. Its methods may be called from
// any goroutine.
type Watcher struct {
	diag     *diag
	settings *settings
	owners   owners
	sampler  *sampler
	began    time.Time

	mu      sync.Mutex // of all below, which the sampler also touches
	tracks  map[uint64]*track
	looks   uint64
	looked  time.Duration
	met     []*track // of this look, as the kernel told of them
	before  []*track // the same of the look before
	next    int      // of these the one that probably comes next
	order   []*track // of this look: the fastest first
	shown   [2]Snapshot
	written [2]uint64 // the looks at which they were
}

const (
	// maxWatched flows, the fastest, are sampled between looks.
	maxWatched = 16
	// maxExamined flows, the fastest, are diagnosed.
	maxExamined = 500
	// maxTracks bounds the flows that are followed.
	maxTracks = 1 << 20
)

// New starts a watch. Between two looks it goes on sampling the fastest flows
// in the background (a few hundred questions a second to the kernel): for three
// seconds after a look, and for three before the next is due, if they come at
// regular times.
//
// No privilege is needed to see the flows; to see whose they are takes root.
func New() (*Watcher, error) {
	runtime.LockOSThread() // all that is opened belongs to one network namespace
	defer runtime.UnlockOSThread()
	w := &Watcher{tracks: map[uint64]*track{}, began: time.Now(), owners: owners{root: "/proc"}}
	var err error
	if w.settings, err = openSettings(); err != nil {
		return nil, err
	}
	if w.diag, err = openDiag(); err != nil {
		w.settings.close()
		return nil, err
	}
	second, err := openDiag()
	if err != nil {
		w.settings.close()
		return nil, errors.Join(err, w.diag.close())
	}
	w.sampler = startSampler(second, w)
	return w, nil
}

// Close ends the watch and frees what it holds.
func (w *Watcher) Close() error {
	w.sampler.stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tracks == nil {
		return nil
	}
	w.tracks, w.met, w.before, w.order = nil, nil, nil, nil
	w.settings.close()
	return w.diag.close()
}

// Look takes a snapshot of all flows; it does not wait. The first snapshot shows
// them without rates; the second, best one to two seconds later, also what
// limits them. (On paths with a long round trip a verdict takes at least four
// round trips; a flow says that it is being measured until then.)
//
// To spare 10,000 flows their allocations, the snapshot's memory is used again:
// it stays valid until the second Look after this one begins, and is for reading
// only. Findings may be kept.
func (w *Watcher) Look(ctx context.Context) (*Snapshot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tracks == nil {
		return nil, errors.New("look at TCP flows: the watch is closed")
	}
	now := time.Now()
	at := now.Sub(w.began)
	over := at - w.looked
	w.looks++
	clear(w.before) // flows that have ended are not to be held
	w.before, w.met, w.next = w.met, w.before[:0], 0
	crowded := false
	err := w.diag.dump(ctx, func(m *message) { crowded = !w.see(m, at, over) || crowded })
	w.looked = at
	if err != nil {
		return nil, err
	}
	clear(w.order)
	w.order = append(w.order[:0], w.met...)
	w.sweep()

	s := &w.shown[w.looks%2]
	*s = Snapshot{At: now, Flows: s.Flows[:0], Notes: s.Notes[:0], TimeWait: w.settings.timeWait()}
	if w.looks > 1 {
		s.Over = over
	}
	if crowded {
		s.Notes = append(s.Notes, fmt.Sprintf("more than %d flows: the rest is not shown", maxTracks))
	}
	if err := w.findOwners(ctx, now); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		s.Notes = append(s.Notes, err.Error())
	}
	w.hide(s)
	w.examine()
	w.sampler.watch(w.order[:min(maxWatched, len(w.order))], now, s.Over)
	w.write(s)
	return s, nil
}

// write copies the flows into a snapshot, except those that it already has as
// they are, from the look before last.
func (w *Watcher) write(s *Snapshot) {
	had, written := s.Flows[:cap(s.Flows)], &w.written[w.looks%2]
	for i, t := range w.order {
		if i < len(had) && t.changed <= *written && had[i].ID == t.flow.ID {
			s.Flows = had[:i+1]
			continue
		}
		s.Flows = append(s.Flows, t.flow)
	}
	*written = w.looks
}

// see takes in one socket. It says no when there are too many.
func (w *Watcher) see(m *message, at, over time.Duration) bool {
	if m.info == nil {
		return true // only the end of a connection, in FIN_WAIT2
	}
	cookie := m.id.cookie()
	t := w.track(cookie)
	switch {
	case t != nil && t.look == w.looks:
		return true // the table of connections changed under the dump: seen twice
	case t == nil || !t.same(m):
		if len(w.tracks) >= maxTracks {
			return false
		}
		t = newTrack(m, at)
		w.tracks[cookie] = t
		t.changed = w.looks
	case !t.rests(m):
		t.observe(m, at, over)
		t.changed = w.looks
	}
	t.look, t.place = w.looks, len(w.met)
	w.met = append(w.met, t)
	return true
}

// track gives the flow of a cookie; nil for a new one. The kernel lists flows
// in the same order from look to look, except those that came and went, so that
// the map, which is scattered over memory, is seldom needed.
func (w *Watcher) track(cookie uint64) *track {
	if w.next < len(w.before) && w.before[w.next].id.cookie() == cookie {
		w.next++
		return w.before[w.next-1]
	}
	t := w.tracks[cookie]
	if t != nil {
		w.next = t.place + 1
	}
	return t
}

// sweep forgets flows that have ended.
func (w *Watcher) sweep() {
	if len(w.tracks) == len(w.met) {
		return
	}
	for cookie, t := range w.tracks {
		if t.look != w.looks {
			delete(w.tracks, cookie)
		}
	}
}

// examine puts the flows in order and says what limits them.
func (w *Watcher) examine() {
	moving := 0 // to the front, so that only these need sorting
	for i, t := range w.order {
		if t.changed != w.looks {
			continue
		}
		if t.flow.Idle {
			t.passedOver, t.flow.Limit = false, resting
			continue
		}
		w.order[i], w.order[moving] = w.order[moving], t
		moving++
	}
	slices.SortFunc(w.order[:moving], func(a, b *track) int {
		return cmp.Or(cmp.Compare(b.moved, a.moved), cmp.Compare(a.id.cookie(), b.id.cookie()))
	})
	settings := w.settings.facts()
	for i, t := range w.order[:moving] {
		if i >= maxExamined {
			if !t.passedOver {
				t.passedOver, t.flow.Limit = true, unexamined
			}
			continue
		}
		t.passedOver = false
		t.flow.Limit = t.limit(settings)
	}
}

// findOwners looks for the processes of flows that came since it last did.
func (w *Watcher) findOwners(ctx context.Context, now time.Time) error {
	unknown := false
	for _, t := range w.order {
		if !t.asked && t.inode != 0 {
			unknown = true
			break
		}
	}
	if !w.owners.due(now, unknown) {
		return nil
	}
	byInode := make(map[uint32]*track, len(w.order))
	for _, t := range w.order {
		if t.inode != 0 {
			byInode[t.inode] = t
			t.asked, t.changed, t.flow.PID, t.flow.Process = true, w.looks, 0, ""
		}
	}
	err := w.owners.scan(ctx,
		func(inode uint32) bool { return byInode[inode] != nil },
		func(inode uint32, pid int, program string) {
			f := &byInode[inode].flow
			f.PID, f.Process = pid, program
		})
	if err != nil {
		return err
	}
	for _, t := range byInode {
		t.hidden = t.flow.PID == 0 && !w.owners.complete
		if t.flow.PID == 0 && w.owners.complete {
			t.flow.Process = Kernel
		}
	}
	return nil
}

// hide counts the flows whose process is not to be seen, and says why.
func (w *Watcher) hide(s *Snapshot) {
	for _, t := range w.order {
		if t.hidden {
			s.Hidden++
		}
	}
	if s.Hidden == 0 {
		return
	}
	what := "the process of 1 flow is not visible to this user: run as root to see it"
	if s.Hidden > 1 {
		what = fmt.Sprintf("the processes of %d flows are not visible to this user: run as root to see them", s.Hidden)
	}
	if w.owners.denied == 0 && os.Geteuid() == 0 {
		what = fmt.Sprintf("%d flows belong to the kernel or to processes outside of this PID namespace: watch from the host itself to see them", s.Hidden)
	}
	s.Notes = append(s.Notes, what)
}
