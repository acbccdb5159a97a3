package sweep

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
)

// end is one of the two hosts.
type end struct {
	which string      // "near" or "far"
	name  string      // as people know it
	facts *host.Facts // as found; nil: it does not report them
	held  change.Held
}

// want is what a point asks of a host's tunables, as it takes them.
func (e *end) want(p Point, far netip.AddrPort) (map[string]string, error) {
	asked, window := p.tunables(e.which)
	want := map[string]string{}
	if len(asked) == 0 && window.Present() {
		return want, nil
	}
	if e.facts == nil {
		return nil, fmt.Errorf("%s does not report its tunables: its token is needed (FULLBORE_TOKEN)", e.name)
	}
	if e.held.Host == nil {
		why := e.facts.WhyNot
		if why == "" {
			why = "it does not allow changes"
		}
		return nil, fmt.Errorf("the tunables of %s cannot be set: %s", e.name, why)
	}
	for base, v := range asked {
		name, err := e.instance(base, far)
		if err != nil {
			return nil, err
		}
		want[name] = e.text(base, v)
	}
	if !window.Present() {
		if e.facts.OS != "linux" {
			return nil, fmt.Errorf("window is of Linux hosts, and %s is not one: vary the tunables of its system instead", e.name)
		}
		for _, name := range []string{tcpRmem, tcpWmem} {
			words := strings.Fields(e.facts.Tunables[name])
			if len(words) != 3 {
				return nil, fmt.Errorf("%s has no %s", e.name, name)
			}
			words[2] = strconv.FormatInt(int64(2*window.Number), 10)
			want[name] = strings.Join(words, " ")
		}
	}
	return want, nil
}

// The maxima of socket buffers that the kernel tunes by itself.
const (
	tcpRmem = "net.ipv4.tcp_rmem"
	tcpWmem = "net.ipv4.tcp_wmem"
)

// instance is the whole name of a tunable: of one that each interface has, and of which
// none is named, the one that carries the path.
func (e *end) instance(name string, far netip.AddrPort) (string, error) {
	known, ok := tunable.Lookup(e.facts.OS, name)
	if !ok {
		return "", fmt.Errorf("%s (%s) has no tunable %s", e.name, e.facts.OS, name)
	}
	base, which := tunable.Split(name)
	if !known.Scope.Instanced() || which != "" {
		if _, there := e.facts.Tunables[name]; !there {
			return "", fmt.Errorf("%s does not have %s", e.name, name)
		}
		return name, nil
	}
	var names []string
	for _, i := range e.facts.Interfaces {
		carries := e.which == "far" && has(i, far.Addr())
		if !i.Up || i.Name == "lo" {
			continue
		}
		full := tunable.Join(base, i.Name)
		if _, there := e.facts.Tunables[full]; !there {
			continue
		}
		if carries {
			return full, nil
		}
		names = append(names, full)
	}
	switch len(names) {
	case 0:
		return "", fmt.Errorf("%s has no interface with %s", e.name, base)
	case 1:
		return names[0], nil
	}
	return "", fmt.Errorf("%s has more than one interface: say which, such as %s.%s", e.name, e.which, names[0])
}

// text is a value as the tunable takes it.
func (e *end) text(name string, v Value) string {
	known, _ := tunable.Lookup(e.facts.OS, name)
	switch {
	case v.IsNumber():
		return strconv.FormatFloat(v.Number, 'f', -1, 64)
	case v.Word == allOfCPU && known != nil && known.Kind == tunable.Mask:
		return mask(e.facts.CPUs)
	}
	return v.Word
}

// mask is that of the first CPUs, as in /sys: hexadecimal, in groups of 32.
func mask(cpus int) string {
	var groups []string
	for at := 0; at < max(1, cpus); at += 32 {
		bits := uint64(1)<<min(32, max(1, cpus)-at) - 1
		text := fmt.Sprintf("%08x", bits)
		if at+32 >= cpus { // the first in print
			text = strconv.FormatUint(bits, 16)
		}
		groups = append([]string{text}, groups...)
	}
	return strings.Join(groups, ",")
}

// reads is what a host has for a factor: what was set and read back by Apply, or what
// it had; false if it is not of this host.
func (e *end) reads(f *Factor, asked Value, far netip.AddrPort) (Value, bool) {
	now := func(name string) string {
		if v, set := e.held.Live[name]; set {
			return v
		}
		return e.facts.Tunables[name]
	}
	if f.name == "window" {
		least := 0.0
		for _, name := range []string{tcpRmem, tcpWmem} {
			words := strings.Fields(now(name))
			if len(words) != 3 {
				return Value{}, false
			}
			v, err := strconv.ParseFloat(words[2], 64)
			if err != nil {
				return Value{}, false
			}
			if least == 0 || v < least {
				least = v
			}
		}
		return number(least / 2), true
	}
	whose, base, _ := strings.Cut(f.name, ".")
	if whose != e.which && whose != "both" {
		return Value{}, false
	}
	name, err := e.instance(base, far)
	if err != nil {
		return Value{}, false
	}
	v, err := Tunable.read(now(name))
	if err != nil {
		return Value{}, false
	}
	if asked.Word == allOfCPU && v.Text(Tunable) == mask(e.facts.CPUs) {
		v = asked
	}
	return v, true
}

// has says whether an interface has an address.
func has(i host.Interface, address netip.Addr) bool {
	for _, text := range i.Addresses {
		if prefix, err := netip.ParsePrefix(text); err == nil && prefix.Addr() == address.Unmap() {
			return true
		}
	}
	return false
}
