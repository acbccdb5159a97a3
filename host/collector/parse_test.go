package collector

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// values are settings without their lines.
func values(all []setting) map[string]string {
	found := map[string]string{}
	for _, s := range all {
		found[s.name] = s.value
	}
	return found
}

// present is parseRings without the largest values.
func present(from []line) []setting {
	found, _ := parseRings(from)
	return found
}

// TestSettings holds parsers of names with values against real outputs; each
// says where it is from.
func TestSettings(t *testing.T) {
	for name, tc := range map[string]struct {
		parse func([]line) []setting
		text  string
		want  map[string]string
	}{
		"sysctl of procps on Linux 6.18, on this project's machines": {parseSysctl,
			"net.ipv4.tcp_rmem = 4096\t131072\t33554432\nsysctl: cannot stat /proc/sys/net/ipv4/tcp_fack: No such file or directory\nnet.ipv4.tcp_congestion_control = bbr\n",
			map[string]string{"net.ipv4.tcp_rmem": "4096\t131072\t33554432", "net.ipv4.tcp_congestion_control": "bbr"}},
		"grep of /proc/sys on the same": {parseSysctl,
			"net/ipv4/tcp_wmem:4096\t16384\t4194304\nnet/ipv4/tcp_available_congestion_control:bbr cubic reno\n",
			map[string]string{"net.ipv4.tcp_wmem": "4096\t16384\t4194304", "net.ipv4.tcp_available_congestion_control": "bbr cubic reno"}},
		"sysctl of macOS, as on fasterdata.es.net/host-tuning/osx": {parseSysctl,
			"net.inet.tcp.win_scale_factor: 8\nnet.inet.tcp.autorcvbufmax: 33554432\n",
			map[string]string{"net.inet.tcp.win_scale_factor": "8", "net.inet.tcp.autorcvbufmax": "33554432"}},
		"an unknown name on FreeBSD (sbin/sysctl/sysctl.c)": {parseSysctl,
			"sysctl: unknown oid 'net.inet.tcp.recvbuf_inc'\nnet.inet.tcp.recvbuf_max: 2097152\n",
			map[string]string{"net.inet.tcp.recvbuf_max": "2097152"}},
		"FreeBSD's table of congestion controls (cc_list_available in sys/netinet/cc/cc.c)": {parseSysctl,
			"net.inet.tcp.cc.available: \nCCmod           D PCB count\ncubic           *  42\nnewreno            0\nnet.inet.tcp.sendspace: 32768\n",
			map[string]string{"net.inet.tcp.cc.available": "cubic newreno", "net.inet.tcp.sendspace": "32768"}},
		"the same up to FreeBSD 13": {parseSysctl,
			"net.inet.tcp.cc.available: newreno, cubic\n", map[string]string{"net.inet.tcp.cc.available": "newreno  cubic"}},
		"ndd with its answers to wrong names (usr/src/cmd/cmd-inet/usr.sbin/ndd.c)": {parseNdd,
			"tcp_xmit_hiwat 128000\ntcp_x name is non-existent for this module\nfor a list of valid names, use name '?'\ntcp_y operation failed: Permission denied\ntcp_z \n",
			map[string]string{"tcp_xmit_hiwat": "128000"}},
		"ipadm show-prop -c of tests of OmniOS's configuration, and ipadm(8)": {parseIpadm,
			"max_buf:1048576\nsack:active\nextra_priv_ports:2049,4045\nsmallest-anon-port:32768\nname:a\\:b\\\\c\nrecv_buf:--\nipadm: warning: cannot get property\n",
			map[string]string{"max_buf": "1048576", "sack": "active", "extra_priv_ports": "2049,4045", "smallest_anon_port": "32768", "name": `a:b\c`}},
		"/etc/system of the Solaris Tunable Parameters Reference Manual": {parseEtcSystem,
			"* comment: set nfs:nfs_allow_preepoch_time = 1\nset nfs:nfs3_bsize=32768\nset nfs:nfs3_max_threads = 0x10\n  set rpcmod:clnt_max_conns = 010\nset maxusers\nsettle=3\nset moddebug | 0x80000000\n",
			map[string]string{"nfs:nfs3_bsize": "32768", "nfs:nfs3_max_threads": "16", "rpcmod:clnt_max_conns": "8"}},
		"mdb -k, as in the Solaris Modular Debugger Guide": {parseMdb,
			"nfs3_nra:\nnfs3_nra:       4\nmdb: failed to dereference symbol: unknown symbol name\n",
			map[string]string{"nfs3_nra": "4"}},
		"ethtool -g 6.1 of a virtio card on this project's machines": {present,
			"Ring parameters for eth0:\nPre-set maximums:\nRX:\t\t256\nRX Mini:\tn/a\nRX Jumbo:\tn/a\nTX:\t\t256\nCurrent hardware settings:\nRX:\t\t128\nRX Mini:\tn/a\nRX Jumbo:\tn/a\nTX:\t\t256\nRX Buf Len:\t\tn/a\nCQE Size:\t\tn/a\nTX Push:\toff\n",
			map[string]string{"RX": "128", "TX": "256"}},
		"ethtool -g of an ixgbe card with an old ethtool (Red Hat's network performance tuning guide)": {present,
			"Ring parameters for p1p1:\nPre-set maximums:\nRX:             4096\nRX Mini:        0\nRX Jumbo:       0\nTX:             4096\nCurrent hardware settings:\nRX:             512\nRX Mini:        0\nRX Jumbo:       0\nTX:             512\n",
			map[string]string{"RX": "512", "TX": "512"}},
		"ethtool -l on this project's machines": {present,
			"Channel parameters for eth0:\nPre-set maximums:\nRX:\t\tn/a\nTX:\t\tn/a\nOther:\t\tn/a\nCombined:\t1\nCurrent hardware settings:\nRX:\t\tn/a\nTX:\t\tn/a\nOther:\t\tn/a\nCombined:\t1\n",
			map[string]string{"Combined": "1"}},
		"ethtool -c on the same": {parseCoalesce,
			"Coalesce parameters for eth0:\nAdaptive RX: off  TX: n/a\nstats-block-usecs: n/a\n\nrx-usecs: 0\nrx-frames: 1\nrx-usecs-irq: n/a\n",
			map[string]string{"adaptive-rx": "0", "rx-usecs": "0", "rx-frames": "1"}},
		"ethtool -a (ethtool's netlink/pause.c)": {parsePause,
			"Pause parameters for eth1:\nAutonegotiate:\ton\nRX:\t\toff\nTX:\t\ton\nRX negotiated: off\nTX negotiated: on\n",
			map[string]string{"autoneg": "1", "rx": "0", "tx": "1"}},
		"ethtool -a where there is none, on this project's machines": {parsePause, "netlink error: Operation not supported\n", map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, values(tc.parse(lines(tc.text)))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Of ethtool 6.1 on this project's machines, with a line of tso shortened.
const features61 = `Features for eth0:
rx-checksumming: on [fixed]
tx-checksumming: on
	tx-checksum-ipv4: off [fixed]
	tx-checksum-ip-generic: on
	tx-checksum-ipv6: off [fixed]
	tx-checksum-fcoe-crc: off [fixed]
scatter-gather: on
	tx-scatter-gather: on
tcp-segmentation-offload: on
	tx-tcp-segmentation: off
	tx-tcp-ecn-segmentation: on
	tx-tcp6-segmentation: off [requested on]
generic-segmentation-offload: on
generic-receive-offload: off
large-receive-offload: off [fixed]
`

func TestOffloads(t *testing.T) {
	type answer struct{ On, Fixed, Has bool }
	for text, want := range map[string]map[string]answer{
		features61: {
			"rx": {true, true, true}, "tx": {true, false, true}, "sg": {true, false, true}, "tso": {false, false, true},
			"gso": {true, false, true}, "gro": {false, false, true}, "lro": {false, true, false},
		},
		// Of the manual page of an ethtool from before features had names.
		"Offload parameters for eth0:\nrx-checksumming: on\ntx-checksumming: on\nscatter-gather: off\ntcp-segmentation-offload: off\n": {
			"rx": {true, false, true}, "tx": {true, false, true}, "sg": {false, false, true}, "tso": {false, false, true},
			"gso": {}, "gro": {}, "lro": {},
		},
	} {
		all, got := parseFeatures(lines(text)), map[string]answer{}
		for _, name := range host.Offloads {
			on, fixed, has := offload(all, name)
			got[name] = answer{on, fixed, has}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.40q (-want +got):\n%s", text, diff)
		}
	}
}

func TestTC(t *testing.T) {
	// The first three on this project's machines, of iproute2 6.1 in the lab.
	got := parseTC(lines(`qdisc noqueue 0: dev lo root refcnt 2 
qdisc pfifo_fast 0: dev eth0 root refcnt 2 bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1
qdisc tbf 8001: dev ifb0 root refcnt 2 rate 100Mbit burst 32Kb lat 50ms 
qdisc fq 8002: dev ifb1 root refcnt 2 limit 10000p flow_limit 100p buckets 1024 maxrate 20Mbit initial_quantum 15140b
qdisc fq_codel 0: dev eth1 parent :1 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn drop_batch 64
no qdisc
`))
	want := []queue{
		{1, "lo", host.Qdisc{Kind: "noqueue", Handle: "0:", Parent: "root"}},
		{2, "eth0", host.Qdisc{Kind: "pfifo_fast", Handle: "0:", Parent: "root"}},
		{3, "ifb0", host.Qdisc{Kind: "tbf", Handle: "8001:", Parent: "root", Rate: 100 * unit.Mbps}},
		{4, "ifb1", host.Qdisc{Kind: "fq", Handle: "8002:", Parent: "root", Rate: 20 * unit.Mbps, PerFlow: true, Packets: 10000}},
		{5, "eth1", host.Qdisc{Kind: "fq_codel", Handle: "0:", Parent: ":1", Packets: 10240}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(queue{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLinks(t *testing.T) {
	for name, tc := range map[string]struct {
		parse func([]line) []link
		text  string
		want  []link
	}{
		"ip addr of iproute2 6.1, on this project's machines": {parseIP,
			`1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
       valid_lft forever preferred_lft forever
    inet6 ::1/128 scope host 
3: ifb1: <BROADCAST,NOARP> mtu 1500 qdisc noop state DOWN group default qlen 32
7: veth0@if6: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc noqueue state UP group default
    link/ether 02:00:00:00:00:02 brd ff:ff:ff:ff:ff:ff promiscuity 0 minmtu 68 maxmtu 65535 
    inet 198.18.0.1 peer 198.18.0.2/32 scope global veth0
`,
			[]link{
				{line: 1, index: 1, queue: "1000", Interface: host.Interface{Name: "lo", MTU: 65536, Up: true, Addresses: []string{"127.0.0.1/8", "::1/128"}}},
				{line: 6, index: 3, queue: "32", Interface: host.Interface{Name: "ifb1", MTU: 1500}},
				{line: 7, index: 7, most: 65535, Interface: host.Interface{Name: "veth0", MTU: 9000, Up: true, Addresses: []string{"198.18.0.1/32"}}},
			}},
		"ifconfig of net-tools 1.60 (the Linux Network Administrator's Guide)": {parseIfconfig,
			`eth0      Link encap:Ethernet  HWaddr 00:C0:F6:00:00:01
          inet addr:198.18.1.2  Bcast:198.18.1.255  Mask:255.255.255.0
          inet6 addr: fe80::2c0:f6ff:fe00:1/64 Scope:Link
          UP BROADCAST RUNNING MULTICAST  MTU:1500  Metric:1
          collisions:0 txqueuelen:100 

eth1      Link encap:Ethernet  HWaddr 00:C0:F6:00:00:02
          BROADCAST MULTICAST  MTU:1500  Metric:1
`,
			[]link{
				{line: 1, queue: "100", Interface: host.Interface{Name: "eth0", MTU: 1500, Up: true, Addresses: []string{"198.18.1.2/24", "fe80::2c0:f6ff:fe00:1/64"}}},
				{line: 7, Interface: host.Interface{Name: "eth1", MTU: 1500}},
			}},
		"ifconfig of net-tools 2.10 (its manual page)": {parseIfconfig,
			`eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1400
        inet 198.18.2.2  netmask 255.255.255.0  broadcast 198.18.2.255
        inet6 fd00::2  prefixlen 64  scopeid 0x0<global>
        ether 02:fc:00:00:00:01  txqueuelen 1000  (Ethernet)
`,
			[]link{{line: 1, queue: "1000", Interface: host.Interface{Name: "eth0", MTU: 1400, Up: true, Addresses: []string{"198.18.2.2/24", "fd00::2/64"}}}}},
		"netsh's table in Chinese, of a public page about Netkeeper": {parseSubinterfaces,
			"   MTU  MediaSenseState   传入字节  传出字节      接口\n------  ---------------  ---------  ---------  -------------\n  1480                1  956363711  334417521  Netkeeper\n4294967295                1          0    1176112  Loopback Pseudo-Interface 1\n  1500                5          0          0  以太网\n",
			[]link{
				{line: 3, Interface: host.Interface{Name: "Netkeeper", MTU: 1480, Up: true}},
				{line: 4, Interface: host.Interface{Name: "Loopback Pseudo-Interface 1", Up: true}},
				{line: 5, Interface: host.Interface{Name: "以太网", MTU: 1500}},
			}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.parse(lines(tc.text)), cmp.AllowUnexported(link{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWire(t *testing.T) {
	for media, want := range map[string]host.Interface{
		"autoselect (1000baseT <full-duplex,flow-control>)":         {Speed: 1000, Duplex: "full", Autoneg: "on"},
		"Ethernet autoselect (10Gbase-SR <full-duplex,rxpause>)":    {Speed: 10000, Duplex: "full", Autoneg: "on"},
		"Ethernet autoselect (2500Base-T <full-duplex>)":            {Speed: 2500, Duplex: "full", Autoneg: "on"},
		"Ethernet 100baseTX <half-duplex>":                          {Speed: 100, Duplex: "half", Autoneg: "off"},
		"autoselect (<unknown type>)":                               {Autoneg: "on"},
		"Ethernet autoselect (100GBase-CR4 <full-duplex,txpause>)":  {Speed: 100000, Duplex: "full", Autoneg: "on"},
		"Ethernet autoselect (9999999999Gbase-SR <full-duplex,x>)":  {Duplex: "full", Autoneg: "on"},
		"autoselect (1000baseTX <full-duplex>) status: active none": {Speed: 1000, Duplex: "full", Autoneg: "on"},
	} {
		l := link{media: media}
		l.wire()
		if diff := cmp.Diff(want, l.Interface); diff != "" {
			t.Errorf("%s (-want +got):\n%s", media, diff)
		}
	}
}

func TestRegistry(t *testing.T) {
	// The first as Microsoft's documentation of the registry provider shows it,
	// the second of Windows 7, the third of regedit /e.
	got := parseRegistry(lines("! REG.EXE VERSION 3.0\n\nHKEY_LOCAL_MACHINE\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\n    DevicePath  REG_EXPAND_SZ   %SystemRoot%\\inf\n" +
		"\nHKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Services\\Tcpip\\Parameters\n    TcpWindowSize    REG_DWORD    0x10000\n    NV Hostname    REG_SZ    pc7\n    Empty\tREG_SZ\t\n    Bad    REG_DWORD    0xzz\n" +
		"[HKEY_LOCAL_MACHINE\\X]\n\"Tcp1323Opts\"=dword:00000003\n\"Other\"=\"text\"\n"))
	want := []entry{
		{4, `HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows\CurrentVersion`, "DevicePath", "REG_EXPAND_SZ", `%SystemRoot%\inf`},
		{7, `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters`, "TcpWindowSize", "REG_DWORD", "65536"},
		{8, `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters`, "NV Hostname", "REG_SZ", "pc7"},
		{9, `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters`, "Empty", "REG_SZ", ""},
		{12, `HKEY_LOCAL_MACHINE\X`, "Tcp1323Opts", "REG_DWORD", "3"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestNetsh(t *testing.T) {
	// Of Windows Server 2019, in a public note on asymmetric networks.
	got, err := parseNetsh(lines(`Querying active state...

TCP Global Parameters
----------------------------------------------
Receive-Side Scaling State          : enabled
Receive Window Auto-Tuning Level    : normal
Add-On Congestion Control Provider  : default
ECN Capability                      : enabled
RFC 1323 Timestamps                 : enabled
Initial RTO                         : 3000
Receive Segment Coalescing State    : enabled
Pacing Profile                      : off
`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"rss": "enabled", "autotuninglevel": "normal", "CongestionProvider": "default", "ecncapability": "enabled", "timestamps": "enabled", "rsc": "enabled"}
	if diff := cmp.Diff(want, values(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPowerShell(t *testing.T) {
	// Of Windows Server 2012, in a question to the Wireshark forum; shortened.
	got := parsePowerShell(lines(`
SettingName                   : Automatic
MinRto(ms)                    : 
CongestionProvider            : 

SettingName                   : Custom
MinRto(ms)                    : 20
CongestionProvider            : DCTCP
AutoTuningLevelEffective      : Local
"Name","Value"
"a ""quoted"" one","1,2"
"InterfaceAlias","IPAddress"
"Ethernet","fe80::1%5"
"short"
`))
	want := []record{
		{2, map[string]string{"SettingName": "Automatic", "MinRto(ms)": "", "CongestionProvider": ""}},
		{6, map[string]string{"SettingName": "Custom", "MinRto(ms)": "20", "CongestionProvider": "DCTCP", "AutoTuningLevelEffective": "Local"}},
		{11, map[string]string{"Name": `a "quoted" one`, "Value": "1,2"}},
		{13, map[string]string{"InterfaceAlias": "Ethernet", "IPAddress": "fe80::1%5"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestMounts(t *testing.T) {
	// As proc_pid_mountinfo(5) and the kernel's fs/nfs/super.c write it.
	got := parseMounts(lines(`26 1 0:24 / /proc rw,nosuid - proc proc rw
95 26 0:52 / /srv/big\040data rw,relatime shared:51 - nfs4 filer:/export rw,vers=4.2,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,nconnect=4
bad - nfs x
`))
	want := []mount{{line: 2, at: "/srv/big data", device: "0:52", options: map[string]string{"rw": "", "vers": "4.2", "rsize": "1048576", "wsize": "1048576", "namlen": "255", "hard": "", "proto": "tcp", "nconnect": "4"}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mount{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
