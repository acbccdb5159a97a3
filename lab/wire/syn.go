package wire

import "encoding/binary"

const (
	optEnd = 0
	optNOP = 1
	optMSS = 2
)

// synRules is what a middlebox does to the options of a SYN.
type synRules struct {
	clamp int       // lower the MSS to this; 0: leave it
	strip [256]bool // by kind: replace by NOPs
	any   bool
}

func newSynRules(d Direction) synRules {
	r := synRules{clamp: d.MSSClamp, any: d.MSSClamp > 0 || len(d.Strip) > 0}
	for _, name := range d.Strip {
		r.strip[tcpOptions[name]] = true
	}
	return r
}

// apply rewrites the options of p if it is a SYN, and says whether it did.
func (r *synRules) apply(p *packet) bool {
	if !r.any || !p.tcp {
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
