package figure

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/internal/golden"
)

// TestFile: a picture by itself is XML with its own style, which needs nothing that
// only browsers know, and has all colours of both themes.
func TestFile(t *testing.T) {
	file := sweep().Draw().File()
	golden.Check(t, "file.svg", []byte(file))
	for d := xml.NewDecoder(strings.NewReader(file)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	light, dark, found := strings.Cut(file, "@media (prefers-color-scheme:dark)")
	if !found || regexp.MustCompile(`var\(|light-dark|--k`).MatchString(file) {
		t.Errorf("variables are left, or the dark theme is missing:\n%s", file)
	}
	for theme, style := range map[string]string{"#0072b2": light, "#56b4e9": dark} {
		for _, rule := range []string{".figure .c0{stroke:", ".figure .f0{fill:"} {
			if !strings.Contains(style, rule+theme) {
				t.Errorf("the first colour is not %s in %s", theme, rule)
			}
		}
	}
}
