package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/unit"
)

// Requester is a world whose points are not measured by transfers but by requests to a file.
type Requester interface {
	World
	// Request runs a point's requests.
	Request(ctx context.Context, p Point, m Measure) (*nfs.Document, error)
}

// fileFactors are those that requests to a file can vary.
var fileFactors = []string{"window", "connections", "depth", "size"}

// OfFile says whether an experiment varies what only requests to a file have.
func (s *Spec) OfFile() bool {
	return slices.ContainsFunc(s.Factors, func(f Factor) bool { return f.file })
}

// asksFor says what an experiment varies that a world cannot.
func asksFor(factors Factors, world World) error {
	_, requests := world.(Requester)
	for i := range factors {
		switch f := &factors[i]; {
		case requests && !slices.Contains(fileFactors, f.name):
			return fmt.Errorf("%s is not of requests to a file: vary %s", f.name, strings.Join(fileFactors, ", "))
		case !requests && f.file:
			return fmt.Errorf("%s is of requests to a file of NFS: name one instead of a far end, such as nfs://server/export/file, or a scenario", f.name)
		}
	}
	return nil
}

// Files is the world of a file that is read.
type Files struct {
	target nfs.Target
	name   string
	hosts  *Hosts // nil: no far end is known where the file is, and windows are as they are
}

var _ Requester = (*Files)(nil)

// NewFiles reads a file, by its name for people. Hosts set the windows of both ends; nil:
// they cannot be set.
func NewFiles(target nfs.Target, name string, hosts *Hosts) *Files {
	return &Files{target: target, name: name, hosts: hosts}
}

// About is what the facts of both hosts say, if there are any.
func (w *Files) About() About {
	if w.hosts == nil {
		return About{}
	}
	return w.hosts.About()
}

// Set brings both hosts' windows to what the point asks for.
func (w *Files) Set(ctx context.Context, p Point) error {
	if w.hosts != nil {
		return w.hosts.Set(ctx, p)
	}
	if _, window := p.tunables("near"); !window.Present() {
		return fmt.Errorf("window is set on both hosts, and no far end is known where %s is: run fullbore serve --allow-changes there", w.name)
	}
	return nil
}

// Transfer is not what measures a file.
func (w *Files) Transfer(context.Context, bulk.Spec, func(bulk.Progress)) (*bulk.Result, error) {
	return nil, errors.New("a file is measured by requests")
}

// Taken is what both hosts' windows are.
func (w *Files) Taken(ctx context.Context, p Point) (map[string]Value, error) {
	if w.hosts == nil {
		return nil, nil
	}
	return w.hosts.Taken(ctx, p)
}

// PutBack puts both hosts' windows back.
func (w *Files) PutBack(ctx context.Context) error {
	if w.hosts == nil {
		return nil
	}
	return w.hosts.PutBack(ctx)
}

// load is what a point asks of a file, and over how many connections.
func (p Point) load(m Measure) (load nfs.Load, connections int) {
	asked := func(name string, usual float64) float64 {
		if v, ok := p.Of(name); ok && v.IsNumber() {
			return v.Number
		}
		return usual
	}
	size := asked("size", 4096)
	return nfs.Load{Op: nfs.Read, Size: int(size), Random: size < nfs.InOrderFrom, Depth: int(asked("depth", 64)), Duration: m.Duration, Omit: m.Omit}, int(asked("connections", 1))
}

// Request reads the file as the point says, over new connections.
func (w *Files) Request(ctx context.Context, p Point, m Measure) (_ *nfs.Document, err error) {
	load, connections := p.load(m)
	mount, err := nfs.Open(ctx, w.target, nfs.Options{Connections: connections, Depth: load.Depth})
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, mount.Close()) }() // after an error the server need not listen
	f, err := mount.Run(ctx, load, nil)
	if err != nil {
		return nil, err
	}
	return nfs.NewDocument(w.name, mount, load, f), nil
}

// requests measures a point that is set by requests to a file.
func (r *run) requests(ctx context.Context, files Requester, t turn, none Measured) (Measured, error) {
	d, err := files.Request(ctx, t.point, r.spec.Measure)
	if err != nil {
		return none, err
	}
	m := none
	m.Bytes = d.Requests * int64(d.Size)
	if d.Requests == 0 {
		return m, errors.New("no request was answered")
	}
	set, err := files.Taken(ctx, t.point)
	if err != nil {
		return m, fmt.Errorf("read back what was set: %w", err)
	}
	m.IOPS, m.Run = d.IOPS, &experiment.Run{Began: none.Began, Goodput: unit.Rate(d.Goodput), Figures: []bulk.Figures{}}
	m.Taken = map[string]Value{}
	for name, v := range map[string]int{"connections": len(d.Shares), "depth": d.Depth, "size": d.Size} {
		if _, varied := t.point.Of(name); varied {
			m.Taken[name] = number(float64(v))
		}
	}
	m.Taken, m.Notes = join(m.Taken, m.Notes, set)
	return m, nil
}
