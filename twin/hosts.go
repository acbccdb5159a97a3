package twin

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

// host writes what is particular about host a or b.
func (b *builder) host(name string) {
	a := name == "a"
	facts := b.b
	if a {
		facts = b.a
	}
	b.congestion(name, a, facts)
	b.cpus(name, a, facts)
	b.program(name, a)
	if shaped := shaper(facts, b.used(a)); shaped >= unit.Kbps {
		b.set(Key{How: Measured, Why: "the rate of the queue before its interface; its burst and length are not known, and are the lab's"}, rate(shaped), "hosts", name, "shape")
	}
	b.sysctls(name, facts)
}

var congestionName = regexp.MustCompile(`^[a-z0-9_-]{1,15}$`)

// congestion is what the host's connections had by themselves.
func (b *builder) congestion(name string, a bool, facts *host.Facts) {
	for _, m := range b.plainOnes() {
		streams := m.receivers
		if a {
			streams = m.senders
		}
		for i := range streams {
			if c := streams[i].Congestion; congestionName.MatchString(c) {
				b.set(Key{How: Measured, Why: "as the kernel reported it of the host's connections"}, quoted(c), "hosts", name, "congestion")
				return
			}
		}
	}
	if c := facts.Tunables["net.ipv4.tcp_congestion_control"]; congestionName.MatchString(c) {
		b.set(Key{How: Measured, Why: "the host's default"}, quoted(c), "hosts", name, "congestion")
	}
}

// cpus are those that the host's control group may use. A whole host's are those of the
// machine that the lab runs on, which may be faster or slower.
func (b *builder) cpus(name string, a bool, facts *host.Facts) {
	quota := 0.0
	for _, m := range b.moved {
		quota = max(quota, b.end(m, a).CPU.Quota)
	}
	if quota >= 0.02 && quota <= 1024 {
		b.set(Key{How: Measured, Why: "what its control group may use; a processor of the lab's machine may do more or less in its time"}, digits(quota), "hosts", name, "cpus")
		return
	}
	if facts.CPUs > 0 {
		b.leave(Key{How: Measured, Why: fmt.Sprintf("no quota: %d processors (%s); the twin has those of the machine that the lab runs on", facts.CPUs, clean(facts.CPUModel))}, "hosts", name, "cpus")
	}
}

// program is how fast the application takes or gives where that was the limit. Where it
// was not, it is faster than anything that was seen.
func (b *builder) program(name string, a bool) {
	cause, key, does := diagnose.SlowReceiver, "slow_reader", "takes"
	if a {
		cause, key, does = diagnose.SlowSender, "slow_writer", "gives"
	}
	f := b.has(cause)
	if f == nil {
		return
	}
	if b.throttled(a) {
		b.leave(Key{How: Inferred, Why: "its quota of a processor stopped the host, so that nothing can be told of the program"}, "hosts", name, key)
		return
	}
	goodput, ok := f.Value("goodput")
	limit := sound(unit.Rate(goodput))
	if !ok || limit < unit.Kbps {
		return
	}
	b.set(Key{How: Inferred, Low: limit.String(), Why: fmt.Sprintf("the program %s no more, and nothing else limited", does)}, rate(limit), "hosts", name, key)
}

// plainValue is what the value of a sysctl may be to be written down.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9_. -]{1,200}$`)

// notSet are sysctls that the lab has another key for, or none to set.
var notSet = []string{"net.ipv4.tcp_congestion_control", "net.ipv4.tcp_available_congestion_control", "net.ipv4.tcp_allowed_congestion_control"}

// sysctls are the catalogue's settings of a network namespace, all of them: the lab's
// hosts begin with those of the machine that it runs on.
func (b *builder) sysctls(name string, facts *host.Facts) {
	if facts.OS != "linux" {
		b.lack("the settings of %s, which runs %s: the lab's hosts run Linux, with the settings of the machine that the lab runs on", clean(facts.Name), clean(facts.OS))
		return
	}
	var whole []string
	why := "as found on the host"
	for _, key := range slices.Sorted(maps.Keys(facts.Tunables)) {
		value := tunable.Normalise(facts.Tunables[key])
		t, ok := tunable.Lookup("linux", key)
		if !ok || !strings.HasPrefix(key, "net.") || slices.Contains(notSet, key) || t.Scope.Instanced() {
			continue
		}
		if t.Scope != tunable.OfNamespace {
			whole = append(whole, key)
			continue
		}
		if slices.Contains(facts.ReadOnly, key) || !plainValue.MatchString(value) {
			continue
		}
		b.set(Key{How: Measured, Why: why}, quoted(value), "hosts", name, "sysctl", key)
	}
	if len(whole) > 0 {
		b.lack("%s of %s (%s): they hold for a whole machine, and a host of the lab has those of the machine that the lab runs on", strings.Join(whole, ", "), name, clean(facts.Name))
	}
	off := map[string]bool{}
	for _, i := range interfaces(facts, b.used(name == "a")) {
		for offload, on := range i.Offloads {
			if !on && slices.Contains([]string{"gso", "tso", "gro"}, offload) {
				off[offload] = true
			}
		}
		if i.Duplex == "half" {
			b.lack("the half-duplex link of %s (%s): the lab's links are full duplex", name, clean(facts.Name))
		}
	}
	if len(off) > 0 {
		b.lack("that %s is off on %s (%s): the lab has no key for offloads", strings.Join(slices.Sorted(maps.Keys(off)), ", "), name, clean(facts.Name))
	}
}
