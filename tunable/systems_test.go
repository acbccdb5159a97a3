package tunable

import (
	"slices"
	"strings"
	"testing"
)

// What the sources say a version comes with: "" is a version of which they say
// nothing, or which has no such tunable yet.
func TestDefaultsOfSystems(t *testing.T) {
	for _, tc := range []struct {
		system, name string
		want         map[string]string // by version
	}{
		// Solaris Tunable Parameters Reference Manual, release by release.
		{"solaris", "tcp_max_buf", map[string]string{"8": "1048576", "9": "1048576", "10": "1048576"}},
		{"solaris", "tcp_cwnd_max", map[string]string{"8": "1048576", "10": "1048576"}},
		{"solaris", "tcp_recv_hiwat", map[string]string{"7": "", "8": "24576", "9": "49152", "10": "49152"}},
		{"solaris", "tcp_xmit_hiwat", map[string]string{"8": "16384", "9": "49152", "10": "49152"}},
		{"solaris", "tcp_wscale_always", map[string]string{"8": "0", "10": "1"}},
		{"solaris", "tcp_deferred_acks_max", map[string]string{"8": "8", "9": "2", "10": "2"}},
		{"solaris", "recv_buf", map[string]string{"10": "", "11": "128000", "11.4": "128000"}},
		{"solaris", "send_buf", map[string]string{"11": "49152", "11.4": "49152"}},
		{"solaris", "_slow_start_initial", map[string]string{"11": "10", "11.4": "10"}},
		{"solaris", "ip:ip_multidata_outbound", map[string]string{"8": "", "9": "0", "10": "1"}},
		{"solaris", "nfs:nfs3_max_transfer_size", map[string]string{"8": "32768", "9": "32768", "10": "1048576", "11.4": "1048576"}},
		{"solaris", "nfs:nfs3_bsize", map[string]string{"8": "32768", "11.4": "32768"}},
		{"solaris", "nfs:nfs3_max_transfer_size_clts", map[string]string{"9": "", "10": "32768", "11.4": "32768"}},
		{"solaris", "nfsd.servers", map[string]string{"9": "16", "10": "16", "11": "1024"}},
		// illumos-gate, tcp_tunables.c and the like.
		{"illumos", "recv_buf", map[string]string{"5.11": "1048576"}},
		{"illumos", "send_buf", map[string]string{"5.11": "128000"}},
		{"illumos", "max_buf", map[string]string{"5.11": "1048576"}},
		{"illumos", "_slow_start_initial", map[string]string{"5.11": "0"}},
		{"illumos", "nfsd.servers", map[string]string{"5.11": "16"}},
		// xnu, tag by tag.
		{"macos", "kern.ipc.maxsockbuf", map[string]string{"10.0": "262144", "10.4": "262144", "10.4.11": "262144", "10.5": "8388608", "15": "8388608"}},
		{"macos", "net.inet.tcp.sendspace", map[string]string{"10.4": "16384", "10.5": "370688", "15.1": "370688"}},
		{"macos", "net.inet.tcp.recvspace", map[string]string{"10.4": "16384", "10.5": "556032"}},
		{"macos", "net.inet.tcp.autorcvbufmax", map[string]string{
			"10.7": "", "10.8": "524288", "10.9.5": "524288", "10.10": "1048576", "10.13": "1048576", "10.14": "2097152", "10.15": "2097152", "11": "4194304", "15": "4194304",
		}},
		{"macos", "net.inet.tcp.autosndbufinc", map[string]string{"10.7": "", "10.8": "8192", "15": "8192"}},
		{"macos", "net.inet.tcp.win_scale_factor", map[string]string{"10.4": "", "10.5": "3", "12": "3"}},
		{"macos", "net.inet.tcp.delayed_ack", map[string]string{"10.4": "1", "10.5": "3", "14": "3"}},
		// freebsd-src, and what its manuals say.
		{"freebsd", "kern.ipc.maxsockbuf", map[string]string{"9": "", "10": "2097152", "15": "2097152"}},
		{"freebsd", "net.inet.tcp.recvbuf_max", map[string]string{"13.2": "2097152"}},
		{"freebsd", "net.inet.tcp.cc.algorithm", map[string]string{"10": "newreno", "13.5": "newreno", "14": "cubic", "15": "cubic"}},
		{"freebsd", "net.inet.tcp.functions_default", map[string]string{"10": "", "12": "freebsd", "15": "freebsd"}},
		// Microsoft's references.
		{"windows", "TcpWindowSize", map[string]string{"5.0": "17520", "5.1": "17520", "5.2": "65535"}},
		{"windows", "GlobalMaxTcpWindowSize", map[string]string{"5.0": "", "5.2": ""}},
		{"windows", "autotuninglevel", map[string]string{"5.2": "", "6.0": "normal", "10.0.26100": "normal"}},
		{"windows", "CongestionProvider", map[string]string{"6.1": "", "10.0.14393": "ctcp", "10.0.17763": "cubic", "10.0.26100": "cubic"}},
		{"windows", "smb.ConnectionCountPerRssNetworkInterface", map[string]string{"6.1": "", "6.2": "4", "10.0.20348": "4"}},
		{"windows", "nfs.ReadBufferSize", map[string]string{"6.2": "32"}},
	} {
		known := entry(t, tc.system, tc.name)
		for version, want := range tc.want {
			if got, ok := known.Default(version); got != want || ok != (want != "") {
				t.Errorf("%s %s: %s is %q, %v, want %q", tc.system, version, tc.name, got, ok, want)
			}
		}
	}
}

