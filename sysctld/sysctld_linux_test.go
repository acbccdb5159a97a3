package sysctld

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/tunable"
)

// systemdSysctl is the program that a boot runs.
const systemdSysctl = "/usr/lib/systemd/systemd-sysctl"

// TestBootAsSystemd has random files read by the systemd of this machine, with
// plain files in place of /proc/sys, and wants Read to know what it made of
// them.
func TestBootAsSystemd(t *testing.T) {
	if _, err := os.Stat(systemdSysctl); err != nil {
		t.Skip("this machine has no systemd: ", err)
	}
	ownFiles(t)
	names := []string{"net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem", "net/ipv4/tcp_sack", "net/core/rmem_max", "net/ipv4/conf/eth0.7/mtu"}
	rapid.Check(t, func(r *rapid.T) {
		for _, name := range names {
			path := filepath.Join("/proc/sys", name)
			must(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must(t, os.WriteFile(path, []byte("untouched"), 0o644))
		}
		for _, dir := range dirs[:4] {
			empty(t, "/"+dir)
		}
		told := drawFiles(r, t)
		out, err := exec.Command(systemdSysctl).CombinedOutput()
		boot := Read("/", nil)
		for _, name := range names {
			text, read := os.ReadFile(filepath.Join("/proc/sys", name))
			must(t, read)
			first, _, _ := strings.Cut(string(text), "\n") // it writes over what is there
			got, want := "untouched", tunable.Normalise(first)
			if a := boot.ofKey(name); a != nil && !a.Negative {
				got = a.Value
			}
			if got != want {
				r.Fatalf("%s is %q after a boot, taken for %q\nfiles:\n%s\nsystemd-sysctl (%v):\n%s", name, want, got, told, err, out)
			}
		}
	})
}

// ownFiles gives the test's thread, and what it starts, a view of the files of its
// own: this machine sees nothing of what is written.
func ownFiles(t *testing.T) {
	runtime.LockOSThread() // and never unlock: the thread ends with its view
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS); errors.Is(err, unix.EPERM) {
		t.Skip("a view of one's own needs privileges: ", err)
	} else {
		must(t, err)
	}
	must(t, unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""))
	for _, dir := range []string{"/proc/sys", "/etc", "/run", "/usr/local/lib", "/usr/lib/sysctl.d"} {
		must(t, unix.Mount("none", dir, "tmpfs", 0, "mode=755"))
	}
}

// drawFiles writes random files and tells what they say.
func drawFiles(r *rapid.T, t *testing.T) string {
	var told strings.Builder
	for range rapid.IntRange(1, 5).Draw(r, "files") {
		path := filepath.Join("/", rapid.SampledFrom(dirs[:4]).Draw(r, "directory"),
			rapid.SampledFrom([]string{"10-a.conf", "50-b.conf", "99-c.conf", "c.conf", ".hidden.conf", "no.conf.bak"}).Draw(r, "name"))
		_ = os.Remove(path)
		switch rapid.IntRange(0, 7).Draw(r, "kind") {
		case 0:
			must(t, os.Symlink("/dev/null", path))
			fmt.Fprintf(&told, "%s -> /dev/null\n", path)
			continue
		case 1:
			must(t, os.WriteFile("/etc/sysctl.conf", []byte(drawSettings(r)), 0o644))
			must(t, os.Symlink("/etc/sysctl.conf", path))
			fmt.Fprintf(&told, "%s -> /etc/sysctl.conf\n", path)
		default:
			must(t, os.WriteFile(path, []byte(drawSettings(r)), 0o644))
		}
		text, _ := os.ReadFile(path)
		fmt.Fprintf(&told, "%s:\n%s\n", path, text)
	}
	return told.String()
}

func drawSettings(r *rapid.T) string {
	line := rapid.Custom(func(r *rapid.T) string {
		key := rapid.SampledFrom([]string{
			"net.ipv4.tcp_rmem", "net/ipv4/tcp_rmem", "/net/ipv4/tcp_rmem", "net//ipv4/./tcp_rmem", "net.ipv4/tcp_rmem", "net.ipv4.tcp_wmem",
			"net.ipv4.*", "net.ipv4.tcp_?mem", "net.ipv4.tcp_[rw]mem", "net.ipv4.tcp_[!w]mem", "net.ipv4.tcp_[a-r]mem", "net.ipv4.tcp_[", "net.*.tcp_sack", "net.*", "*.core.rmem_max",
			"net.ipv4.tcp_[[:alpha:]]mem", "net.ipv4.conf.*.mtu", "net.ipv4.conf.eth0/7.mtu", "net/ipv4/conf/eth0.7/mtu", "net.ipv4.tcp_sack", "net.core.rmem_max", "no.such.key",
		}).Draw(r, "key")
		blank := rapid.SampledFrom([]string{"", " ", "\t", "  "})
		dash := rapid.SampledFrom([]string{"", "", "", "-", "- "}).Draw(r, "dash")
		value := rapid.SampledFrom([]string{"1", "2", "3 4", "a=b", "7 # no comment", ""}).Draw(r, "value")
		switch rapid.IntRange(0, 11).Draw(r, "shape") {
		case 0:
			return rapid.SampledFrom([]string{"# x = 1", "; net.ipv4.tcp_rmem = 9", "net.ipv4.tcp_rmem", "= 1", "", "-", "\\"}).Draw(r, "odd")
		case 1:
			return "-" + key
		default:
			return blank.Draw(r, "b1") + dash + key + blank.Draw(r, "b2") + "=" + blank.Draw(r, "b3") + value + blank.Draw(r, "b4")
		}
	})
	end := rapid.SampledFrom([]string{"\n", "\n", "\n", "\r\n", "\r", "\n\n"})
	var text strings.Builder
	for range rapid.IntRange(0, 6).Draw(r, "lines") {
		text.WriteString(line.Draw(r, "line") + end.Draw(r, "end"))
	}
	return text.String()
}

// Whatever a file says, reading it ends, and a name that the last file sets is
// what a boot makes of it.
func FuzzParse(f *testing.F) {
	f.Add("net.ipv4.* = 1\n-net.ipv4.tcp_rmem\n")
	f.Add("net/ipv4/tcp_[!a-]]mem = [[:alpha:]\n")
	f.Add("\\[\r\n\x00-=\n")
	f.Fuzz(func(t *testing.T, text string) {
		all := Parse("/x", text)
		number := 0
		for _, a := range all {
			if a.Line <= number || a.Key == "" || strings.HasPrefix(a.Key, "/") || normaliseKey(a.Name()) != a.Key {
				t.Fatalf("%+v", a)
			}
			number = a.Line
		}
		_ = all.Merged().Of("net.ipv4.tcp_rmem")
		all = append(all, Assignment{Key: "net/ipv4/tcp_rmem", Value: "new"})
		if a := all.Merged().Of("net.ipv4.tcp_rmem"); a == nil || a.Value != "new" {
			t.Fatalf("a boot makes it %+v", a)
		}
	})
}

// empty makes a directory that has nothing in it.
func empty(t testing.TB, dir string) {
	must(t, os.MkdirAll(dir, 0o755))
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		must(t, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
