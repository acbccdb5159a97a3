package wire

import (
	"encoding/binary"
	"fmt"
	"strings"
)

const (
	optEnd = 0
	optNOP = 1
	optMSS = 2
)

// tcpOptions are the options that Strip knows, by their kind (IANA, TCP Option
// Kind Numbers).
var tcpOptions = map[string]byte{"wscale": 3, "sack": 4, "timestamps": 8}

// MSSClamp lowers the MSS option of SYNs to this many bytes, which acts on the data
// that flows against the SYN it is in. The least is what Linux sends with
// (TCP_MIN_MSS, include/net/tcp.h).
type MSSClamp int

// Says is how a drawing of the path has it.
func (c MSSClamp) Says() string { return fmt.Sprintf("clamps the MSS to %d", int(c)) }

func (MSSClamp) conflict(site) error { return nil }

func (c MSSClamp) install(l *lane, _ site) { l.syn.active, l.syn.clamp = true, int(c) }

// Strip takes TCP options out of SYNs. The ends agree on an option by the first SYN
// and its answer: strip both directions, as middleboxes do. With "wscale" out of
// the answer only, the ends would disagree about every window.
type Strip []string

// Says is how a drawing of the path has it.
func (s Strip) Says() string { return "strips " + strings.Join(s, ", ") + " from SYNs" }

func (Strip) conflict(site) error { return nil }

func (s Strip) install(l *lane, _ site) {
	l.syn.active = true
	for _, name := range s {
		l.syn.strip[tcpOptions[name]] = true
	}
}

// synRules is what a middlebox does to the options of a SYN.
type synRules struct {
	active bool
	clamp  int       // lower the MSS to this; 0: leave it
	strip  [256]bool // by kind: replace by NOPs
}

// apply rewrites the options of p if it is a SYN, and says whether it did.
func (r *synRules) apply(p *packet) bool {
	if !r.active || !p.tcp {
		return false
	}
	ip := p.ip()
	tcp := ip[p.l4:p.headers]
	if tcp[13]&flagSYN == 0 || !r.rewrite(tcp[20:]) {
		return false
	}
	if !p.needsCsum { // a partial checksum does not cover options
		tcp[tcpCsumOffset], tcp[tcpCsumOffset+1] = 0, 0
		pseudo := pseudoSum(ip, p.version, protoTCP, len(ip)-p.l4)
		binary.BigEndian.PutUint16(tcp[tcpCsumOffset:], ^fold(sum(ip[p.l4:], uint64(pseudo))))
	}
	return true
}

func (r *synRules) rewrite(options []byte) (changed bool) {
	for len(options) > 0 && options[0] != optEnd {
		if options[0] == optNOP {
			options = options[1:]
			continue
		}
		if len(options) < 2 || options[1] < 2 || int(options[1]) > len(options) {
			return changed
		}
		kind, option := options[0], options[:options[1]]
		options = options[len(option):]
		switch {
		case r.strip[kind]:
			for i := range option {
				option[i] = optNOP
			}
			changed = true
		case kind == optMSS && len(option) == 4 && r.clamp > 0 && int(binary.BigEndian.Uint16(option[2:])) > r.clamp:
			binary.BigEndian.PutUint16(option[2:], uint16(r.clamp))
			changed = true
		}
	}
	return changed
}
