package climb

import (
	"context"
	"slices"
	"strconv"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
)

// Client is this host, whose kernel mounts the file: its mounts of version 4.1 and later have
// as many requests in flight as their session has slots.
type Client struct {
	Host  string
	Slots int // that a mount made now asks the server for
	Most  int // that it may ask for
	Found int // requests in flight as they were found: some may wait for slots

	held change.Held
}

// slots is the tunable of how many a mount of Linux asks for when it is made.
const slots = "module.nfs.max_session_slots"

// ClientOf is this host as the client of a mount, as its facts have it; nil: their slots cannot
// be changed. What changes them is changes.
func ClientOf(facts *host.Facts, changes change.Host) *Client {
	if facts == nil || !facts.CanChange || changes == nil || slices.Contains(facts.ReadOnly, slots) {
		return nil
	}
	now, err := strconv.Atoi(facts.Tunables[slots])
	known, ok := tunable.Lookup(facts.OS, slots)
	if err != nil || now < 1 || !ok {
		return nil
	}
	return &Client{Host: facts.Name, Slots: now, Most: max(now, int(known.Max)), held: change.Held{Host: changes, Reason: "nfs tune", Within: confirmWithin}}
}

// most is how many requests a mount can have in flight; 0: it is not known here.
func (c *Client) most() int {
	if c == nil {
		return 0
	}
	return c.Most
}

// needs is how many slots so many requests in flight need; 0: there are enough.
func (c *Client) needs(depth int) int {
	if c == nil || depth <= max(c.Slots, c.Found) {
		return 0
	}
	return min(depth, c.Most)
}

// bring has mounts that are made from now on ask for enough slots. Those that there are keep theirs.
func (c *Client) bring(ctx context.Context, depth int) error {
	if c == nil {
		return nil
	}
	return bring(ctx, &c.held, slots, c.needs(depth))
}
