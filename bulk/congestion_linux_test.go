package bulk

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What everyone may use, as kernels of any age tell it.
func TestAllowedCongestion(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string // "": it is not known
	}{
		"as it is now":              {map[string]string{"tcp_allowed_congestion_control": "reno bbr\n", "tcp_congestion_control": "cubic\n"}, "reno bbr"},
		"a namespace before 5.7":    {map[string]string{"tcp_congestion_control": "cubic\n"}, "cubic reno"},
		"one whose default is reno": {map[string]string{"tcp_congestion_control": "reno\n"}, "reno"},
		"it cannot be read":         {map[string]string{"tcp_allowed_congestion_control/x": "", "tcp_congestion_control": "cubic\n"}, ""},
		"a system without sysctls":  {nil, ""},
	} {
		dir := t.TempDir() + "/"
		for path, text := range c.files {
			if err := os.MkdirAll(filepath.Dir(dir+path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(dir+path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := allowedCongestion(dir)
		if !slices.Equal(got, strings.Fields(c.want)) || (err == nil) != (c.want != "") {
			t.Errorf("%s: %v, %v, want %q", name, got, err, c.want)
		}
	}
}

func TestCongestionAllowed(t *testing.T) {
	if err := CongestionAllowed(""); err != nil {
		t.Errorf("the default: %v", err)
	}
	allowed, err := allowedCongestion(sysctls)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range allowed {
		if err := CongestionAllowed(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"nosuch", "ren", "reno ", "../reno"} {
		if err := CongestionAllowed(name); err == nil || !strings.Contains(err.Error(), strings.Join(allowed, ", ")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A name becomes that of a module which the kernel looks for.
func TestCongestionName(t *testing.T) {
	for name, want := range map[string]bool{
		"": true, "cubic": true, "dctcp": true, "bbr2-x_Y": true, strings.Repeat("a", 15): true,
		strings.Repeat("a", 16): false, "../x": false, "a b": false, "a\x00": false, "é": false, "a.b": false, "{": false, "`": false, "@": false, "[": false, "/": false, ":": false,
	} {
		if CongestionName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
		spec := Spec{Direction: Forward, Streams: 1, Congest: name}
		if (spec.Check() == nil) != want {
			t.Errorf("%q: %v", name, spec.Check())
		}
	}
}
