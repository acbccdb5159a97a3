package sysctld

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// dirs are where settings for every boot are looked for, the first before the
// others (sysctl.d(5)). The last is the fourth by another name, except where
// /usr was not merged.
var dirs = []string{"etc/sysctl.d", "run/sysctl.d", "usr/local/lib/sysctl.d", "usr/lib/sysctl.d", "lib/sysctl.d"}

// Conf is the file of old. systemd reads it only where a link in one of the
// directories points to it; sysctl --system reads it too, and last.
const Conf = "etc/sysctl.conf"

// MaxText bounds how much of a settings file is read, in bytes; systemd bounds a
// single line so.
const MaxText = 1 << 20

// Files gives the files, as paths under root, in the order in which a boot reads
// them: by name, whatever their directory; of two with one name, that of the
// first directory counts, even if it is empty or leads to /dev/null (a mask).
// Those that text has are there in any case.
func Files(root string, text map[string][]byte) []string {
	var files []string
	add := func(path string) {
		same := func(f string) bool { return filepath.Base(f) == filepath.Base(path) }
		if !slices.ContainsFunc(files, same) {
			files = append(files, path)
		}
	}
	for _, dir := range dirs {
		for path := range text {
			if filepath.Dir(path) == dir {
				add(path)
			}
		}
		entries, _ := os.ReadDir(filepath.Join(root, dir))
		for _, e := range entries {
			if kind := e.Type(); !kind.IsRegular() && kind&os.ModeSymlink == 0 {
				continue
			}
			if name := e.Name(); strings.HasSuffix(name, ".conf") && !strings.HasPrefix(name, ".") {
				add(filepath.Join(dir, name))
			}
		}
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(filepath.Base(a), filepath.Base(b)) })
	return files
}

// ReadFile gives the assignments of one file under root, all of them. What it
// cannot read, a boot cannot either.
func ReadFile(root, path string) Settings {
	return Parse("/"+path, string(read(filepath.Join(root, path))))
}

func read(path string) []byte {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() { // a mask, or nothing
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, MaxText))
	if err != nil {
		return nil
	}
	return text
}
