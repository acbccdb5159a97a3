package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const netstat = `TcpExt: SyncookiesSent TCPTimeouts TCPLossProbes
TcpExt: 0 17 4
IpExt: InNoRoutes InOctets
IpExt: 0 9223372036854775807
`

func TestParseCounters(t *testing.T) {
	got := map[string]int64{"Tcp.RetransSegs": 3}
	if err := parseCounters(netstat+"Tcp: MaxConn\nTcp: -1", got); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{
		"Tcp.RetransSegs": 3, "Tcp.MaxConn": -1,
		"TcpExt.SyncookiesSent": 0, "TcpExt.TCPTimeouts": 17, "TcpExt.TCPLossProbes": 4,
		"IpExt.InNoRoutes": 0, "IpExt.InOctets": 1<<63 - 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseCountersRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":            "",
		"no values":          "Tcp: A B\n",
		"too few values":     "Tcp: A B\nTcp: 1\n",
		"of two protocols":   "Tcp: A\nUdp: 1\n",
		"no protocol":        "A\n1\n",
		"empty lines":        "\n\n",
		"not a number":       "Tcp: A\nTcp: x\n",
		"out of range":       "Tcp: A\nTcp: 99999999999999999999\n",
		"a third line stays": "Tcp: A\nTcp: 1\nUdp: A\n",
	} {
		if err := parseCounters(text, map[string]int64{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzParseCounters(f *testing.F) {
	f.Add(netstat)
	f.Add("Tcp: A B\nTcp: 1 2")
	f.Add("Tcp:\nTcp:\n")
	f.Fuzz(func(t *testing.T, text string) {
		once, twice := map[string]int64{}, map[string]int64{}
		if parseCounters(text, once) != nil {
			return
		}
		if err := parseCounters(text, twice); err != nil || !cmp.Equal(once, twice) {
			t.Errorf("%q is read as %v and then as %v, %v", text, once, twice, err)
		}
		if changes := Delta(once, twice); len(changes) != 0 {
			t.Errorf("%q differs from itself by %v", text, changes)
		}
	})
}

func TestDelta(t *testing.T) {
	before := map[string]int64{"Tcp.RetransSegs": 3, "Tcp.CurrEstab": 5, "Tcp.OutRsts": 7, "Udp.NoPorts": 1}
	after := map[string]int64{"Tcp.RetransSegs": 10, "Tcp.CurrEstab": 4, "Tcp.OutRsts": 7, "TcpExt.New": 2}
	want := map[string]int64{"Tcp.RetransSegs": 7, "Tcp.CurrEstab": -1}
	if diff := cmp.Diff(want, Delta(before, after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
