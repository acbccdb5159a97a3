package twin

import (
	"fmt"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/path"
)

// mtu of the hosts' links, as a scenario takes it.
func (b *builder) mtu() int {
	mtu, _ := b.links()
	return mtu
}

// links is the MTU of the hosts' links: of the interface that sends, or what routers
// report to be the most.
func (s *seen) links() (mtu int, k Key) {
	mtu, k = 1500, Key{How: Assumed, Why: "Ethernet's"}
	m := s.there.MTU
	switch {
	case m.Link > 0 && m.Bytes > 0 && m.Bytes < m.Link && !m.BlackHole:
		mtu, k = m.Bytes, Key{How: Measured, Why: fmt.Sprintf("the largest packet that passes; the sender's own link has %d", m.Link)}
	case m.Link > 0:
		mtu, k = m.Link, Key{How: Measured, Why: "of the sender's interface"}
	case m.Bytes > 0:
		mtu, k = m.Bytes, Key{How: AtMost, Why: "of the largest packet"}
	default:
		for _, i := range interfaces(s.a, s.used(true)) {
			if i.MTU > 0 {
				mtu, k = i.MTU, Key{How: Measured, Why: "of the sender's interface"}
			}
		}
	}
	return min(max(mtu, 1280), 65535), k
}

// packets says how large they are.
func (b *builder) packets() {
	mtu, k := b.links()
	b.set(k, fmt.Sprint(mtu), "path", "mtu")
}

// holes says which packets vanish on a way.
func (b *builder) hole(name string, d *path.Direction) {
	if d.MTU.BlackHole && d.MTU.Bytes >= 68 && d.MTU.Bytes < 65535 {
		b.set(Key{How: Measured, Why: "larger packets were lost, and no router said so"}, fmt.Sprint(d.MTU.Bytes), "path", name, "black_hole_above")
	}
}

// clamp is the MSS option as it came to the host that sends data the other way: far
// below its link's MTU, something on this way lowered it.
func (b *builder) clamp(name string, a bool) {
	mtu := b.mtu()
	mss := 0
	for _, m := range b.moved {
		if m.Spec.MSS > 0 {
			continue
		}
		streams := m.senders // what came on the way back bounds what they send
		if a {
			streams = m.receivers
		}
		for i := range streams {
			for j := range streams[i].Samples {
				t := &streams[i].Samples[j].TCP
				option := int(t.SndMSS)
				if t.Options&bulk.OptTimestamps != 0 {
					option += 12
				}
				if t.SndMSS > 0 {
					mss = max(mss, option)
				}
			}
		}
	}
	largest := mtu
	d := b.back
	if a {
		d = b.there
	}
	if d.MTU.BlackHole && d.MTU.Bytes > 0 {
		largest = min(largest, d.MTU.Bytes) // tcp_mtu_probing may have found it
	}
	if mss < 88 || mss > 65535 || mss+60 >= largest { // 40 bytes of headers, 60 with IPv6
		return
	}
	b.set(Key{How: Measured, Why: fmt.Sprintf("connections agreed on segments of %d bytes over links of %d", mss, mtu)}, fmt.Sprint(mss), "path", name, "mss_clamp")
}

// stripped says which options of TCP both hosts offer and no connection got.
func (b *builder) stripped(name string) {
	var missing []string
	for _, option := range []struct {
		name, tunable string
		bit           uint8
	}{
		{"wscale", "net.ipv4.tcp_window_scaling", bulk.OptWindowScale},
		{"sack", "net.ipv4.tcp_sack", bulk.OptSACK},
		{"timestamps", "net.ipv4.tcp_timestamps", bulk.OptTimestamps},
	} {
		on := func(value string) bool { return value != "" && value != "0" }
		if !on(b.a.Tunables[option.tunable]) || !on(b.b.Tunables[option.tunable]) {
			continue
		}
		agreed, seen := false, false
		for _, m := range b.moved {
			for i := range m.senders {
				for j := range m.senders[i].Samples {
					t := &m.senders[i].Samples[j].TCP
					seen = seen || t.SndMSS > 0
					agreed = agreed || t.Options&option.bit != 0
				}
			}
		}
		if seen && !agreed {
			missing = append(missing, option.name)
		}
	}
	if len(missing) > 0 {
		b.set(Key{How: Inferred, Why: "both hosts offer it and no connection got it; which way it is lost is not known"}, "["+strings.Join(missing, ", ")+"]", "path", name, "strip")
	}
}
