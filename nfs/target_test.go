package nfs

import (
	"strings"
	"testing"
)

func TestParseTarget(t *testing.T) {
	for s, want := range map[string]Target{
		"nfs://server/export/file":             {Host: "server", Port: 2049, Path: "/export/file"},
		"nfs://[2001:db8::1]:2050/e/a%20b":     {Host: "2001:db8::1", Port: 2050, Path: "/e/a b"},
		"nfs://s/e/../f/./g?version=3":         {Host: "s", Port: 2049, Path: "/f/g", Version: "3"},
		"nfs://s/e/f?version=4.1&mountport=20": {Host: "s", Port: 2049, Path: "/e/f", Version: "4.1", MountPort: 20},
	} {
		got, err := ParseTarget(s)
		got.UID, got.GID = 0, 0 // this process's
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", s, got, err, want)
		}
	}
	got, err := ParseTarget("nfs://s/e/f?uid=1000&gid=100")
	if err != nil || got.UID != 1000 || got.GID != 100 {
		t.Errorf("%+v, %v", got, err)
	}
	for s, want := range map[string]string{
		"":                                     "begins with nfs://",
		"/mnt/x":                               "begins with nfs://",
		"nfs://":                               "not nfs://HOST/EXPORT/FILE",
		"nfs:///e/f":                           "not nfs://HOST/EXPORT/FILE",
		"nfs://me@s/e/f":                       "not nfs://HOST/EXPORT/FILE",
		"nfs://s":                              "no file is named",
		"nfs://s/":                             "no file is named",
		"nfs://s/e/":                           "no file is named",
		"nfs://s/e/f%00":                       "zero byte",
		"nfs://s:0/e/f":                        "port",
		"nfs://s/e/f?version=4":                "version=4 is none of 3, 4.1, 4.2",
		"nfs://s/e/f?uid=-1":                   "uid=-1 is not a number below 4294967296",
		"nfs://s/e/f?mountport=0":              "no port",
		"nfs://s/e/f?rsize=4096":               "rsize is none of version, mountport, uid, gid",
		"nfs://s/e/f?uid=1&uid=2":              "uid is given 2 times",
		"nfs://s/e/f?%zz":                      "behind the question mark",
		"nfs://s/" + strings.Repeat("x", 5000): "more than 4096 bytes",
	} {
		if _, err := ParseTarget(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", s, err, want)
		}
	}
}

// FuzzParseTarget: what is accepted names a host, a port and an absolute, clean path.
func FuzzParseTarget(f *testing.F) {
	f.Add("nfs://server/export/file?version=3&mountport=20048")
	f.Add("nfs://[::1]:2049/a/../b")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseTarget(s)
		if err != nil {
			return
		}
		if got.Host == "" || got.Port == 0 || len(got.Path) < 2 || got.Path[0] != '/' || strings.Contains(got.Path, "/../") || strings.ContainsRune(got.Path, 0) {
			t.Errorf("%q: %+v", s, got)
		}
	})
}