// What is there in a version and has an effect, what is not yet, and what no more.
func TestStatesOfSystems(t *testing.T) {
	for _, tc := range []struct {
		system, name            string
		notYet, there, obsolete string // versions, "" for none
	}{
		{"solaris", "tcp_recv_hiwat", "", "8 9 10", "11 11.4"},
		{"solaris", "tcp_max_buf", "", "8 9 10", "11 11.4"},
		{"solaris", "tcp_maxpsz_multiplier", "", "8 9 10", "11"},
		{"solaris", "recv_buf", "8 9 10", "11 11.4", ""},
		{"solaris", "max_buf", "10", "11 11.4", ""},
		{"solaris", "sack", "10", "11 11.4", ""},
		{"solaris", "link.rxrings", "10", "11 11.4", ""},
		{"solaris", "ip:ip_soft_rings_cnt", "8 9", "10", "11 11.4"},
		{"solaris", "ip:ip_multidata_outbound", "8", "9 10", "11"},
		{"solaris", "nfs:nfs3_max_transfer_size_cots", "9", "10 11.4", ""},
		{"solaris", "rpcmod:clnt_max_conns", "", "8 9 10 11 11.4", ""},
		{"illumos", "recv_buf", "", "5.11", ""},
		{"macos", "net.inet.tcp.recvspace", "", "10.0 10.4.11 15", ""},
		{"macos", "net.inet.tcp.win_scale_factor", "10.4", "10.5 15", ""},
		{"macos", "net.inet.tcp.autorcvbufmax", "10.4 10.7.5", "10.8 15", ""},
		{"macos", "net.inet.tcp.doautosndbuf", "10.7", "10.8 10.15", "11 15"},
		{"macos", "net.inet.tcp.rfc1323", "", "10.0 10.10.5", "10.11 10.15.7 15"},
		{"freebsd", "net.inet.tcp.recvbuf_inc", "", "10 12.4", "13 15"},
		{"freebsd", "net.inet.tcp.sendbuf_inc", "", "10 15", ""},
		{"freebsd", "net.inet.tcp.functions_default", "10", "11 15", ""},
		{"freebsd", "nfs.nconnect", "12.4 13.0", "13.1 15", ""},
		{"windows", "TcpWindowSize", "", "5.0 5.1 5.2", "6.0 6.1 10.0.26100"},
		{"windows", "TcpWindowSize.interface", "", "5.2", "6.0"},
		{"windows", "GlobalMaxTcpWindowSize", "", "5.2", "6.0 10.0.20348"},
		{"windows", "Tcp1323Opts", "", "5.0 5.2", "6.0"},
		{"windows", "SackOpts", "", "5.2", "6.1"},
		{"windows", "DefaultReceiveWindow", "", "5.2", "6.0 10.0.17763"},
		{"windows", "DefaultSendWindow", "", "5.2", "6.0 10.0.17763"},
		{"windows", "MaxHashTableSize", "", "5.2", "6.0"},
		{"windows", "TaskOffload", "6.1", "6.2 10.0.26100", ""},
		{"windows", "autotuninglevel", "5.2", "6.0 10.0.26100", ""},
		{"windows", "heuristics", "5.2", "6.1 6.3", "10.0.14393 10.0.17763"},
		{"windows", "chimney", "5.2", "6.1 10.0.14393", "10.0.17763"},
		{"windows", "rsc", "6.1", "6.2 10.0.26100", ""},
		{"windows", "CongestionProvider", "6.1", "6.2 10.0.17763", ""},
		{"windows", "smb.EnableMultiChannel", "6.1", "6.2 10.0.26100", ""},
	} {
		known := entry(t, tc.system, tc.name)
		for want, versions := range map[State]string{NotYet: tc.notYet, Present: tc.there, Obsolete: tc.obsolete} {
			for version := range strings.FieldsSeq(versions) {
				if got := known.In(version); got != want {
					t.Errorf("%s %s: %s is %s, want %s", tc.system, version, tc.name, got, want)
				}
			}
		}
	}
}

