package change

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/tunable"
)

// systemdSysctl is the program that a boot runs.
const systemdSysctl = "/usr/lib/systemd/systemd-sysctl"

// TestBootAsSystemd has random files read by the systemd of this machine, with
// plain files in place of /proc/sys, and wants readBoot to know what it made of
// them.
func TestBootAsSystemd(t *testing.T) {
	if _, err := os.Stat(systemdSysctl); err != nil {
		t.Skip("this machine has no systemd: ", err)
	}
	if !inOwnWorld(t) {
		return
	}
	must(t, unix.Mount("none", "/proc/sys", "tmpfs", 0, ""))
	names := []string{"net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem", "net/ipv4/tcp_sack", "net/core/rmem_max", "net/ipv4/conf/eth0.7/mtu"}
	rapid.Check(t, func(r *rapid.T) {
		for _, name := range names {
			path := filepath.Join("/proc/sys", name)
			must(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must(t, os.WriteFile(path, []byte("untouched"), 0o644))
		}
		for _, dir := range sysctlDirs[:4] {
			empty(t, "/"+dir)
		}
		told := drawFiles(r, t)
		out, err := exec.Command(systemdSysctl).CombinedOutput()
		boot := readBoot("/", nil)
		for _, name := range names {
			text, read := os.ReadFile(filepath.Join("/proc/sys", name))
			must(t, read)
			first, _, _ := strings.Cut(string(text), "\n") // it writes over what is there
			got, want := "untouched", tunable.Normalise(first)
			if a := boot.ofKey(name); a != nil && !a.negative {
				got = a.value
			}
			if got != want {
				r.Fatalf("%s is %q after a boot, taken for %q\nfiles:\n%s\nsystemd-sysctl (%v):\n%s", name, want, got, told, err, out)
			}
		}
	})
}

// drawFiles writes random files and tells what they say.
func drawFiles(r *rapid.T, t *testing.T) string {
	var told strings.Builder
	for range rapid.IntRange(1, 5).Draw(r, "files") {
		path := filepath.Join("/", rapid.SampledFrom(sysctlDirs[:4]).Draw(r, "directory"),
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
func FuzzSettings(f *testing.F) {
	f.Add("net.ipv4.* = 1\n-net.ipv4.tcp_rmem\n")
	f.Add("net/ipv4/tcp_[!a-]]mem = [[:alpha:]\n")
	f.Add("\\[\r\n\x00-=\n")
	f.Fuzz(func(t *testing.T, text string) {
		var all bootSettings
		number := 0
		for _, a := range parseSettings("/x", text) {
			if a.line <= number || a.key == "" || strings.HasPrefix(a.key, "/") {
				t.Fatalf("%+v", a)
			}
			number = a.line
			all = all.with(a)
		}
		_ = all.of(rmem)
		all = all.with(assignment{key: "net/ipv4/tcp_rmem", value: "new"})
		if a := all.of(rmem); a == nil || a.value != "new" {
			t.Fatalf("a boot makes it %+v", a)
		}
	})
}
