package path

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	good := packet{kind: kindData, cookie: cookie{1, 2, 3}, id: 7, seq: 2, count: 3, size: 1500}
	with := func(change func(p *packet)) []byte {
		p := good
		change(&p)
		return p.small()
	}
	for _, c := range []struct {
		name string
		in   []byte
		want packet
		err  string
	}{
		{"whole", good.padded(overhead4), good, ""},
		{"as large as IP allows", packet{kind: kindWant, size: maxPacket}.small(), packet{kind: kindWant, size: maxPacket}, ""},
		{"as long a train as there is", packet{kind: kindData, count: maxTrainPackets, size: maxTrainBytes / maxTrainPackets}.small(),
			packet{kind: kindData, count: maxTrainPackets, size: maxTrainBytes / maxTrainPackets}, ""},
		{"padding cut off", good.padded(overhead4)[:headerSize], good, ""},
		{"short", good.small()[:headerSize-1], packet{}, "not a probe packet"},
		{"empty", nil, packet{}, "not a probe packet"},
		{"other magic", append([]byte("fbp2"), good.small()[4:]...), packet{}, "not a probe packet"},
		{"kind 0", with(func(p *packet) { p.kind = 0 }), packet{}, "kind 0"},
		{"kind 99", with(func(p *packet) { p.kind = 99 }), packet{}, "kind 99"},
		{"beyond IP", with(func(p *packet) { p.size = 65536 }), packet{}, "size 65536"},
		{"beyond its train", with(func(p *packet) { p.seq = 3 }), packet{}, "packet 3 of 3"},
		{"train of one", with(func(p *packet) { p.seq, p.count = 0, 1 }), packet{}, "packet 0 of 1"},
		{"too many", with(func(p *packet) { p.count, p.size = maxTrainPackets+1, 68 }), packet{}, "of 4097"},
		{"too much", with(func(p *packet) { p.count = maxTrainBytes/1500 + 1 }), packet{}, "of 1399"},
	} {
		got, err := parse(c.in)
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(packet{})); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		}
	}
}

func TestPacketSizes(t *testing.T) {
	for _, c := range []struct {
		to   string
		size uint32
		want int
	}{
		{"198.18.0.1", 1500, 1472},
		{"::ffff:198.18.0.1", 1500, 1472},
		{"fd00::1", 1500, 1452},
		{"198.18.0.1", 68, headerSize}, // the smallest MTU of IPv4 is the smallest packet
		{"198.18.0.1", 0, headerSize},
	} {
		p := packet{kind: kindProbe, size: c.size}
		if got := len(p.padded(overhead(netip.MustParseAddr(c.to)))); got != c.want {
			t.Errorf("datagram to %s for a packet of %d bytes: %d bytes, want %d", c.to, c.size, got, c.want)
		}
	}
}

func TestTrainPackets(t *testing.T) {
	p := packet{kind: kindData, id: 5, count: 4, size: 100}
	datagrams, size := p.train(overhead4)
	if size != 72 || len(datagrams) != 4*size {
		t.Fatalf("%d bytes in datagrams of %d, want 4 of 72", len(datagrams), size)
	}
	for i := range p.count {
		want := p
		want.seq = i
		if got, err := parse(datagrams[int(i)*size:]); err != nil || got != want {
			t.Errorf("datagram %d is %+v (%v), want %+v", i, got, err, want)
		}
	}
}

func TestCookie(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := cookie(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "cookie"))
		if got, err := parseCookie(want.String()); err != nil || got != want {
			t.Fatalf("%v became %v (%v)", want, got, err)
		}
	})
	for _, s := range []string{"", "00", strings.Repeat("0", 31), strings.Repeat("0", 33), strings.Repeat("x", 32)} {
		if _, err := parseCookie(s); err == nil {
			t.Errorf("cookie %q was taken", s)
		}
	}
}

// What parses is within the limits, and is written again as it was read.
func FuzzParse(f *testing.F) {
	f.Add(packet{kind: kindProbe, size: 1500}.small())
	f.Add(packet{kind: kindData, id: 1, seq: 1, count: 2, size: 9000}.small())
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parse(b)
		if err != nil {
			return
		}
		if p.size > maxPacket || p.kind >= kindSend && (p.seq >= p.count || p.count*p.size > maxTrainBytes) && p.kind != kindPadded {
			t.Fatalf("%+v is beyond the limits", p)
		}
		if !bytes.Equal(p.small(), b[:headerSize]) {
			t.Fatalf("%x was read, %x written", b[:headerSize], p.small())
		}
	})
}
