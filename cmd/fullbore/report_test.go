package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/record"
)

// A run becomes a page, which is a record itself: it is read back, compared and imported.
func TestReport(t *testing.T) {
	t.Parallel()
	at := farProcess(t, "--max-clients", "32")
	dir := t.TempDir()
	place, page := filepath.Join(dir, "record.db"), filepath.Join(dir, "x.html")
	for range 2 {
		if _, stderr, code := keeping(t, place, "test", at, "-t", "1", "-b", "50M"); code != exitDone {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
	}
	runs := kept(t, place).Runs
	good := func(args ...string) string {
		t.Helper()
		out, stderr, code := keeping(t, place, args...)
		if code != exitDone {
			t.Fatalf("%q: exit code %d: %s%s", args, code, out, stderr)
		}
		return out
	}
	good("report", "last", "-o", page)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(strings.ToLower(string(text)), "<!doctype html>") || !strings.Contains(string(text), runs[0].ID) || len(text) > 300<<10 {
		t.Errorf("%d bytes: %.200s", len(text), text)
	}
	if again := good("report", page); again != string(text) {
		t.Error("made from itself, it is another one")
	}
	if out := good("report", "last", "--format", "md"); !strings.Contains(out, "50 Mb/s") && !strings.Contains(out, "Mb/s") {
		t.Errorf("as text: %s", out)
	}
	figures := filepath.Join(dir, "figures")
	written := strings.Fields(good("report", "last", "--format", "svg", "-o", figures))
	if files, err := filepath.Glob(filepath.Join(figures, "*.svg")); err != nil || len(files) == 0 || !slices.Equal(files, written) {
		t.Errorf("it says %q, and wrote %q, %v", written, files, err)
	}
	if out := good("report", page, "--redact", "--format", "md"); strings.Contains(out, runs[0].From) {
		t.Errorf("%s is in it: %s", runs[0].From, out)
	}
	exported := filepath.Join(dir, "runs")
	if err := os.WriteFile(exported, []byte(good("history", "export", runs[1].ID)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := good("compare", page, exported); !strings.Contains(out, "Mb/s") {
		t.Errorf("compared: %s", out)
	}
	if out := good("compare", page, exported, "--json"); !strings.Contains(out, `"goodput_ratio": `) {
		t.Errorf("compared: %s", out)
	}
	elsewhere := filepath.Join(dir, "elsewhere.db")
	if out, stderr, code := keeping(t, elsewhere, "history", "import", page); code != exitDone || !strings.HasPrefix(out, "1 runs added") {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
	if of := kept(t, elsewhere).Runs; len(of) != 1 || of[0].ID != runs[0].ID {
		t.Errorf("imported: %+v", of)
	}

	link := filepath.Join(dir, "link")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Fatal(err)
	}
	good("report", "last", "-o", link)
	if target, err := os.Readlink(link); target != os.DevNull || err != nil {
		t.Errorf("the link is %q, %v", target, err)
	}
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"report"}, exitUsage, "expected"},
		{[]string{"report", "last", "--format", "svg"}, exitUsage, "name the directory"},
		{[]string{"report", "ffffffff"}, exitFailed, "fullbore history lists the runs"},
		{[]string{"report", "./nothing.html"}, exitFailed, "no such file"},
		{[]string{"report", filepath.Join(dir, "record.db"), "-o", page}, exitFailed, "record.db: run 1: "},
		{[]string{"report", "last", "-o", filepath.Join(dir, "no", "x.html")}, exitFailed, "write the report: "},
		{[]string{"compare", "last", "last", "--ab", "-P 1", "-P 2"}, exitUsage, "--ab compares"},
	} {
		if out, stderr, code := keeping(t, place, test.args...); code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("%q: exit code %d: %s%s, want %d: %s", test.args, code, out, stderr, test.code, test.want)
		}
	}
	if _, stderr, code := keeping(t, record.Nowhere, "report", "last"); code != exitFailed || !strings.Contains(stderr, "FULLBORE_RECORD") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
