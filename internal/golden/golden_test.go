package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// said is a test that keeps what it was told, and stops where it must.
type said struct {
	testing.TB
	text string
}

func (*said) Helper() {}

func (s *said) Errorf(format string, args ...any) { s.text = format }

func (s *said) Fatal(args ...any) { panic(args[0]) }

func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(filepath.Join("testdata", "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	check := func(got string) (says string) {
		s := &said{TB: t}
		defer func() {
			if fatal := recover(); fatal != nil {
				says = fatal.(error).Error()
			}
		}()
		Check(s, "deep/file.txt", got)
		return s.text
	}
	if says := check("text\n"); !strings.Contains(says, "file.txt") {
		t.Errorf("without a file: %q", says)
	}
	*update = true
	defer func() { *update = false }()
	if says := check("text\n"); says != "" {
		t.Errorf("with -update: %q", says)
	}
	*update = false
	if says := check("text\n"); says != "" {
		t.Errorf("what is in the file: %q", says)
	}
	if says := check("another text\n"); !strings.Contains(says, "-want +got") {
		t.Errorf("another text: %q", says)
	}
}
