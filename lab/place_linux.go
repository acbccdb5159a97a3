package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/near"
)

// place is the directory of one running lab: its description, the sockets that
// its hosts take commands on, and what a later lab needs to clean up after it.
// A lock held by the owner says that it lives; the kernel drops the lock with
// the process, however that ends.
type place struct {
	dir  string
	lock *os.File
}

// description is a place's lab.json.
type description struct {
	PID      int       `json:"pid"`
	Scenario string    `json:"scenario"`
	Hosts    []string  `json:"hosts"`
	Started  time.Time `json:"started"`
	Groups   []string  `json:"groups,omitempty"` // control groups to remove
}

// maxSocketPath is the longest path of a Unix socket (sun_path, unix(7)).
const maxSocketPath = 107

// roots are where labs of this user may be, the preferred one first. They are
// apart from fullbore's own run-time directory, of which hosts see a private one.
func roots() []string { return rootsOf(os.Getuid(), os.Getenv("XDG_RUNTIME_DIR")) }

func rootsOf(uid int, runtimeDir string) []string {
	if uid == 0 {
		return []string{"/run/fullbore-lab"}
	}
	all := []string{"/tmp/fullbore-lab-" + strconv.Itoa(uid)}
	if filepath.IsAbs(runtimeDir) {
		all = slices.Insert(all, 0, filepath.Join(runtimeDir, "fullbore-lab"))
	}
	return all
}

// newPlace makes a place for a lab of this process, and removes those that dead
// labs left.
func newPlace(scenario string, hosts []string) (*place, error) {
	var failed []error
	for _, root := range roots() {
		p, err := newPlaceIn(root, scenario, hosts)
		if err == nil {
			return p, nil
		}
		failed = append(failed, err)
	}
	return nil, fmt.Errorf("make a directory for the lab: %w", errors.Join(failed...))
}

func newPlaceIn(root, scenario string, hosts []string) (*place, error) {
	name := 0
	for _, host := range hosts {
		name = max(name, len(host))
	}
	if len(root)+len("/4194304.99/")+name > maxSocketPath {
		return nil, fmt.Errorf("%s is too long for the path of a socket", root)
	}
	if err := os.Mkdir(root, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	guard, err := lockRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = guard.Close() }() // which unlocks
	sweep(root)

	dir := filepath.Join(root, strconv.Itoa(os.Getpid()))
	for n := 2; ; n++ {
		if err = os.Mkdir(dir, 0o700); !errors.Is(err, os.ErrExist) || n > 99 {
			break
		}
		dir = filepath.Join(root, fmt.Sprintf("%d.%d", os.Getpid(), n))
	}
	if err != nil {
		return nil, err
	}
	p := &place{dir: dir}
	if p.lock, err = os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err == nil {
		err = unix.Flock(int(p.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil {
		err = p.describe(description{PID: os.Getpid(), Scenario: scenario, Hosts: hosts, Started: time.Now()})
	}
	if err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

// lockRoot checks that the directory is this user's alone, and keeps others
// from making or sweeping places in it meanwhile.
func lockRoot(root string) (*os.File, error) {
	info, err := os.Lstat(root)
	if err != nil {
		return nil, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(stat.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s is not a directory of this user alone: remove it", root)
	}
	guard, err := os.Open(root)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(guard.Fd()), unix.LOCK_EX); err != nil {
		_ = guard.Close()
		return nil, fmt.Errorf("lock %s: %w", root, err)
	}
	return guard, nil
}

func (p *place) describe(d description) error {
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.dir, "lab.json"), data, 0o600)
}

func readDescription(dir string) (d description, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "lab.json"))
	if err != nil {
		return d, err
	}
	return d, json.Unmarshal(data, &d)
}

func (p *place) remove() {
	_ = os.RemoveAll(p.dir)
	_ = p.lock.Close() // nil if there is none: that is an error, not a panic
}

// sweep removes what dead labs left in root. Whatever fails is left to the next.
func sweep(root string) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return
	}
	for _, entry := range entries {
		dir := filepath.Join(root, entry.Name())
		if alive(dir) {
			continue
		}
		if d, err := readDescription(dir); err == nil {
			for _, group := range d.Groups {
				removeGroup(group)
			}
		}
		_ = os.RemoveAll(dir)
	}
}

// alive says whether the owner of a place holds its lock.
func alive(dir string) bool {
	lock, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		return false
	}
	defer func() { _ = lock.Close() }()
	return unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}

// runningLab is a lab of this user that is up now.
type runningLab struct {
	description
	id  string // the owner's process number; with a suffix if it runs several
	dir string
}

// runningLabs lists the labs in these directories that are up now, oldest first.
func runningLabs(roots []string) []runningLab {
	var all []runningLab
	for _, root := range roots {
		entries, err := os.ReadDir(root)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			dir := filepath.Join(root, entry.Name())
			if d, err := readDescription(dir); err == nil && alive(dir) {
				all = append(all, runningLab{id: entry.Name(), description: d, dir: dir})
			}
		}
	}
	slices.SortFunc(all, func(a, b runningLab) int { return a.Started.Compare(b.Started) })
	return all
}

// Attach gives a host of a running lab, to run commands on: the lab with that
// identifier or, without one, the only lab there is. On a host of the lab, whose
// user may seem another there, the identifier is the lab's directory.
func Attach(id, hostName string) (*Host, error) {
	if filepath.IsAbs(id) {
		return attachWithin([]string{filepath.Dir(id)}, filepath.Base(id), hostName)
	}
	return attachWithin(roots(), id, hostName)
}

func attachWithin(roots []string, id, hostName string) (*Host, error) {
	labs := runningLabs(roots)
	if id != "" {
		labs = slices.DeleteFunc(labs, func(r runningLab) bool { return r.id != id })
	}
	switch {
	case len(labs) == 0 && id != "":
		return nil, fmt.Errorf("no lab %s is running", id)
	case len(labs) == 0:
		return nil, errors.New("no lab is running: start one with fullbore lab run SCENARIO -- COMMAND")
	case len(labs) > 1:
		var names []string
		for _, r := range labs {
			names = append(names, r.id+" ("+r.Scenario+")")
		}
		return nil, fmt.Errorf("several labs are running: choose one with --lab: %s", strings.Join(names, ", "))
	}
	for _, h := range newHosts(labs[0].Hosts) {
		if h.name == hostName {
			h.socket = filepath.Join(labs[0].dir, hostName)
			return h, nil
		}
	}
	return nil, fmt.Errorf("unknown host %q%s: the lab has %s", hostName, near.DidYouMean(hostName, labs[0].Hosts), strings.Join(labs[0].Hosts, ", "))
}
