package host

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/tunable"
)

// nfsMount is one mounted NFS file system.
type nfsMount struct {
	dir     string // the mount point
	device  string // "0:52"
	options map[string]string
}

// maxMounts bounds how many NFS mounts are reported.
const maxMounts = 64

// deviceNumber is the third field of a line of mountinfo, and a name in sysfs.
var deviceNumber = regexp.MustCompile(`^[0-9]{1,8}:[0-9]{1,8}$`)

// nfsMounts are the NFS mounts that this process sees, by their mount points. Of
// several at one place the last one is in effect.
func (r root) nfsMounts() ([]nfsMount, error) {
	text, err := readBounded(filepath.Join(string(r), "proc/self/mountinfo"))
	if err != nil {
		return nil, err
	}
	return parseMounts(text), nil
}

// parseMounts reads /proc/self/mountinfo (proc_pid_mountinfo(5)):
//
//	36 35 0:52 / /mnt rw,noatime shared:1 - nfs4 server:/export rw,vers=4.2,rsize=1048576
func parseMounts(text string) []nfsMount {
	mounts := map[string]nfsMount{}
	var order []string
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			break // cut off
		}
		place, what, ok := strings.Cut(line, " - ")
		at, fs := strings.Fields(place), strings.Fields(what)
		if !ok || len(at) < 5 || len(fs) < 3 {
			continue
		}
		dir := unescape(at[4])
		delete(mounts, dir) // hidden by this one, whatever it is
		if fs[0] != "nfs" && fs[0] != "nfs4" || !deviceNumber.MatchString(at[2]) || checkMount(dir) != nil {
			continue
		}
		m := nfsMount{dir: dir, device: at[2], options: map[string]string{}}
		for option := range strings.SplitSeq(fs[2], ",") {
			name, value, _ := strings.Cut(option, "=")
			m.options[name] = value
		}
		mounts[dir] = m
		order = append(order, dir)
	}
	slices.Sort(order)
	var list []nfsMount
	for _, dir := range slices.Compact(order) {
		if m, ok := mounts[dir]; ok && len(list) < maxMounts {
			list = append(list, m)
		}
	}
	return list
}

// unescape puts back what the kernel writes as three octal digits: blanks and
// backslashes.
func unescape(field string) string {
	var b strings.Builder
	for i := 0; i < len(field); i++ {
		if field[i] == '\\' && i+4 <= len(field) {
			if code, err := strconv.ParseUint(field[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(code))
				i += 3
				continue
			}
		}
		b.WriteByte(field[i])
	}
	return b.String()
}

// mount finds an NFS mount by its mount point.
func (s *session) mount(dir string) (nfsMount, error) {
	mounts, err := s.root.nfsMounts()
	if err != nil {
		return nfsMount{}, err
	}
	for _, m := range mounts {
		if m.dir == dir {
			return m, nil
		}
	}
	return nfsMount{}, fmt.Errorf("an NFS file system at %s is %w", dir, errInstance)
}

// mountOption is an option that a file system was mounted with.
type mountOption struct {
	name   string
	silent bool   // where it is 1, the kernel does not report it (nfs_show_mount_options)
	least  string // the least version of NFS that has it; "": any has
}

func (w mountOption) get(s *session, dir string) (string, error) {
	m, err := s.mount(dir)
	if err != nil {
		return "", err
	}
	value, ok := m.options[w.name]
	if !ok && w.silent && m.options["vers"] >= w.least {
		known, _ := tunable.Lookup("linux", "nfs."+w.name)
		version, err := s.root.line("proc/sys/kernel/osrelease")
		if err == nil && known != nil && version != "" && known.Applies(version) {
			value = "1"
		}
	}
	if value == "" {
		return "", fmt.Errorf("%s is %w among the mount's options", w.name, errInstance)
	}
	return parseCount(value)
}

func (mountOption) set(*session, string, string) error { return errMounted }

func (mountOption) settable(*session, string) error { return errMounted }

var errMounted = fmt.Errorf("a mount keeps its options: unmount it and mount it with the new ones: %w", unix.EBUSY)

// readAhead is how much of a file is read ahead on a mount, in KiB. Unlike
// options, it can be changed while it is mounted.
type readAhead struct{}

func (readAhead) file(s *session, dir string) (string, error) {
	m, err := s.mount(dir)
	return filepath.Join(string(s.root), "sys/class/bdi", m.device, "read_ahead_kb"), err
}

func (w readAhead) get(s *session, dir string) (string, error) {
	file, err := w.file(s, dir)
	if err != nil {
		return "", err
	}
	text, err := readBounded(file)
	if err != nil {
		return "", err
	}
	return parseCount(strings.TrimSpace(text))
}

func (w readAhead) set(s *session, dir, value string) error {
	if _, err := parseCount(value); err != nil {
		return err
	}
	file, err := w.file(s, dir)
	if err != nil {
		return err
	}
	if err := writeLine(file, value); err != nil {
		return refused(err)
	}
	return nil
}

func (w readAhead) settable(s *session, dir string) error {
	file, err := w.file(s, dir)
	if err != nil {
		return err
	}
	return openable(file)
}
