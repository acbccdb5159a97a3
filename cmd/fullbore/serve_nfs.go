package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/fullbore/fullbore/nfs/synthetic"
)

// nfsFlags make a far end a server of NFS, too.
type nfsFlags struct {
	NFS     bool          `name:"nfs" help:"Be a server of NFS, too, with files that need no disk: so a client's path and settings are measured without one. Versions 3 and 4.1, export /synthetic."`
	Port    uint16        `name:"nfs-port" default:"2049" placeholder:"PORT" help:"TCP port of NFS, and of version 3's MOUNT (${default}); 0 takes a free one."`
	Files   []string      `name:"nfs-file" default:"big=1024GiB" placeholder:"NAME=SIZE" help:"A file that there is (${default}); can be given again."`
	Clients []string      `name:"nfs-client" placeholder:"PREFIX" help:"Addresses that may connect, such as 192.0.2.0/24 (this host alone); can be given again."`
	Writes  bool          `name:"nfs-writes" help:"Take writes: they are counted and dropped."`
	Slots   int           `name:"nfs-slots" placeholder:"N" help:"Grant a session of version 4.1 no more than this many requests in flight (2048)."`
	Threads int           `name:"nfs-threads" placeholder:"N" help:"Answer no more requests at once than this (no limit)."`
	Latency time.Duration `name:"nfs-latency" placeholder:"DURATION" help:"Take this long for each request (0)."`
	Disk    time.Duration `name:"nfs-disk" placeholder:"DURATION" help:"Take this long for each read of what was not just read, as a disk would (0)."`
	Disks   int           `name:"nfs-disks" placeholder:"N" help:"Such reads that are done at once (1)."`
	Delays  string        `name:"nfs-delays" placeholder:"SHARE" help:"Ask for this share of the reads and writes to be sent again later (DELAY), such as 1%."`
}

// nfsServer is the server, and where it listens; nil: there is none.
type nfsServer struct {
	*synthetic.Server
	listener net.Listener
	file     string
}

// maxNFSLatency bounds what a test may ask for: what Linux's clients wait for an answer
// before they ask again (nfs(5), timeo).
const maxNFSLatency = time.Minute

// listen makes the server, and has it listen.
func (c *nfsFlags) listen(ctx context.Context, bind string, log *slog.Logger) (*nfsServer, error) {
	if !c.NFS {
		return nil, nil
	}
	config := synthetic.Config{Writes: c.Writes, Slots: c.Slots, Threads: c.Threads, Latency: c.Latency, Disk: c.Disk, Disks: c.Disks, Log: log}
	for _, s := range c.Files {
		f, err := synthetic.ParseFile(s)
		if err != nil {
			return nil, usageError("--nfs-file: %w", err)
		}
		config.Files = append(config.Files, f)
	}
	var err error
	switch {
	case c.Slots < 0 || c.Slots > synthetic.MaxSlots:
		return nil, usageError("--nfs-slots %d: use 1 to %d", c.Slots, synthetic.MaxSlots)
	case c.Threads < 0:
		return nil, usageError("--nfs-threads %d: use 1 or more", c.Threads)
	case c.Latency < 0 || c.Latency > maxNFSLatency:
		return nil, usageError("--nfs-latency %v: use 0 to %v", c.Latency, maxNFSLatency)
	case c.Disk < 0 || c.Disk > maxNFSLatency:
		return nil, usageError("--nfs-disk %v: use 0 to %v", c.Disk, maxNFSLatency)
	case c.Disks < 0 || c.Disks > synthetic.MaxDisks:
		return nil, usageError("--nfs-disks %d: use 1 to %d", c.Disks, synthetic.MaxDisks)
	case c.Disks > 0 && c.Disk == 0:
		return nil, usageError("--nfs-disks needs --nfs-disk: how long a read takes")
	case c.Delays != "":
		if config.Delays, err = parseShare(c.Delays); err != nil {
			return nil, usageError("--nfs-delays: %w", err)
		}
	}
	if config.Allow, err = allowed(c.Clients); err != nil {
		return nil, err
	}
	server, err := synthetic.New(config)
	if err != nil {
		return nil, usageError("--nfs-file: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(bind, strconv.Itoa(int(c.Port))))
	if err != nil {
		return nil, &hinted{err: fmt.Errorf("serve NFS: %w", err), hint: "is this host a server of NFS already? --nfs-port PORT takes another port", code: exitFailed}
	}
	return &nfsServer{server, listener, config.Files[0].Name}, nil
}

// allowed says who may connect: those of the prefixes, and this host.
func allowed(prefixes []string) (func(netip.Addr) bool, error) {
	var all []netip.Prefix
	for _, s := range prefixes {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			a, e := netip.ParseAddr(s)
			if e != nil {
				return nil, usageError("--nfs-client: %q is neither an address nor a prefix such as 192.0.2.0/24", s)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		all = append(all, p)
	}
	return func(a netip.Addr) bool {
		for _, p := range all {
			if p.Contains(a.WithZone("")) {
				return true
			}
		}
		return a.IsLoopback()
	}, nil
}

// nfsServed is what serve prints of it.
type nfsServed struct {
	Port   int    `json:"port"` // TCP, of NFS and of version 3's MOUNT
	Export string `json:"export"`
	File   string `json:"file"` // the first one
}

func (s *nfsServer) served() *nfsServed {
	if s == nil {
		return nil
	}
	return &nfsServed{Port: s.listener.Addr().(*net.TCPAddr).Port, Export: synthetic.Root, File: s.file}
}

// target is what 'nfs test' calls the file by, from a host that calls this one host.
func (s *nfsServed) target(host string) string {
	return fmt.Sprintf("nfs://%s%s/%s?mountport=%d", net.JoinHostPort(host, strconv.Itoa(s.Port)), s.Export, s.File, s.Port)
}

// says is what clients do to use it.
func (s *nfsServed) says() string {
	return fmt.Sprintf("NFS: mount -t nfs -o vers=4.1,port=%d HOST:%s FOLDER\n  or, without a mount: fullbore nfs test '%s'\n", s.Port, s.Export, s.target("HOST"))
}
