package flow

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/netip"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fullbore/fullbore/bulk"
)

// put appends a netlink attribute.
func put(to []byte, kind uint16, value []byte) []byte {
	to = binary.NativeEndian.AppendUint16(to, uint16(4+len(value)))
	to = binary.NativeEndian.AppendUint16(to, kind)
	to = append(to, value...)
	for len(to)%4 != 0 {
		to = append(to, 0)
	}
	return to
}

// raw is what the kernel would write of a socket.
func (m *message) raw() []byte {
	out := []byte{m.family, m.state, 0, 0}
	out = append(out, m.id[:]...)
	for _, word := range []uint32{0, m.unread, m.unsent, 0, m.inode} {
		out = binary.NativeEndian.AppendUint32(out, word)
	}
	if m.memory != nil {
		out = put(out, attributeMemory, m.memory)
	}
	if m.info != nil {
		out = put(out, attributeInfo, m.info)
	}
	if m.congestion != nil {
		out = put(out, attributeCongestion, append(bytes.Clone(m.congestion), 0))
	}
	return out
}

// netlinkMessage puts a header before it.
func netlinkMessage(kind uint16, seq uint32, body []byte) []byte {
	out := binary.NativeEndian.AppendUint32(nil, uint32(16+len(body)))
	out = binary.NativeEndian.AppendUint16(out, kind)
	out = binary.NativeEndian.AppendUint16(out, 0)
	out = binary.NativeEndian.AppendUint32(out, seq)
	out = binary.NativeEndian.AppendUint32(out, 0)
	out = append(out, body...)
	for len(out)%4 != 0 {
		out = append(out, 0)
	}
	return out
}

// info is a struct tcp_info as kernels of different ages write it, captured of
// one sender (package bulk has them).
func info(t testing.TB, length string) []byte {
	t.Helper()
	text, err := os.ReadFile("../bulk/testdata/tcp_info." + length + ".hex")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// captured is a message with all there is.
func captured(t testing.TB) *message {
	m := &message{family: familyIPv4, state: 1, unread: 3, unsent: 144800, inode: 4711,
		info: info(t, "280"), memory: make([]byte, 36), congestion: []byte("cubic")}
	binary.NativeEndian.PutUint32(m.memory[12:], 87040)
	m.id = sockID{0: 0xc0, 1: 0x01, 2: 0, 3: 22, 4: 198, 5: 18, 7: 1, 20: 198, 21: 18, 23: 2, 40: 0xff}
	return m
}

func TestMessage(t *testing.T) {
	want := captured(t)
	var got message
	if err := got.parse(want.raw()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, &got, cmp.AllowUnexported(message{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	local, remote := got.id.ends(got.family)
	if local != netip.MustParseAddrPort("198.18.0.1:49153") || remote != netip.MustParseAddrPort("198.18.0.2:22") {
		t.Errorf("%v > %v", local, remote)
	}
	var s bulk.Sample
	got.sample(&s)
	if s.TCP.BytesAcked != 5771729 || s.Mem.SendBuf != 87040 || s.Unread != 3 || s.Unsent != 144800 {
		t.Errorf("%+v", s)
	}
	acked, received, sent := got.moved()
	if acked != s.TCP.BytesAcked || received != s.TCP.BytesReceived || sent != s.TCP.BytesSent {
		t.Errorf("moved: %d, %d, %d of %+v", acked, received, sent, s.TCP)
	}
}

// An IPv4 address in an IPv6 socket is shown as what it is.
func TestMappedAddress(t *testing.T) {
	id := sockID{1: 80, 3: 81, 14: 0xff, 15: 0xff, 16: 198, 17: 18, 19: 1, 20: 0xfd, 35: 2}
	local, remote := id.ends(familyIPv6)
	if local.String() != "198.18.0.1:80" || remote.String() != "[fd00::2]:81" {
		t.Errorf("%v > %v", local, remote)
	}
}

func TestSplit(t *testing.T) {
	failed := binary.NativeEndian.AppendUint32(nil, ^uint32(syscall.ENOENT)+1)
	datagram := bytes.Join([][]byte{
		netlinkMessage(sockByFamilyType, 7, []byte("seven")),
		netlinkMessage(typeError, 8, failed),
		netlinkMessage(typeError, 9, make([]byte, 4)), // an acknowledgement
		netlinkMessage(typeDone, 10, make([]byte, 4)),
		netlinkMessage(sockByFamilyType, 11, []byte("after the end")),
	}, nil)
	type answer struct {
		Seq    uint32
		Body   string
		Failed error
	}
	var got []answer
	done, err := split(datagram, func(seq uint32, raw []byte, failed error) error {
		got = append(got, answer{seq, string(raw), failed})
		return nil
	})
	want := []answer{{7, "seven", nil}, {8, "", syscall.ENOENT}}
	if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" || !done || err != nil {
		t.Errorf("done %v, %v (-want +got):\n%s", done, err, diff)
	}
	ended := errors.New("enough")
	if _, err := split(datagram, func(uint32, []byte, error) error { return ended }); !errors.Is(err, ended) {
		t.Errorf("got %v", err)
	}
}

const sockByFamilyType = 20 // SOCK_DIAG_BY_FAMILY

// Whatever comes instead of a kernel's answer, it is refused or read without
// reaching beyond it.
func FuzzDatagram(f *testing.F) {
	f.Add(netlinkMessage(sockByFamilyType, 1, captured(f).raw()))
	for _, length := range []string{"104", "192", "232"} {
		m := captured(f)
		m.info = info(f, length)
		f.Add(netlinkMessage(sockByFamilyType, 1, m.raw()))
	}
	f.Add(netlinkMessage(typeDone, 1, nil))
	f.Add(netlinkMessage(typeError, 1, []byte{1, 2}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		seen := 0
		_, err := split(raw, func(_ uint32, body []byte, failed error) error {
			seen += 16 + len(body)
			return deliver(&message{}, body, failed, func(m *message) {
				track := newTrack(m, 0)
				track.observe(m, 1, 1)
				if track.flow.ID == "" || track.flow.State == "" {
					t.Errorf("%+v", track.flow)
				}
			})
		})
		if seen > len(raw) {
			t.Errorf("%d bytes of %d, %v", seen, len(raw), err)
		}
	})
}
