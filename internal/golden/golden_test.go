package golden

import (
	"fmt"
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

func (s *said) Errorf(format string, args ...any) { s.text = fmt.Sprintf(format, args...) }

func (s *said) Fatalf(format string, args ...any) { panic(fmt.Errorf(format, args...)) }

func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("go.mod", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join("a", "room"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join("a", "room"))
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
	const command = "go test ./a/room -run '^TestCheck$' -update"
	if says := check("text\n"); !strings.Contains(says, "file.txt") || !strings.Contains(says, command) {
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
	if says := check("another text\n"); !strings.Contains(says, "-want +got") || !strings.Contains(says, command) {
		t.Errorf("another text: %q", says)
	}
}
