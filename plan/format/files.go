package format

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// WriteFiles writes files into a directory, all or none: each is complete under
// another name before the first gets its own. It gives their paths. What is there
// already, and may not be replaced, is an fs.ErrExist; only files are replaced.
func WriteFiles(dir string, files []File, replace bool) (paths []string, err error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is there already, and is no directory%w", dir, there{})
	}
	for i, file := range files {
		if !filepath.IsLocal(file.Name) || slices.ContainsFunc(files[:i], func(f File) bool { return f.Name == file.Name }) {
			return nil, fmt.Errorf("write %s: the format gives it twice, or outside of %s", file.Name, dir)
		}
		at := filepath.Join(dir, file.Name)
		switch info, err := os.Lstat(at); {
		case err == nil && (!replace || !info.Mode().IsRegular()):
			return nil, fmt.Errorf("%s is there already%w", at, there{})
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("write plan: %w", err)
		}
	}
	var waiting, placed []string // files under their temporary names, and under their own
	defer func() {
		for _, name := range waiting {
			_ = os.Remove(name)
		}
		if err == nil || replace {
			return
		}
		for _, name := range placed {
			_ = os.Remove(name)
		}
	}()
	for _, file := range files {
		name, err := writeBeside(filepath.Join(dir, file.Name), file)
		if err != nil {
			return nil, fmt.Errorf("write plan: %w", err)
		}
		waiting = append(waiting, name)
	}
	for i, file := range files {
		at := filepath.Join(dir, file.Name)
		if err := os.Rename(waiting[i], at); err != nil {
			return nil, fmt.Errorf("write plan: %w", err)
		}
		placed = append(placed, at)
	}
	return placed, nil
}

// there makes an error an fs.ErrExist without another word.
type there struct{}

func (there) Error() string        { return "" }
func (there) Is(target error) bool { return target == fs.ErrExist }

// writeBeside writes a file completely, under another name in the directory where
// it is to be.
func writeBeside(at string, file File) (name string, err error) {
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(at), ".fullbore-*")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(file.Text)
	err = errors.Join(err, f.Chmod(fs.FileMode(file.Mode).Perm()), f.Sync(), f.Close())
	if err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}
