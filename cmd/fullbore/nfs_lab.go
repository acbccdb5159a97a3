package main

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/fullbore/fullbore/lab"
)

// nfsInLab runs this command line on host a of a scenario, with a server of NFS on host b. What
// the scenario says of either holds unless a flag does.
func nfsInLab(app *app, name, verb string) error {
	s, err := lab.Load(name)
	if err != nil {
		return &hinted{err: err, code: exitUsage}
	}
	serve := []string{"--nfs", "--nfs-writes", "--nfs-client", "0.0.0.0/0"}
	var load []string
	if s.NFS != nil {
		serve = append(serve, nfsServerFlags(&s.NFS.Server)...)
		if verb != "sweep" { // an experiment says by itself what is asked
			load = nfsLoadFlags(&s.NFS.Load, app.args)
		}
	}
	return inLabWith(app, name, serve, func(b netip.Addr, serves *serveDocument) []string {
		flags := slices.Clip(load)
		if verb == "test" {
			flags = append(flags, "--far", b.String())
		}
		return append(flags, serves.NFS.target(b.String()))
	})
}

// nfsServerFlags are for 'serve'.
func nfsServerFlags(s *lab.NFSServer) (flags []string) {
	add := func(present bool, flag string, value any) {
		if present {
			flags = append(flags, flag, fmt.Sprint(value))
		}
	}
	add(s.Slots > 0, "--nfs-slots", s.Slots)
	add(s.Threads > 0, "--nfs-threads", s.Threads)
	add(s.Latency > 0, "--nfs-latency", s.Latency)
	add(s.Disk > 0, "--nfs-disk", s.Disk)
	add(s.Disks > 0, "--nfs-disks", s.Disks)
	return flags
}

// nfsLoadFlags are for a verb whose command line does not say otherwise.
func nfsLoadFlags(l *lab.NFSLoad, args []string) (flags []string) {
	add := func(present bool, unless []string, flag ...string) {
		if present && !given(args, unless...) {
			flags = append(flags, flag...)
		}
	}
	add(l.InFlight > 0, []string{"--depth", "--readahead"}, "--depth", strconv.Itoa(l.InFlight))
	add(l.ReadAhead > 0, []string{"--depth", "--readahead", "--random", "--write", "--mix", "--getattr", "--null"}, "--readahead", strconv.FormatInt(int64(l.ReadAhead), 10))
	add(l.Size > 0, []string{"--size"}, "--size", strconv.FormatInt(int64(l.Size), 10))
	add(l.Order != "", []string{"--random", "--sequential", "--readahead"}, "--"+l.Order)
	add(l.Connections > 0, []string{"--connections"}, "--connections", strconv.Itoa(l.Connections))
	return flags
}

// given says whether one of the flags is on a command line.
func given(args []string, flags ...string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return slices.Contains(flags, name)
	})
}
