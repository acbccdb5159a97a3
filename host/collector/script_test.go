package collector

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/tunable"
)

// scripts are those whose text is held against testdata/scripts.
var scripts = []struct{ name, os, version string }{
	{"linux.sh", "linux", ""},
	{"solaris.sh", "solaris", ""},
	{"solaris8.sh", "solaris", "8"},
	{"solaris10.sh", "solaris", "10"},
	{"solaris11.4.sh", "solaris", "11.4"},
	{"illumos.sh", "illumos", "5.11"},
	{"macos10.4.sh", "macos", "10.4"},
	{"macos.sh", "macos", ""},
	{"freebsd.sh", "freebsd", ""},
	{"windows2000.cmd", "windows", "5.0"},
	{"windows2003.cmd", "windows", "5.2"},
	{"windows.ps1", "windows", ""},
}

// few are the tunables that the golden scripts ask for, some of each kind: that
// each is asked for is TestScriptsAskForEveryTunable's.
var few = map[string]string{
	"linux":   "net.ipv4.tcp_rmem net.ipv4.tcp_wmem net.core.rmem_max net.ipv4.tcp_adv_win_scale net.ipv4.tcp_congestion_control sunrpc.tcp_slot_table_entries link.mtu",
	"solaris": "tcp_max_buf tcp_cwnd_max tcp_recv_hiwat max_buf recv_buf ip:ip_soft_rings_cnt ip:ip_multidata_outbound rpcmod:clnt_max_conns nfs:nfs3_bsize nfsd.servers route.recvpipe link.mtu",
	"illumos": "max_buf recv_buf rpcmod:clnt_max_conns nfs:nfs3_bsize nfsd.servers route.recvpipe link.mtu",
	"macos":   "kern.ipc.maxsockbuf net.inet.tcp.recvspace net.inet.tcp.autorcvbufmax kern.ipc.nmbclusters link.mtu nfs.rsize",
	"freebsd": "kern.ipc.maxsockbuf net.inet.tcp.recvbuf_max net.inet.tcp.soreceive_stream kern.ipc.nmbclusters link.mtu nfs.rsize",
	"windows": "GlobalMaxTcpWindowSize TcpWindowSize TcpWindowSize.interface DefaultReceiveWindow DefaultSendWindow autotuninglevel link.mtu",
}

// ofFew is a system's catalogue with those tunables only.
func ofFew(t *testing.T, os string) *tunable.System {
	t.Helper()
	s, err := tunable.Of(os)
	if err != nil {
		t.Fatal(err)
	}
	short := *s
	short.Tunables = nil
	for name := range strings.FieldsSeq(few[os]) {
		known, ok := tunable.Lookup(os, name)
		if !ok {
			t.Fatalf("%s has no %s", os, name)
		}
		short.Tunables = append(short.Tunables, *known)
	}
	return &short
}

func TestScripts(t *testing.T) {
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			short, err := script(ofFew(t, s.os), s.version)
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "scripts/"+s.name+".txt", short)
			text, err := Script(s.os, s.version)
			if err != nil {
				t.Fatal(err)
			}
			for one := range strings.Lines(text) {
				if len(one) > 255 || strings.ContainsRune(one, '\t') {
					t.Errorf("a terminal does not take this line as it stands: %q", one)
				}
			}
			header := "fullbore facts 1 " + s.os
			if strings.Count(text, header) != 1 || strings.Count(text, " end\n") != 1 {
				t.Errorf("it does not print %q first and the end last", header)
			}
		})
	}
}

// The shell scripts keep to what every POSIX shell has; that of Solaris 8 has
// backquotes only.
func TestScriptsPassShellcheck(t *testing.T) {
	for _, s := range scripts {
		if !strings.HasSuffix(s.name, ".sh") {
			continue
		}
		text, err := Script(s.os, s.version)
		if err != nil {
			t.Fatal(err)
		}
		args := []string{"-s", "sh", "-"}
		if s.os == "solaris" {
			args = append([]string{"-e", "SC2006"}, args...)
			if strings.Contains(text, "$(") {
				t.Errorf("%s: the shell of Solaris 8 has no $(...)", s.name)
			}
		}
		check := exec.Command("shellcheck", args...)
		check.Stdin = strings.NewReader(text)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", s.name, err, out)
		}
	}
}

// Each system of the catalogue has a script for each of its releases, and it
// asks for all that Read keeps of the host as a whole.
func TestScriptsAskForEveryTunable(t *testing.T) {
	elsewhere := map[string]bool{"cpu.governor": true, "cmdline.iommu": true, "nfsd.threads": true, "nfsd.max_block_size": true,
		"module.nfs.max_session_slots": true, "nfsd.servers": true}
	for _, id := range tunable.Systems() {
		s, err := tunable.Of(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Releases {
			text, err := Script(id, r.Version)
			if err != nil {
				t.Errorf("%s %s: %v", id, r.Version, err)
				continue
			}
			if id == "windows" {
				continue // whose commands tell all there is of a kind
			}
			for _, k := range s.Tunables {
				name := k.Name
				if _, variable, ok := strings.Cut(name, ":"); ok {
					name = variable
				} else if id == "linux" {
					name = strings.ReplaceAll(name, ".", "/")
				}
				if k.Applies(r.Version) && !k.Scope.Instanced() && !elsewhere[k.Name] && !strings.Contains(text, name) {
					t.Errorf("%s %s: the script does not ask for %s", id, r.Version, k.Name)
				}
			}
		}
	}
	if _, err := Script("plan9", ""); err == nil || !strings.Contains(err.Error(), "linux") {
		t.Errorf("of an unknown system: %v", err)
	}
}
