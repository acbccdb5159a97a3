package format

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// contents are the regular files below a directory, by their names.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		relative, _ := filepath.Rel(dir, name)
		found[filepath.ToSlash(relative)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestWriteFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	files := []File{{Name: "90-x.conf", Text: "x = 1\n", Mode: 0o644}, {Name: "etc/undo.sh", Text: "#!/bin/sh\n", Mode: 0o755}}
	paths, err := WriteFiles(dir, files, false)
	if err != nil || !slices.Equal(paths, []string{filepath.Join(dir, "90-x.conf"), filepath.Join(dir, "etc", "undo.sh")}) {
		t.Fatalf("%v, %v", paths, err)
	}
	if got := contents(t, dir); len(got) != 2 || got["90-x.conf"] != "x = 1\n" || got["etc/undo.sh"] != "#!/bin/sh\n" {
		t.Errorf("%q", got)
	}
	if info, err := os.Stat(paths[1]); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}

	files[1].Text = "changed"
	if _, err := WriteFiles(dir, append([]File{{Name: "new"}}, files...), false); !errors.Is(err, fs.ErrExist) || err.Error() != paths[0]+" is there already" {
		t.Errorf("over files that are there: %v", err)
	}
	if got := contents(t, dir); len(got) != 2 || got["etc/undo.sh"] != "#!/bin/sh\n" {
		t.Errorf("a refusal left %q", got)
	}
	if _, err := WriteFiles(dir, files, true); err != nil || contents(t, dir)["etc/undo.sh"] != "changed" {
		t.Errorf("replaced: %v, %q", err, contents(t, dir))
	}
}

// TestWriteFilesNone: what cannot all be written is not written at all.
func TestWriteFilesNone(t *testing.T) {
	for name, test := range map[string]struct {
		files   []File
		replace bool
		before  func(dir string) error
		exists  bool // the error says that something is in the way
	}{
		"outside":                {files: []File{{Name: "a"}, {Name: "../b"}}},
		"twice":                  {files: []File{{Name: "a"}, {Name: "a"}}},
		"a directory in the way": {files: []File{{Name: "a"}, {Name: "b"}}, replace: true, before: func(dir string) error { return os.MkdirAll(filepath.Join(dir, "b"), 0o755) }, exists: true},
		"a link in the way": {files: []File{{Name: "a"}, {Name: "b"}}, replace: true, before: func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o755), os.Symlink("/dev/null", filepath.Join(dir, "b")))
		}, exists: true},
		"no directory":           {files: []File{{Name: "a"}}, before: func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, exists: true},
		"a file for a directory": {files: []File{{Name: "a"}, {Name: "a/b"}}, exists: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "made")
			if test.before != nil {
				if err := test.before(dir); err != nil {
					t.Fatal(err)
				}
			}
			_, err := WriteFiles(dir, test.files, test.replace)
			if err == nil || errors.Is(err, fs.ErrExist) != test.exists {
				t.Errorf("%v", err)
			}
			if _, err := os.Stat(dir); err == nil {
				got := contents(t, dir)
				delete(got, ".") // it is a file itself
				if len(got) > 0 {
					t.Errorf("%q is left", got)
				}
			}
		})
	}
}
