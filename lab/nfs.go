package lab

import (
	"fmt"
	"strings"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// NFS is for the verbs of 'fullbore nfs': what host b is like as a server of files that need
// no disk, and what host a asks of it.
type NFS struct {
	Server NFSServer `yaml:"server" json:"server"`
	Load   NFSLoad   `yaml:"load" json:"load"`
}

// NFSServer is what is particular about the server. What it can have at most is the same as
// of 'serve --nfs'.
type NFSServer struct {
	Slots   int           `yaml:"slots" json:"slots,omitempty" range:"1 2048" example:"16"`         // granted to a session of version 4.1
	Threads int           `yaml:"threads" json:"threads,omitempty" range:"1 10000" example:"4"`     // requests that are answered at once
	Latency time.Duration `yaml:"latency" json:"latency_ns,omitempty" range:"1us 1m" example:"1ms"` // of each request, with its thread held
	Disk    time.Duration `yaml:"disk" json:"disk_ns,omitempty" range:"1us 1m" example:"5ms"`       // of each read of what was not just read, with its thread held
	Disks   int           `yaml:"disks" json:"disks,omitempty" range:"1 1000" example:"2"`          // reads that the disk does at once; omitted: 1
}

// NFSLoad is what is asked, unless flags say otherwise; what is omitted is as without a
// scenario.
type NFSLoad struct {
	InFlight    int       `yaml:"in_flight" json:"in_flight,omitempty" range:"1 4096" example:"16"`
	Connections int       `yaml:"connections" json:"connections,omitempty" range:"1 64" example:"1"`
	Size        unit.Size `yaml:"size" json:"size_bytes,omitempty" range:"1 4MiB" example:"64KiB"` // of each request
	Order       string    `yaml:"order" json:"order,omitempty" of:"random sequential" example:"random"`
	ReadAhead   unit.Size `yaml:"read_ahead" json:"read_ahead_bytes,omitempty" range:"1KiB 16MiB" example:"128KiB"` // of a program that reads in order; instead of in_flight
}

func (c *checker) nfs(n *NFS) {
	const at = "nfs.load"
	l := &n.Load
	c.Reject(l.ReadAhead > 0 && l.InFlight > 0, at+".in_flight", "how many requests are in flight follows from read_ahead: leave one of them out")
	c.Reject(l.ReadAhead > 0 && l.Order == "random", at+".order", "who reads at random has nothing read ahead: order: sequential, or no read_ahead")
	c.Reject(l.InFlight > 0 && l.Connections > l.InFlight, at+".connections", "%d connections need as many requests in flight, not %d", l.Connections, l.InFlight)
	c.Reject(n.Server.Disks > 0 && n.Server.Disk == 0, "nfs.server.disks", "disks needs disk: how long a read of it takes")
}

func (n *NFS) draw(b *strings.Builder) {
	var server, load []string
	add := func(to *[]string, present bool, format string, args ...any) {
		if present {
			*to = append(*to, fmt.Sprintf(format, args...))
		}
	}
	s, l := &n.Server, &n.Load
	add(&server, s.Slots > 0, "grants %d slots", s.Slots)
	add(&server, s.Threads > 0, "answers %d requests at once", s.Threads)
	add(&server, s.Latency > 0, "takes %s for each", unit.Milliseconds(s.Latency))
	add(&server, s.Disk > 0, "reads what was not just read in %s, %d at once", unit.Milliseconds(s.Disk), max(1, s.Disks))
	add(&load, l.InFlight > 0, "%d in flight", l.InFlight)
	add(&load, l.Size > 0, "%s each", l.Size)
	add(&load, l.Order != "", "%s", l.Order)
	add(&load, l.ReadAhead > 0, "%s read ahead", l.ReadAhead)
	add(&load, l.Connections > 0, "over %s", unit.Count(l.Connections, "connection"))
	label := "nfs"
	for _, part := range []struct {
		name  string
		lines []string
	}{{"server", server}, {"requests", load}} {
		if part.lines != nil {
			fmt.Fprintf(b, "  %-7s %s: %s\n", label, part.name, strings.Join(part.lines, ", "))
			label = ""
		}
	}
}
