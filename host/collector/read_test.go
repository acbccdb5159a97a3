package collector

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// windows gives a recorded host of Windows, in which all encodings meet.
func windows(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("testdata/hosts/windows2019.txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// utf16Text is text as PowerShell's > writes it.
func utf16Text(text string, order binary.AppendByteOrder) string {
	raw := order.AppendUint16(nil, 0xfeff)
	for _, unit := range utf16.Encode([]rune(text)) {
		raw = order.AppendUint16(raw, unit)
	}
	return string(raw)
}

func TestReadEveryEncoding(t *testing.T) {
	printed := windows(t)
	want, err := Read(strings.NewReader(printed))
	if err != nil {
		t.Fatal(err)
	}
	returns := strings.ReplaceAll(printed, "\n", "\r\n")
	for name, text := range map[string]string{
		"carriage returns":       returns,
		"two carriage returns":   strings.ReplaceAll(printed, "\n", "\r\r\n"),
		"UTF-8 with a mark":      "\xef\xbb\xbf" + returns,
		"UTF-16":                 utf16Text(returns, binary.LittleEndian),
		"UTF-16, big end first":  utf16Text(returns, binary.BigEndian),
		"a greeting before":      "Welcome!\nLast login: never\n" + printed,
		"more behind the end":    printed + "PS C:\\> exit\n",
		"without the last end":   strings.TrimSuffix(printed, "\n"),
		"an unknown section":     strings.Replace(printed, "=== fullbore end", "=== fullbore later x\nwhatever\n=== fullbore end", 1),
		"bytes of a code page":   strings.Replace(printed, "=== fullbore clients", "=== fullbore later x\n\x84\x94\n=== fullbore clients", 1),
		"blanks behind a marker": strings.Replace(printed, "=== fullbore clients", "=== fullbore clients  ", 1),
	} {
		got, err := Read(strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// An error says where, and what was expected; nothing is half understood.
func TestReadSaysWhatIsWrong(t *testing.T) {
	const host = "fullbore facts 1 linux\n=== fullbore name\na\n=== fullbore version\n6.1\n"
	printed := windows(t)
	for name, tc := range map[string]struct{ text, says string }{
		"nothing":              {"", "fullbore facts --for SYSTEM"},
		"something else":       {"root@db1's password: \nPermission denied\n", "no line begins with"},
		"a later version":      {"fullbore facts 2 linux\n=== fullbore end\n", `line 1: "fullbore facts 2 linux"`},
		"no system":            {"fullbore facts 1 \n=== fullbore end\n", "line 1"},
		"an unknown system":    {"fullbore facts 1 plan9\n=== fullbore end\n", `"plan9" is not known: there are`},
		"no end":               {host, "the end is missing"},
		"cut off in the midst": {printed[:len(printed)/2], "the end is missing"},
		"no name":              {"fullbore facts 1 linux\n=== fullbore version\n6.1\n=== fullbore end\n", "no name"},
		"no version":           {"fullbore facts 1 linux\n=== fullbore name\na\n=== fullbore end\n", "version"},
		"a long line":          {host + strings.Repeat("x", maxLine+1) + "\n=== fullbore end\n", "line 6"},
		"too much":             {host + strings.Repeat("x\n", maxText/2), "more than 4 MB"},
		"netsh in German": {strings.Replace(printed, "=== fullbore clients",
			"=== fullbore netsh-global\nAktiver Status wird abgefragt...\nEmpf. Fenster Auto-Tuningstufe      : normal\nSkalierungsstatus empfangsseitig    : aktiviert\n=== fullbore clients", 1),
			"another language than English"},
		"broken JSON":         {"{\n\"schema\": \"fullbore/facts/1\",\n\"cpus\": many}", "line 3"},
		"a number as text":    {"{\"schema\": \"fullbore/facts/1\",\n\"cpus\": \"4\"}", "line 2"},
		"JSON of another":     {`{"schema": "fullbore/plan/1"}`, `want "fullbore/facts/1"`},
		"JSON without system": {`{"schema": "fullbore/facts/1", "name": "a", "version": "1"}`, "os"},
		"an escape in JSON":   {`{"schema": "fullbore/facts/1", "name": "a\u001b[2J", "os": "linux", "version": "6.1"}`, "cannot be printed"},
		"a bad address":       {`{"schema": "fullbore/facts/1", "name": "a", "os": "linux", "version": "6.1", "interfaces": [{"name": "e", "addresses": ["x"]}]}`, "address"},
		"negative memory":     {`{"schema": "fullbore/facts/1", "name": "a", "os": "linux", "version": "6.1", "memory_bytes": -1}`, "memory_bytes"},
		"an interface's name": {`{"schema": "fullbore/facts/1", "name": "a", "os": "linux", "version": "6.1", "interfaces": [{"name": ""}]}`, "interface 1"},
	} {
		if facts, err := Read(strings.NewReader(tc.text)); err == nil || facts != nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
	if _, err := Read(broken{}); !errors.Is(err, errBroken) {
		t.Errorf("of a reader that fails: %v", err)
	}
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Read([]byte) (int, error) { return 0, errBroken }

// What a tunable cannot have is left out and noted; what fullbore would not set
// but a host can have is kept.
func TestReadIsLax(t *testing.T) {
	facts, notes, err := Understand(strings.NewReader(`fullbore facts 1 linux
=== fullbore name
a
=== fullbore version
6.1
=== fullbore sysctl
net/ipv4/tcp_rmem:8388608	131072	4096
net/ipv4/tcp_wmem:4096 16384
net/ipv4/tcp_sack:255
net/core/rmem_max:many
net/ipv4/tcp_congestion_control:b;r
net/ipv4/no_such:1
=== fullbore addresses
2: eth0: <UP> mtu 1500
3: eth1: <BROADCAST> mtu 1500
=== fullbore files
/sys/class/net/eth0/queues/rx-0/rps_cpus:00000000,0000000F
/sys/class/net/eth0/queues/rx-1/rps_cpus:00000000,0000000F
/sys/class/net/eth0/queues/rx-0/rps_flow_cnt:0
/sys/class/net/eth0/queues/rx-1/rps_flow_cnt:4096
=== fullbore end
`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"net.ipv4.tcp_rmem": "8388608 131072 4096", "net.ipv4.tcp_sack": "255",
		"link.mtu@eth0": "1500", "link.rps_cpus@eth0": "f",
	}
	if diff := cmp.Diff(want, facts.Tunables); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	says := []string{
		`line 8: net.ipv4.tcp_wmem: "4096 16384" is not three numbers; left out`,
		`line 10: net.core.rmem_max: "many" is not one number; left out`,
		`line 11: net.ipv4.tcp_congestion_control: "b;r" is not a name; left out`,
	}
	if diff := cmp.Diff(says, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestReadDocumentIsLax(t *testing.T) {
	facts, notes, err := Understand(strings.NewReader(`{"schema": "fullbore/facts/1", "name": "a", "os": "linux", "version": "6.1",
		"memory": 1, "read_only": ["net.core.rmem_max", "net.core.nothing"],
		"tunables": {"net.core.rmem_max": "212992", "net.core.nothing": "1", "net.core.rmem_max@eth0": "1", "link.mtu": "1500", "link.mtu@eth0": "x"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"net.core.rmem_max": "212992"}, facts.Tunables); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"net.core.rmem_max"}, facts.ReadOnly); diff != "" {
		t.Errorf("read-only (-want +got):\n%s", diff)
	}
	if len(notes) != 5 || !strings.Contains(notes[0], `"memory"`) {
		t.Errorf("notes %q", notes)
	}
}

// The command for any Solaris asks for the names of all of them.
func TestReadKeepsTheNamesOfTheVersion(t *testing.T) {
	for release, want := range map[string]map[string]string{
		"5.10": {"tcp_recv_hiwat": "128000"},
		"5.11": {"recv_buf": "128000"},
	} {
		facts, err := Read(strings.NewReader("fullbore facts 1 solaris\n=== fullbore name\na\n=== fullbore release\n" + release +
			"\n=== fullbore ndd\ntcp_recv_hiwat 128000\n=== fullbore ipadm\nrecv_buf:128000\n=== fullbore end\n"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, facts.Tunables); diff != "" {
			t.Errorf("%s (-want +got):\n%s", release, diff)
		}
	}
}

// A router is told by more than one network; bridges to guests are none.
func TestForwards(t *testing.T) {
	host := func(forwarding, second string) string {
		return "fullbore facts 1 freebsd\n=== fullbore name\na\n=== fullbore version\n14.1\n=== fullbore sysctl\nnet.inet.ip.forwarding: " + forwarding +
			"\n=== fullbore ifconfig\nigb0: flags=8843<UP> mtu 1500\n\tinet 198.18.0.1 netmask 0xffffff00\n" +
			second + ": flags=8843<UP> mtu 1500\n\tinet 198.18.1.1 netmask 0xffffff00\n=== fullbore end\n"
	}
	for _, tc := range []struct {
		forwarding, second string
		want               bool
	}{{"1", "igb1", true}, {"0", "igb1", false}, {"1", "bridge0", false}} {
		facts, err := Read(strings.NewReader(host(tc.forwarding, tc.second)))
		if err != nil || facts.Forwards != tc.want {
			t.Errorf("%+v: %v (%v)", tc, facts, err)
		}
	}
}

func TestManagers(t *testing.T) {
	facts, err := Read(strings.NewReader(`fullbore facts 1 linux
=== fullbore name
a
=== fullbore version
6.1
=== fullbore tuned
Current active profile: network-throughput
=== fullbore processes
bpftune
irqbalance
power-profiles-
=== fullbore sysctl.d
/etc/sysctl.conf:net.core.rmem_max = 1
/etc/sysctl.d/10.conf:net.ipv4.tcp_sack=0
/etc/sysctl.d/99-zzz.conf:-net/ipv4/tcp_rmem=4096 131072	6291456
/etc/sysctl.d/99-zzz.conf:net.ipv4.tcp_sack=1
/etc/sysctl.d/99-zzz.conf:net.ipv4.ip_forward=1
/usr/lib/sysctl.d/10-devsec.conf:net.ipv4.tcp_timestamps=0
=== fullbore end
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range facts.Managers {
		got = append(got, m.Name+": "+m.Sets)
	}
	want := []string{
		"tuned: profile network-throughput", "bpftune: TCP's buffers, congestion control, backlogs",
		"irqbalance: which CPUs the interrupts of network cards go to", "power-profiles-daemon: cpu.governor",
		"/etc/sysctl.conf: net.core.rmem_max = 1",
		"/etc/sysctl.d/99-zzz.conf: net.ipv4.tcp_rmem = 4096 131072 6291456, net.ipv4.tcp_sack = 1",
		"/usr/lib/sysctl.d/10-devsec.conf: net.ipv4.tcp_timestamps = 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// However many interfaces a file has, reading it ends, and soon.
func TestReadTakesSoManyInterfaces(t *testing.T) {
	var text strings.Builder
	text.WriteString("fullbore facts 1 freebsd\n=== fullbore name\na\n=== fullbore version\n14.1\n=== fullbore ifconfig\n")
	for i := range 5 * maxInterfaces {
		fmt.Fprintf(&text, "em%d: flags=8843<UP> metric 0 mtu 1500\n\tinet 198.18.0.1 netmask 0xffff0000\n", i)
	}
	text.WriteString("=== fullbore end\n")
	facts, err := Read(strings.NewReader(text.String()))
	if err != nil || len(facts.Interfaces) != maxInterfaces || len(facts.Interfaces[maxInterfaces-1].Addresses) != 1 {
		t.Errorf("%d interfaces, %v", len(facts.Interfaces), err)
	}
}