// Raised in this order, every value is taken: each is preceded by what it has to
// come after, and by what it may not exceed.
func TestOrdersOfSystems(t *testing.T) {
	for _, tc := range []struct {
		system string
		order  string
		within map[string]string
	}{
		{"solaris", "tcp_max_buf tcp_cwnd_max tcp_recv_hiwat", map[string]string{"tcp_cwnd_max": "tcp_max_buf", "tcp_recv_hiwat": "tcp_max_buf"}},
		{"solaris", "tcp_max_buf tcp_cwnd_max tcp_xmit_hiwat", map[string]string{"tcp_xmit_hiwat": "tcp_max_buf"}},
		{"solaris", "max_buf _cwnd_max recv_buf", map[string]string{"_cwnd_max": "max_buf", "recv_buf": "max_buf"}},
		{"solaris", "max_buf _cwnd_max send_buf", map[string]string{"send_buf": "max_buf"}},
		{"solaris", "nfs:nfs3_max_transfer_size nfs:nfs3_bsize", map[string]string{"nfs:nfs3_bsize": "nfs:nfs3_max_transfer_size"}},
		{"solaris", "nfs:nfs3_max_transfer_size nfs:nfs3_max_transfer_size_cots", nil},
		{"illumos", "max_buf _cwnd_max recv_buf", map[string]string{"_cwnd_max": "max_buf", "recv_buf": "max_buf"}},
		{"illumos", "max_buf _cwnd_max send_buf", map[string]string{"send_buf": "max_buf"}},
		{"illumos", "nfs:nfs3_max_transfer_size nfs:nfs3_bsize", map[string]string{"nfs:nfs3_bsize": "nfs:nfs3_max_transfer_size"}},
		{"macos", "kern.ipc.maxsockbuf net.inet.tcp.sendspace", map[string]string{"net.inet.tcp.sendspace": "kern.ipc.maxsockbuf"}},
		{"macos", "kern.ipc.maxsockbuf net.inet.tcp.recvspace", map[string]string{"net.inet.tcp.recvspace": "kern.ipc.maxsockbuf"}},
		{"macos", "kern.ipc.maxsockbuf net.inet.tcp.autorcvbufmax", map[string]string{"net.inet.tcp.autorcvbufmax": "kern.ipc.maxsockbuf"}},
		{"macos", "kern.ipc.maxsockbuf net.inet.tcp.autosndbufmax", map[string]string{"net.inet.tcp.autosndbufmax": "kern.ipc.maxsockbuf"}},
		{"freebsd", "kern.ipc.maxsockbuf net.inet.tcp.recvbuf_max", map[string]string{"net.inet.tcp.recvbuf_max": "kern.ipc.maxsockbuf"}},
		{"freebsd", "kern.ipc.maxsockbuf net.inet.tcp.sendbuf_max", map[string]string{"net.inet.tcp.sendbuf_max": "kern.ipc.maxsockbuf"}},
		{"freebsd", "kern.ipc.maxsockbuf net.inet.tcp.recvspace", map[string]string{"net.inet.tcp.recvspace": "kern.ipc.maxsockbuf"}},
		{"windows", "GlobalMaxTcpWindowSize TcpWindowSize", map[string]string{"TcpWindowSize": "GlobalMaxTcpWindowSize"}},
		{"windows", "Tcp1323Opts TcpWindowSize", nil},
		{"windows", "Tcp1323Opts TcpWindowSize.interface", map[string]string{"TcpWindowSize.interface": ""}},
		{"windows", "JumboPacket link.mtu", map[string]string{"link.mtu": "JumboPacket"}},
		{"windows", "heuristics autotuninglevel", nil},
	} {
		order := strings.Fields(tc.order)
		for i, name := range order[1:] {
			if after := entry(t, tc.system, name).After; !slices.Contains(after, order[i]) {
				t.Errorf("%s: %s comes after %v, want %s among them", tc.system, name, after, order[i])
			}
		}
		for name, want := range tc.within {
			if got := entry(t, tc.system, name).Within; got != want {
				t.Errorf("%s: %s is within %q, want %q", tc.system, name, got, want)
			}
		}
	}
}

