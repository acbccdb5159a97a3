// Package golden holds what tests print against files of testdata. Only tests
// import it: it defines their flag -update.
package golden

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Check compares got with testdata/name, a path with slashes; with -update it
// writes that file first. What it says of a difference has the command for that.
func Check[T string | []byte](t testing.TB, name string, got T) {
	t.Helper()
	file := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; %s", err, anew(t))
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s%s", file, d, anew(t))
	}
}

// anew is how the golden files of a test are written anew, from the directory of
// go.mod.
func anew(t testing.TB) string {
	test, _, _ := strings.Cut(t.Name(), "/")
	room := ""
	for dir, err := os.Getwd(); err == nil; dir = filepath.Dir(dir) {
		if _, gone := os.Stat(filepath.Join(dir, "go.mod")); gone == nil || dir == filepath.Dir(dir) {
			break
		}
		room = "/" + filepath.Base(dir) + room
	}
	return fmt.Sprintf("if that is as it should be, run with -update: go test .%s -run '^%s$' -update; and read the difference before you commit it", room, test)
}
