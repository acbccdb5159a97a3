package host

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/tunable"
)

// way is how a tunable that is no sysctl is read and set. Instances are such as
// checkInstance lets pass, "" where there is only one.
type way interface {
	get(s *session, instance string) (string, error)
	set(s *session, instance, value string) error
	// settable reports, as an error, why this process could not set it. It
	// touches nothing.
	settable(s *session, instance string) error
}

// ways gives the way of every tunable that is no sysctl, by its name without an
// instance. The catalogue says what each of them is of, and what it means.
var ways = map[string]way{
	"link.mtu":        linkNumber{unix.IFLA_MTU, func(d device) uint32 { return d.mtu }, func(d device) uint32 { return d.largest }, keepIPv6},
	"link.txqueuelen": linkNumber{unix.IFLA_TXQLEN, func(d device) uint32 { return d.queue }, nil, nil},

	"link.ring.rx":              parameter{rings, 5, 1, false},
	"link.ring.tx":              parameter{rings, 8, 4, false},
	"link.channels.combined":    parameter{channels, 8, 4, false},
	"link.coalesce.rx-usecs":    parameter{coalescing, 1, 0, false},
	"link.coalesce.adaptive-rx": parameter{coalescing, 10, 0, true},
	"link.pause.autoneg":        parameter{pauses, 1, 0, true},
	"link.pause.rx":             parameter{pauses, 2, 0, true},
	"link.pause.tx":             parameter{pauses, 3, 0, true},

	"link.offload.rx":  offload("rx"),
	"link.offload.tx":  offload("tx"),
	"link.offload.sg":  offload("sg"),
	"link.offload.tso": offload("tso"),
	"link.offload.gso": offload("gso"),
	"link.offload.gro": offload("gro"),
	"link.offload.lro": offload("lro"),

	"link.qdisc": rootQdisc{},

	"link.rps_cpus":     queueFiles{"rps_cpus", parseMask},
	"link.rps_flow_cnt": queueFiles{"rps_flow_cnt", parseCount},

	"cpu.governor": governor{},

	"nfsd.threads":                 hostFile{"proc/fs/nfsd/threads", nfsdRuns},
	"nfsd.max_block_size":          hostFile{"proc/fs/nfsd/max_block_size", nil},
	"module.nfs.max_session_slots": hostFile{"sys/module/nfs/parameters/max_session_slots", nil},
	"cmdline.iommu":                commandLine("iommu"),

	"nfs.rsize":         mountOption{name: "rsize"},
	"nfs.wsize":         mountOption{name: "wsize"},
	"nfs.nconnect":      mountOption{name: "nconnect", silent: true},
	"nfs.max_connect":   mountOption{name: "max_connect", silent: true, least: "4.1"},
	"nfs.read_ahead_kb": readAhead{},

	"route.congctl": routeCongestion{},
}

// find takes a tunable's name apart. The way of a sysctl is nil.
func find(name string) (w way, known *tunable.Tunable, instance string, err error) {
	base, instance := tunable.Split(name)
	if err := checkName(base); err != nil {
		return nil, nil, "", err
	}
	w, ok := ways[base]
	if !ok {
		return nil, nil, "", checkName(name) // a sysctl is of nothing
	}
	if known, ok = tunable.Lookup("linux", base); !ok {
		return nil, nil, "", fmt.Errorf("tunable %s: not in the catalogue", base)
	}
	if known.Scope.Instanced() != strings.Contains(name, "@") {
		return nil, nil, "", fmt.Errorf("tunable %.80q: %w, of its scope (%s)", name, ErrName, known.Scope)
	}
	if err := checkInstance(known.Scope, instance); err != nil {
		return nil, nil, "", fmt.Errorf("tunable %s: %w", base, err)
	}
	return w, known, instance, nil
}

func (s *session) get(name string) (string, error) {
	w, _, instance, err := find(name)
	if err != nil {
		return "", err
	}
	if w == nil {
		return s.root.get(name)
	}
	value, err := w.get(s, instance)
	if err != nil {
		return "", fmt.Errorf("read tunable %s: %w", name, withoutPath(err))
	}
	return tunable.Normalise(value), nil
}

func (s *session) set(name, value string) error {
	w, known, instance, err := find(name)
	if err != nil {
		return err
	}
	if w == nil {
		return s.root.set(name, value)
	}
	value = tunable.Normalise(value)
	if value == "" || len(value) > maxValue {
		return fmt.Errorf("set %s: a value has 1 to %d bytes, this one %d", name, maxValue, len(value))
	}
	if err := s.root.reaches(known.Scope); err != nil {
		return fmt.Errorf("set %s: %w", name, err)
	}
	if err := w.set(s, instance, value); err != nil {
		return fmt.Errorf("set %s to %q: %w", name, value, withoutPath(err))
	}
	s.forget()
	now, err := s.get(name)
	if err != nil {
		return err
	}
	if now != value {
		return fmt.Errorf("set %s: wrote %q, the kernel made it %q", name, value, now)
	}
	return nil
}

// settable reports, as an error, why this process could not set a tunable that
// is here.
func (s *session) settable(name string) error {
	w, known, instance, err := find(name)
	if err != nil {
		return err
	}
	if w == nil {
		return s.root.writable(name)
	}
	if err := s.root.reaches(known.Scope); err != nil {
		return err
	}
	return w.settable(s, instance)
}

// limited is a way whose device says how large a value may be.
type limited interface {
	// most is the largest value; 0: the device does not say.
	most(s *session, instance string) uint32
}

// most is the largest value that a tunable which is here can have, where that is
// known of its device.
func (s *session) most(name string) (int64, bool) {
	w, _, instance, err := find(name)
	if err != nil {
		return 0, false
	}
	if l, ok := w.(limited); ok {
		most := int64(l.most(s, instance))
		return most, most > 0
	}
	return 0, false
}

// reaches refuses what applies to the whole machine to a process in another
// network namespace than its first: a container, or a host of the lab. Of the
// sysctls, the kernel refuses these itself; files of sysfs and mounts it leaves
// to root, whichever root that is. Only in the first one is tcp_mem to be seen.
func (r root) reaches(scope tunable.Scope) error {
	if scope != tunable.OfHost && scope != tunable.OfMount || r.first() {
		return nil
	}
	return errors.New("it holds for the whole machine, and this is a network namespace within it: set it on the machine itself")
}

// first reports whether this is the machine's first network namespace.
func (r root) first() bool {
	_, err := r.line("proc/sys/net/ipv4/tcp_mem")
	return !errors.Is(err, fs.ErrNotExist)
}

// refused says that an error is the kernel's answer, in its own words if it gave any.
func refused(err error) error {
	return fmt.Errorf("the kernel refuses it: %w", withoutPath(err))
}

// parseCount reads a number in the form it must be written in: only so does it read back
// the same.
func parseCount(text string) (string, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return "", fmt.Errorf("%.40q is not a number from 0 to 4294967295", text)
	}
	return text, nil
}

// number is parseCount for those who need the number.
func number(text string) (uint32, error) {
	if _, err := parseCount(text); err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), err
}