// Whatever stays within another has it raised first, and by default fits in.
func TestWithinComesAfter(t *testing.T) {
	for _, id := range []string{"solaris", "illumos", "macos", "freebsd", "windows"} {
		s, err := Of(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, known := range s.Tunables {
			if known.Within == "" {
				continue
			}
			if !slices.Contains(known.After, known.Within) {
				t.Errorf("%s: %s stays within %s, but does not come after it", id, known.Name, known.Within)
			}
			bound := entry(t, id, known.Within)
			for _, r := range s.Releases {
				value, ok := known.Default(r.Version)
				most, okMost := bound.Default(r.Version)
				if ok && okMost && known.Applies(r.Version) && Lowers(value, most) {
					t.Errorf("%s: %s comes with %s, above the %s of %s", r.Name, known.Name, value, most, known.Within)
				}
			}
		}
	}
}

// How values are set in each system: what people paste.
func TestStepsOfSystems(t *testing.T) {
	for _, tc := range []struct {
		system, name, instance, value string
		want                          Steps // of which the empty ones are not looked at
	}{
		{"solaris", "tcp_recv_hiwat", "", "1048576", Steps{Read: "ndd -get /dev/tcp tcp_recv_hiwat", Live: "ndd -set /dev/tcp tcp_recv_hiwat 1048576"}},
		{"solaris", "recv_buf", "", "1048576", Steps{Live: "ipadm set-prop -t -p recv_buf=1048576 tcp", Persist: "ipadm set-prop -p recv_buf=1048576 tcp", Unset: "ipadm reset-prop -p recv_buf tcp"}},
		{"illumos", "link.mtu", "ixgbe0", "9000", Steps{Persist: "dladm set-linkprop -p mtu=9000 ixgbe0", Unset: "dladm reset-linkprop -p mtu ixgbe0"}},
		{"illumos", "nfs:nfs3_bsize", "", "1048576", Steps{Persist: "set nfs:nfs3_bsize=1048576 in /etc/system"}},
		{"solaris", "nfsd.servers", "", "64", Steps{Persist: "NFSD_SERVERS=64 in /etc/default/nfs up to Solaris 10; or sharectl set -p servers=64 nfs"}},
		{"solaris", "route.recvpipe", "198.18.0.0/15", "1048576", Steps{Live: "route change -net 198.18.0.0/15 -recvpipe 1048576"}},
		{"macos", "kern.ipc.maxsockbuf", "", "8388608", Steps{Read: "sysctl -n kern.ipc.maxsockbuf", Live: "sysctl -w kern.ipc.maxsockbuf=8388608"}},
		{"freebsd", "net.inet.tcp.recvbuf_max", "", "16777216", Steps{Live: "sysctl net.inet.tcp.recvbuf_max=16777216", Persist: "net.inet.tcp.recvbuf_max=16777216 in /etc/sysctl.conf"}},
		{"freebsd", "kern.ipc.nmbclusters", "", "262144", Steps{Persist: `kern.ipc.nmbclusters="262144" in /boot/loader.conf`}},
		{"freebsd", "nfs.nconnect", "/mnt", "4", Steps{Persist: "nconnect=4 among the options of /mnt in /etc/fstab"}},
		{"windows", "TcpWindowSize", "", "1048576", Steps{
			Persist: `reg add HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters /v TcpWindowSize /t REG_DWORD /d 1048576 /f`,
			Unset:   `reg delete HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters /v TcpWindowSize /f`,
		}},
		{"windows", "TcpWindowSize.interface", "{6AB0F1D5-0000-0000-0000-000000000001}", "1048576", Steps{
			Persist: `reg add HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces\{6AB0F1D5-0000-0000-0000-000000000001} /v TcpWindowSize /t REG_DWORD /d 1048576 /f`,
		}},
		{"windows", "DefaultSendWindow", "", "1048576", Steps{
			Persist: `reg add HKLM\SYSTEM\CurrentControlSet\Services\AFD\Parameters /v DefaultSendWindow /t REG_DWORD /d 1048576 /f`,
		}},
		{"windows", "autotuninglevel", "", "normal", Steps{Live: "netsh interface tcp set global autotuninglevel=normal"}},
		{"windows", "link.mtu", "Ethernet 2", "9000", Steps{Live: `netsh interface ipv4 set subinterface "Ethernet 2" mtu=9000 store=active`}},
	} {
		got := entry(t, tc.system, tc.name).Fill(Join(tc.name, tc.instance), tc.value, tc.instance)
		for what, step := range map[string][2]string{
			"read": {got.Read, tc.want.Read}, "live": {got.Live, tc.want.Live},
			"persist": {got.Persist, tc.want.Persist}, "unset": {got.Unset, tc.want.Unset},
		} {
			if step[1] != "" && step[0] != step[1] {
				t.Errorf("%s: %s of %s is %q, want %q", tc.system, what, tc.name, step[0], step[1])
			}
		}
	}
}

// What only tells, or costs more than it brings, is never changed.
func TestLeftAlone(t *testing.T) {
	for system, names := range map[string]string{
		"solaris": "ip:ip_multidata_outbound link.rxrings nfs:nfs3_max_transfer_size_clts",
		"illumos": "link.rxrings nfs:nfs3_max_transfer_size_clts",
		"macos":   "kern.ipc.nmbclusters net.inet.tcp.autosndbufinc",
		"freebsd": "kern.ipc.nmbclusters net.inet.tcp.cc.available net.inet.tcp.soreceive_stream",
		"windows": "chimney AutoTuningLevelEffective MinRtoMs InitialRtoMs DelayedAckTimeoutMs MaxHashTableSize NumTcbTablePartitions",
	} {
		for name := range strings.FieldsSeq(names) {
			if entry(t, system, name).Leave == "" {
				t.Errorf("%s: %s may be changed", system, name)
			}
		}
	}
}

// What people call a release is a version here.
func TestReleasesOfSystems(t *testing.T) {
	for name, want := range map[string]string{
		"solaris8": "8", "solaris9": "9", "solaris10": "10", "solaris11": "11", "solaris11.4": "11.4",
		"openindiana": "5.11", "omnios": "5.11", "smartos": "5.11",
		"macos10.0": "10.0", "macos10.4": "10.4", "Mac OS X 10.4 Tiger": "10.4", "macos10.15": "10.15", "macos15": "15", "macos26": "26",
		"freebsd10": "10", "freebsd15": "15",
		"windows2000": "5.0", "windowsxp": "5.1", "windows2003": "5.2", "windowsvista": "6.0", "windows2008": "6.0", "windows7": "6.1",
		"windows2008r2": "6.1", "windows8": "6.2", "windows2012": "6.2", "windows2012r2": "6.3", "windows2016": "10.0.14393",
		"windows2019": "10.0.17763", "windows10": "10.0.19045", "windows2022": "10.0.20348", "windows11": "10.0.22631", "windows2025": "10.0.26100",
	} {
		if _, got, err := Find(name); err != nil || got != want {
			t.Errorf("%s: version %q, %v, want %q", name, got, err, want)
		}
	}
}

func entry(t *testing.T, system, name string) *Tunable {
	t.Helper()
	known, ok := Lookup(system, name)
	if !ok {
		t.Fatalf("%s has no %s", system, name)
	}
	return known
}
