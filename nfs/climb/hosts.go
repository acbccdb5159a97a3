package climb

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/plan"
)

// Far is the far end on the file's server: *peer.Client is one.
type Far interface {
	examine.Far
	// Changes sets that host's tunables; nil when it does not allow that.
	Changes() change.Host
}

// Hosts are both ends: a climb may raise their windows, the threads of a server of NFS and the
// slots of a client's mounts.
type Hosts struct {
	Changes []plan.Change // for windows that the path needs, and that may be made
	Others  []plan.Change // that may not be made from here
	Server  *Server       // nil: it serves no NFS, or not with Linux's threads
	Client  *Client       // nil: the file is not mounted here, or the slots of mounts cannot be changed

	ends map[plan.Role]*change.Held
}

// confirmWithin is the dead man's deadline of both change sets, as in tuning: longer than a
// single run.
const confirmWithin = 30 * time.Second

// Meet examines the path in the direction that the file's data take, and plans what its
// windows need. Near has this host's tunables.
func Meet(ctx context.Context, facts examine.Near, near change.Host, far Far, d bulk.Direction, watch examine.Watcher) (*Hosts, error) {
	x, err := examine.Run(ctx, facts, far, examine.Options{Direction: d, Quick: true, Watch: watch})
	if err != nil {
		return nil, err
	}
	sender, receiver := x.Evidence.SenderHost, x.Evidence.ReceiverHost
	here, there := plan.Sender, plan.Receiver
	if d == bulk.Reverse {
		here, there = there, here
	}
	h := &Hosts{ends: map[plan.Role]*change.Held{
		here:  {Host: near, Reason: "nfs tune", Within: confirmWithin},
		there: {Host: far.Changes(), Reason: "nfs tune", Within: confirmWithin},
	}}
	if sender != nil && receiver != nil && sender.Name == receiver.Name {
		map[plan.Role]*host.Facts{plan.Sender: sender, plan.Receiver: receiver}[there].Name += " (far end)"
	}
	p := plan.Make(plan.Input{
		Path: x.Evidence.Path, Direction: d, Sender: sender, Receiver: receiver, Diagnosis: &x.Diagnosis, Baseline: x.Evidence.Transfer, Workload: plan.NFS,
	})
	may := map[plan.Role]bool{
		plan.Sender: sender != nil && sender.CanChange && h.ends[plan.Sender].Host != nil, plan.Receiver: receiver != nil && receiver.CanChange && h.ends[plan.Receiver].Host != nil,
	}
	for _, step := range p.Steps {
		for _, c := range step.Changes {
			switch {
			case aboutNFS.MatchString(c.Tunable): // the server's threads have their own rule, and mounts are in use
			case may[c.Role]:
				h.Changes = append(h.Changes, c)
			default:
				h.Others = append(h.Others, c)
			}
		}
	}
	found := map[plan.Role]*host.Facts{plan.Sender: sender, plan.Receiver: receiver}[there]
	if h.Server = ServerOf(found); h.Server != nil {
		h.Server.held = change.Held{Host: far.Changes(), Reason: "nfs tune", Within: confirmWithin}
		if !may[there] {
			h.Server.Most = 0
		}
	}
	return h, nil
}

// aboutNFS are the tunables of mounts, of servers, and of the modules that all mounts share.
var aboutNFS = regexp.MustCompile(`^(nfs|nfsd|sunrpc|module\.(nfs|sunrpc))\.`)

// Bring sets what a state has of both hosts, and puts back all else.
func (h *Hosts) Bring(ctx context.Context, s State) error {
	if err := h.Server.bring(ctx, s.Threads); err != nil {
		return err
	}
	if err := h.Client.bring(ctx, s.Depth); err != nil {
		return err
	}
	for role, held := range h.ends {
		want := map[string]string{}
		for _, c := range h.Changes {
			if s.Windows && c.Role == role {
				want[c.Tunable] = c.To
			}
		}
		if held.Host == nil || held.ID == "" && len(want) == 0 {
			continue
		}
		if err := held.Bring(ctx, want); err != nil {
			return fmt.Errorf("%w: %w", ErrHosts, err)
		}
	}
	return nil
}

// Kept are the changes that a state needs of both hosts.
func (h *Hosts) Kept(s State) (all []plan.Change) {
	if s.Windows {
		all = slices.Clone(h.Changes)
	}
	if server := h.Server; server != nil && s.Threads > 0 && s.Threads != server.Threads {
		all = append(all, plan.Change{Host: server.Host, Tunable: threads, From: strconv.Itoa(server.Threads), To: strconv.Itoa(s.Threads)})
	}
	if client := h.Client; client.needs(s.Depth) > 0 {
		all = append(all, plan.Change{Host: client.Host, Tunable: slots, From: strconv.Itoa(client.Slots), To: strconv.Itoa(client.needs(s.Depth))})
	}
	return all
}

// revertWithin is how long one host has to put everything back.
const revertWithin = 10 * time.Second

// End closes the change sets: what a state needs stays if it is to be kept, until the next
// boot or, with persist, windows and slots for good; else all is put back. It gives what undoes the sets
// that stay, and on which host.
func (h *Hosts) End(ctx context.Context, s State, keep, persist bool) (sets []string, err error) {
	var errs []error
	if keep { // the last run may have been one without
		if err := h.Bring(ctx, s); err != nil {
			errs, keep = append(errs, err), false
		}
	}
	end := func(held *change.Held, host string, persist bool) {
		if held == nil || held.ID == "" {
			return
		}
		if keep && len(held.Live) > 0 {
			err, only := held.Host.Confirm(ctx, held.ID, persist), ""
			if persist && errors.Is(err, change.ErrRefused) {
				only = fmt.Sprintf("; it is kept until the next boot only: %v", err)
				err = held.Host.Confirm(ctx, held.ID, false)
			}
			if err == nil {
				sets = append(sets, fmt.Sprintf("on %s: fullbore revert %s%s", host, held.ID, only))
				return
			}
			errs = append(errs, fmt.Errorf("keep change set %s: %w", held.ID, err))
		}
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), revertWithin)
		defer cancel()
		if _, err := held.Host.Revert(within, held.ID); err != nil {
			errs = append(errs, fmt.Errorf("revert change set %s: %w (it reverts by itself within %v)", held.ID, err, confirmWithin))
		}
	}
	for _, role := range []plan.Role{plan.Sender, plan.Receiver} {
		end(h.ends[role], h.name(role), persist)
	}
	if h.Server != nil {
		end(&h.Server.held, h.Server.Host, false)
	}
	if h.Client != nil {
		end(&h.Client.held, h.Client.Host, persist)
	}
	return slices.Clip(sets), errors.Join(errs...)
}

// name is what people call the host with a role that has changes.
func (h *Hosts) name(role plan.Role) string {
	for _, c := range h.Changes {
		if c.Role == role {
			return c.Host
		}
	}
	return string(role)
}
