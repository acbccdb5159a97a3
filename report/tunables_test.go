package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/tunable"
)

func entry(t *testing.T, os, version, name string) *Tunable {
	t.Helper()
	s, err := tunable.Of(os)
	if err != nil {
		t.Fatal(err)
	}
	known, ok := NewTunable(s, version, name)
	if !ok {
		t.Fatalf("%s has no %s", os, name)
	}
	return known
}

func list(t *testing.T, os, version string) (*tunable.System, []*Tunable) {
	t.Helper()
	s, err := tunable.Of(os)
	if err != nil {
		t.Fatal(err)
	}
	var all []*Tunable
	for _, known := range s.Tunables {
		all = append(all, entry(t, os, version, known.Name))
	}
	return s, all
}

// few are the tunables of the golden lists: some of each scope and state, so that a
// new one in the catalogue changes nothing here. TestTunablesFit looks at all.
var few = map[string][]string{
	"linux": {
		"net.ipv4.tcp_rmem", "net.core.rmem_max", "net.core.rmem_default", "net.ipv4.tcp_rcvbuf_low_rtt", "net.ipv4.tcp_adv_win_scale", "net.ipv4.tcp_fack", "net.ipv4.tcp_bic",
		"net.ipv4.tcp_available_congestion_control", "link.mtu", "link.ring.rx", "link.rps_cpus", "route.congctl", "cpu.governor", "cmdline.iommu", "nfs.rsize", "nfs.nconnect", "nfsd.threads",
	},
	"windows": {"GlobalMaxTcpWindowSize", "TcpWindowSize", "TcpWindowSize.interface", "Tcp1323Opts", "DefaultReceiveWindow", "autotuninglevel", "CongestionProvider", "link.mtu", "smb.EnableMultiChannel"},
}

func shortList(t *testing.T, os, version string) (*tunable.System, []*Tunable) {
	t.Helper()
	s, all := list(t, os, version)
	return s, slices.DeleteFunc(all, func(known *Tunable) bool { return !slices.Contains(few[os], known.Name) })
}

func TestTunables(t *testing.T) {
	for _, version := range []string{"2.4.20", "3.10.0-1160.el7.x86_64", "6.18.44"} {
		s, all := shortList(t, "linux", version)
		if len(all) != len(few["linux"]) {
			t.Fatalf("%d of %d tunables are there", len(all), len(few["linux"]))
		}
		var out bytes.Buffer
		Tunables(&out, s, version, all, Style{})
		short, _, _ := strings.Cut(version, "-")
		golden.Check(t, "tunables-linux"+short+".txt", out.Bytes())
	}
}

func TestTunablesOfWindows(t *testing.T) {
	s, all := shortList(t, "windows", "5.2")
	var out bytes.Buffer
	Tunables(&out, s, "5.2", all, Style{})
	golden.Check(t, "tunables-windows5.2.txt", out.Bytes())
}

// A page of Solaris, where things have another name from 11 on.
func TestTunablePageOfSolaris(t *testing.T) {
	var out bytes.Buffer
	TunablePage(&out, entry(t, "solaris", "8", "tcp_max_buf"), Style{})
	TunablePage(&out, entry(t, "solaris", "10", "nfsd.servers"), Style{})
	golden.Check(t, "tunable-solaris.txt", out.Bytes())
}

func TestTunablePage(t *testing.T) {
	values := map[string]string{
		"net.ipv4.tcp_rmem": "4096 131072 33554432", "link.mtu@eth0": "1500", "link.mtu@eth1": "9000",
		"net.core.rmem_max": "212992", "nfs.rsize@/mnt/a\x1b[2Jb": "1048576",
	}
	for file, name := range map[string]string{
		"rmem": "net.ipv4.tcp_rmem", "mtu": "link.mtu", "mtu-eth0": "link.mtu@eth0", "rmem-max": "net.core.rmem_max", "rsize-nasty": "nfs.rsize@/mnt/a\x1b[2Jb",
		"obsolete": "net.ipv4.tcp_adv_win_scale", "not-yet": "net.ipv4.tcp_rcvbuf_low_rtt", "governor": "cpu.governor",
		"mask": "link.rps_cpus", "switch": "link.offload.tso", "proposed": "cmdline.iommu",
	} {
		known := entry(t, "linux", "6.18.44", name)
		known.Elsewhere = slices.DeleteFunc(known.Elsewhere, func(id string) bool { return id != "windows" }) // other catalogues grow
		known.On(values, []string{"net.core.rmem_max"})
		var out bytes.Buffer
		TunablePage(&out, known, Style{})
		golden.Check(t, "tunable-"+file+".txt", out.Bytes())
	}
}

// What stands out on a terminal is the same text.
func TestTunablesOnATerminal(t *testing.T) {
	var unstyled, styled bytes.Buffer
	s, all := list(t, "linux", "6.18.44")
	for out, style := range map[*bytes.Buffer]Style{&unstyled: {}, &styled: {Terminal: true}} {
		Tunables(out, s, "6.18.44", all, style)
		TunablePage(out, entry(t, "linux", "6.18.44", "net.ipv4.tcp_fack"), style)
	}
	for _, want := range []string{"\x1b[1mOf the host\x1b[0m", "\x1b[33mIn Linux 6.18.44: obsolete", "\x1b[2m  net.ipv4.tcp_fack"} {
		if !strings.Contains(styled.String(), want) {
			t.Errorf("%q does not stand out", want)
		}
	}
	without := strings.NewReplacer("\x1b[0m", "", "\x1b[1m", "", "\x1b[2m", "", "\x1b[33m", "").Replace(styled.String())
	if without != unstyled.String() {
		t.Errorf("the text differs:\n%s", without)
	}
}

// Pages and lists of all systems fit a terminal of 80 columns, but for commands,
// which are to be copied whole, and addresses.
func TestTunablesFit(t *testing.T) {
	for _, id := range tunable.Systems() {
		s, err := tunable.Of(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range []string{s.Releases[0].Version, s.Newest()} {
			_, all := list(t, id, version)
			var out bytes.Buffer
			Tunables(&out, s, version, all, Style{})
			for _, known := range all {
				if !strings.Contains(out.String(), "  "+known.Name+" ") {
					t.Errorf("%s is not in the list of %s", known.Name, id)
				}
				TunablePage(&out, known, Style{})
			}
			steps := false
			for line := range strings.Lines(out.String()) {
				line = strings.TrimRight(line, "\n")
				if line != "" && line[0] != ' ' {
					steps = line == "How to"
				}
				if !steps && !strings.Contains(line, "https://") && utf8.RuneCountInString(line) > columns {
					t.Errorf("%s: longer than %d columns: %s", id, columns, line)
				}
				if strings.TrimRight(line, " ") != line {
					t.Errorf("%s: blanks at the end of %q", id, line)
				}
			}
		}
	}
}

func TestUnknownTunable(t *testing.T) {
	s, err := tunable.Of("linux")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "tcp_rmem", "net.core.rmem_max@eth0"} {
		if known, ok := NewTunable(s, "6.18", name); ok {
			t.Errorf("%q is %s", name, known.Name)
		}
	}
}
