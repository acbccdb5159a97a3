package mounted

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What mounts a place at boot is found, with the one line that is to be changed; and patch(1)
// takes it.
func TestKeeps(t *testing.T) {
	if _, err := exec.LookPath("patch"); err != nil {
		t.Skip("patch is not installed")
	}
	const fstab = "# a comment on /mnt/a\nb:/other /mnt/other nfs4 defaults 0 0\n" +
		"b:/export\t/mnt/a\\040b   nfs4\tvers=4.2,nconnect=2,hard 0 0\n/dev/sda1 /mnt/disk ext4 defaults 0 1\nb:/no /mnt/none nfs\n"
	const unit = "[Unit]\nDescription=x\n[Mount]\nWhat=b:/export\nWhere = /mnt/my unit\nOptions=vers=4.1\n"
	root := t.TempDir()
	write := func(file, text string) {
		t.Helper()
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("etc/fstab", fstab)
	write("etc/systemd/system/mnt-unit.mount", unit)
	for _, test := range []struct{ point, value, file, want string }{
		{"/mnt/a b", "4", "/etc/fstab", "b:/export\t/mnt/a\\040b   nfs4\tvers=4.2,hard,nconnect=4 0 0"},
		{"/mnt/other", "4", "/etc/fstab", "b:/other /mnt/other nfs4 defaults,nconnect=4 0 0"},
		{"/mnt/my unit", "8", "/etc/systemd/system/mnt-unit.mount", "Options=vers=4.1,nconnect=8"},
		{"/mnt/disk", "4", "", ""},
		{"/mnt/none", "4", "", ""},
		{"/mnt/nowhere", "4", "", ""},
	} {
		p := &Place{Mount: Mount{Point: test.point}}
		e := p.Keeps(root, "nconnect", test.value)
		if test.want == "" {
			if e != nil {
				t.Errorf("%s: %+v", test.point, *e)
			}
			continue
		}
		if e == nil || e.File != test.file || e.New != test.want {
			t.Errorf("%s: %+v, want %q", test.point, e, test.want)
			continue
		}
		file := filepath.Join(root, e.File)
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		patch := exec.Command("patch", "--silent", file)
		patch.Stdin = strings.NewReader(e.Diff())
		if out, err := patch.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		after, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Replace(string(before), e.Old, e.New, 1); string(after) != want {
			t.Errorf("%s after patch: %q, want %q", e.File, after, want)
		}
	}
}

// A trial is mounted as the place is, but of another minor version, so that it has connections
// of its own; soft, and to read from only.
func TestTrialSettings(t *testing.T) {
	p := &Place{Server: netip.MustParseAddrPort("198.18.0.2:2049"), Mount: Mount{Device: "b:/export", Version: "4.2", Options: map[string]string{"rsize": "262144", "hard": "", "sec": "sys", "timeo": "600"}}}
	for _, s := range p.settings("4.1", 8) {
		switch s.name {
		case "hard", "port", "wsize":
			t.Errorf("%+v", s)
		case "vers", "nconnect", "rsize", "timeo", "sec", "source":
			if want := map[string]string{"vers": "4.1", "nconnect": "8", "rsize": "262144", "timeo": "50", "sec": "sys", "source": "b:/export"}[s.name]; s.value != want {
				t.Errorf("%+v, want %s", s, want)
			}
		}
	}
	for version, want := range map[string]string{"4.2": "4.1", "4.1": "4.2", "4.0": "", "3": ""} {
		p.Version = version
		if got, err := p.apart(); got != want || (want == "") != errors.Is(err, ErrShared) {
			t.Errorf("a trial of a mount of version %s has %q, %v; want %q", version, got, err, want)
		}
	}
	for path, want := range map[string]string{"/mnt/file": "sub/file", "/mnt/a/b": "sub/a/b"} {
		p.Point, p.File, p.root = "/mnt", path, "/sub"
		if got := p.below(); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}
