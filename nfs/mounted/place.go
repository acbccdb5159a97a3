package mounted

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"

	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/unit"
)

// Place is a file in a mount.
type Place struct {
	Mount
	File      string         // its whole path
	Size      int64          // in bytes
	Server    netip.AddrPort // of NFS
	ReadAhead *unit.Size     // read_ahead_kb of the mount's device; nil: not known

	root   string // the directory of the export that is mounted
	others *int   // connections to the server before the first trial; nil: there was none yet
}

// fewestBytes of a file that is measured: less says nothing of reading.
const fewestBytes = 1 << 20

// Find gives the file that a path names, or the largest one directly in the directory that
// it names.
func Find(path string) (*Place, error) {
	whole, err := filepath.Abs(path)
	if err == nil {
		whole, err = filepath.EvalSymlinks(whole)
	}
	if err != nil {
		return nil, err
	}
	mounts, err := Read("/proc")
	if err != nil {
		return nil, err
	}
	p := &Place{File: whole}
	if p.Mount, err = At(mounts, whole); err != nil {
		return nil, err
	}
	info, err := os.Stat(whole)
	if err == nil && info.IsDir() {
		p.File, info, err = largest(whole)
	}
	if err != nil {
		return nil, err
	}
	if p.Size = info.Size(); !info.Mode().IsRegular() || p.Size < fewestBytes {
		return nil, fmt.Errorf("%s: a file of at least %v is needed to read from; name one", p.File, unit.Size(fewestBytes))
	}
	if err := p.locate(); err != nil {
		return nil, fmt.Errorf("%s: %w", p.Point, err)
	}
	p.ReadAhead = p.readAhead("/sys")
	return p, nil
}

// mostEntries of a directory that are looked at for a file.
const mostEntries = 10_000

func largest(dir string) (string, fs.FileInfo, error) {
	d, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = d.Close() }()
	entries, err := d.ReadDir(mostEntries)
	if err != nil && len(entries) == 0 {
		return "", nil, fmt.Errorf("%s: no file to read from: name one in it (%w)", dir, err)
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
		}
	}
	if len(files) == 0 {
		return "", nil, fmt.Errorf("%s: no file to read from: name one below it", dir)
	}
	f := slices.MaxFunc(files, func(a, b fs.FileInfo) int { return cmp.Compare(a.Size(), b.Size()) })
	return filepath.Join(dir, f.Name()), f, nil
}

// locate finds where the mount's connections go (options addr and port), and which directory of
// the export it shows.
func (p *Place) locate() error {
	mounts, err := mountInfo()
	if err != nil {
		return err
	}
	for _, m := range slices.Backward(mounts) { // of two at one place the later one is seen
		if m.MountPoint != p.Point || !strings.HasPrefix(m.FSType, "nfs") {
			continue
		}
		address, err := netip.ParseAddr(m.SuperOptions["addr"])
		if err != nil {
			return fmt.Errorf("the server's address: %w", err)
		}
		port := uint64(nfs.UsualPort)
		if s := cmp.Or(m.SuperOptions["port"], p.Options["port"]); s != "" && s != "0" {
			if port, err = strconv.ParseUint(s, 10, 16); err != nil {
				return fmt.Errorf("the server's port: %w", err)
			}
		}
		p.Server, p.root = netip.AddrPortFrom(address, uint16(port)), m.Root
		return nil
	}
	return errors.New("the mount is gone")
}

// mountInfo are the mounts that this process sees.
func mountInfo() ([]*procfs.MountInfo, error) {
	self, err := procfs.Self()
	if err != nil {
		return nil, err
	}
	mounts, err := self.MountInfo()
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	return mounts, nil
}

// below is the file's path from the root of what the mount shows of its export.
func (p *Place) below() string {
	rest := strings.TrimPrefix(strings.TrimPrefix(p.File, p.Point), "/")
	return strings.TrimPrefix(filepath.Join(p.root, rest), "/")
}

// Slots are how many requests the mount may have on their way; 0: more than anyone asks for.
// Version 4.1 and later have a session's slots (max_session_slots of the module nfs); what
// the server grants of them no file says.
func (p *Place) Slots() int {
	if !strings.HasPrefix(p.Version, "4.") || p.Version == "4.0" {
		return 0
	}
	text, err := os.ReadFile("/sys/module/nfs/parameters/max_session_slots")
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || n < 0 {
		return 0
	}
	return n
}
