package host

import "testing"

// A busy front end (https://super-unix.com/unixlinux/how-to-tell-how-much-memory-tcp-buffers-are-actually-using).
const sockstat = `sockets: used 3640
TCP: inuse 48 orphan 49 tw 63 alloc 2620 mem 248
UDP: inuse 6 mem 10
UDPLITE: inuse 0
RAW: inuse 0
FRAG: inuse 0 memory 0
`

func TestParseSockstat(t *testing.T) {
	if pages, err := parseSockstat(sockstat); pages != 248 || err != nil {
		t.Errorf("%d pages, %v; want 248", pages, err)
	}
	for _, text := range []string{"", "UDP: inuse 6 mem 10\n", "TCP: inuse 48 mem\n", "TCP:\n", "TCP: mem x\n", "TCP: mem 99999999999999999999\n"} {
		if pages, err := parseSockstat(text); err == nil {
			t.Errorf("%q is read as %d pages", text, pages)
		}
	}
}

func FuzzParseSockstat(f *testing.F) {
	f.Add(sockstat)
	f.Add("TCP: mem -1")
	f.Fuzz(func(t *testing.T, text string) {
		if pages, err := parseSockstat(text); err == nil && (pages < 0 || pages > maxPages) {
			t.Errorf("%q is read as %d pages", text, pages)
		}
	})
}

func TestCheckMemory(t *testing.T) {
	var none *TCPMemory
	if none.Check() != nil || (&TCPMemory{Used: 1}).Check() != nil || (&TCPMemory{High: -1}).Check() == nil {
		t.Error("memory that can be is refused, or one that cannot is not")
	}
}
