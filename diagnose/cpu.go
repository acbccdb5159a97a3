package diagnose

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/unit"
)

// Shares of a processor's time.
const (
	saturated = 0.9  // of what there is counts as all: schedulers and clocks leave a little
	throttled = 0.1  // held back for longer by a quota is more than a start or a burst
	pinned    = 0.95 // of one core, mostly by the network's interrupts: it cannot take more packets
	mostly    = 0.6
)

// senderCPU: the sending process has no more processor time to hand bytes to
// TCP, which has nothing left to send although both windows are open.
func senderCPU(v *view) *Finding { return v.cpu(sender) }

// receiverCPU: the receiving process has no more processor time to take bytes
// from TCP, or one core none to take packets from the interface.
func receiverCPU(v *view) *Finding { return v.cpu(receiver) }

// A busy core alone says little: on a small machine one is busy on any fast path,
// with other work or with both hosts of a lab. So it is the process' own time
// that counts, against its quota or one core a stream, and what TCP saw.
func (v *view) cpu(at side) *Finding {
	l, ok := v.load(at)
	if !ok || !v.short(v.goodput) {
		return nil
	}
	// A process that is held back sleeps longer and moves more at once: that alone
	// costs nothing, until a buffer runs over or dry.
	waits := max(v.unread(), v.silent())
	sees := waits > 0.3 || v.dropped() > 0
	if at == sender {
		waits = v.unfilled()
		sees = waits > 0.5 || 1-v.busy > max(0.05, l.throttled/2)
	}
	byQuota := l.quota > 0 && l.used >= saturated*l.quota && l.throttled >= throttled
	byThread := l.used >= saturated*l.threads
	// The limit counts only the time in which there was work to do. A process that it holds back
	// for most of the time, and that uses all it may, is at its ceiling: what it may use divided by
	// what a byte costs. Samples of such a process are rare, and taken while it runs.
	sees = sees || byQuota && l.throttled >= mostly
	byCore := at == receiver && l.core.Busy >= pinned && l.core.SoftIRQ >= mostly
	if !sees || !byQuota && !byThread && !byCore || at == sender && v.rwnd > 0.5 {
		return nil
	}
	f := &Finding{ // that the quota is used up and that the kernel held the process back are two signs
		Cause:      ReceiverCPU,
		Confidence: confidence(2*count(byQuota)+count(l.throttled >= 2*throttled, byThread || byCore, waits > 0.5, l.used >= 0.95*l.available()), 0),
		weight:     1,
	}
	if at == sender {
		f.Cause = SenderCPU
	}
	f.Says, f.Action = l.words(v, byQuota, byThread)
	f.addGoodput(v)
	f.Add("cpu_used", l.used, "cores", "the %s's process used %.2g of a core", at, l.used)
	if l.quota > 0 {
		f.CPUQuota = l.quota
		f.Add("cpu_quota", l.quota, "cores", "its control group may use %.2g of one", l.quota)
		f.AddShare("throttled", l.throttled, "of the time that limit held it back")
	}
	f.AddShare("busiest_core", l.core.Busy, "of its time the host's busiest core was at work")
	f.AddShare("softirq", l.core.SoftIRQ, "of that core's time went to the network's interrupts")
	if at == sender {
		f.AddShare("unfilled", v.unfilled(), "of the time all that was written was in flight, with room for more")
	} else {
		f.AddShare("unread", v.unread(), "of what the receiver can hold was waiting for its application")
		f.AddShare("silent", v.silent(), "of the time the sender waited for the receiver to go on, for more than a round trip")
	}
	if off := v.offloadsOff(at); len(off) > 0 {
		f.Add("offloads_off", float64(len(off)), "", "%s: the processor does that work itself, for each packet", strings.Join(off, ", "))
		f.Action = "turn the offloads on that are off (ethtool -K); then " + f.Action
	}
	return v.predict(f, l.limit(v), v.receiverLimit(), v.senderLimit())
}

// load is how one host's processors spent the measured time.
type load struct {
	at                     side
	used, quota, throttled float64 // by the process: cores, cores (0: no limit), share of the time
	threads                float64 // that may run at once: one a stream
	core                   struct{ Busy, SoftIRQ float64 }
}

// load of a host that reports its processor time.
func (v *view) load(at side) (l load, ok bool) {
	c := v.end(at).CPU
	if c.Elapsed <= 0 {
		return load{}, false
	}
	l = load{at: at, quota: c.Quota, threads: float64(len(v.senders))}
	if at == receiver {
		l.threads = float64(len(v.receivers))
	}
	share := func(d time.Duration) float64 { return max(0, ratio(float64(d), float64(c.Elapsed))) }
	l.used = share(c.User) + share(c.System)
	l.throttled = min(1, share(c.Throttled)) // every core that is held back counts
	for _, core := range c.Cores {
		if core.Busy > l.core.Busy {
			l.core.Busy, l.core.SoftIRQ = core.Busy, core.SoftIRQ
		}
	}
	return l, l.threads > 0 && !math.IsNaN(l.quota)
}

// available is how much processor time there was for the process, in cores.
func (l load) available() float64 {
	if l.quota > 0 {
		return min(l.quota, l.threads)
	}
	return l.threads
}

// limit is the goodput once every stream has a core of its own, if each byte
// goes on to cost what it costs now.
func (l load) limit(v *view) limit {
	return limit{v.goodput * unit.Rate(max(1, l.threads/l.used)), fmt.Sprintf("one core of the %s for each stream", l.at)}
}

func (l load) words(v *view, byQuota, byThread bool) (says, action string) {
	verb := "take data from"
	if l.at == sender {
		verb = "hand data to"
	}
	switch {
	case byQuota:
		return fmt.Sprintf("The %s may use %.2g of a processor core and uses all of it: for %s of the time its control group's limit held it back. So it cannot %s TCP faster than %v.",
				l.at, l.quota, percent(l.throttled), verb, v.goodput),
			fmt.Sprintf("raise the CPU limit of the %s's control group (cpu.max; of a container its --cpus, or limits.cpu in Kubernetes)", l.at)
	case byThread:
		return fmt.Sprintf("The %s's process keeps one core for each stream busy, %.2g in all, and cannot %s TCP faster than %v. The path and the windows would allow more.",
				l.at, l.used, verb, v.goodput),
			"spread the work over more cores with more connections; or spare it: larger packets (MTU), zero-copy sending, a faster cipher"
	}
	return fmt.Sprintf("One core of the %s is busy for %.3g %% of its time, mostly with the network's interrupts, and packets or data wait for it. So no more than %v comes in.",
			l.at, 100*l.core.Busy, v.goodput),
		"spread the interrupts of the interface over more cores (receive-side scaling: ethtool -X, or RPS), or measure with more connections, which spreads them too"
}

// silent is the share of the time in which the sender waits for the receiver to
// go on, as either saw it: data is on its way and no acknowledgement has come for
// more than a round trip; or the reader finds, when it gets its turn, that
// nothing has come for as long. Linux acknowledges what it cannot grant new
// window for only when the application reads it, or 40 ms later
// (__tcp_ack_snd_check, net/ipv4/tcp_input.c).
func (v *view) silent() float64 {
	waits := v.samples(func(s *bulk.Sample) bool {
		return !recovering(s) && s.TCP.Unacked > 0 && v.long(s.TCP.LastAckRecv)
	})
	n, late := 0, 0
	for _, f := range v.receivers {
		for i := range f.measured {
			n++
			late += count(v.long(f.measured[i].TCP.LastDataRecv))
		}
	}
	return max(waits, ratio(float64(late), float64(n)))
}

// tick is that of the kernel's clock at 250 Hz, which these times are counted in.
const tick = 4 * time.Millisecond

func (v *view) long(milliseconds uint32) bool {
	since := time.Duration(milliseconds) * time.Millisecond
	return since >= tick && since > v.rtt
}

// dropped is how many packets the receiver had no room or no time for.
func (v *view) dropped() float64 {
	n := float64(max(0, v.end(receiver).Counters["TcpExt.TCPBacklogDrop"]))
	for _, l := range v.used(receiver) {
		n += float64(l.RxMissed)
	}
	return n
}

// offloads are what spares a sender or receiver work, by ethtool(8)'s names.
var offloads = map[side][]string{sender: {"tx", "sg", "tso", "gso"}, receiver: {"rx", "gro"}}

// offloadsOff are those that the used interfaces of a host have switched off;
// virtual ones, without a driver, have no hardware that could do the work.
func (v *view) offloadsOff(at side) []string {
	var off []string
	for _, i := range v.devices(at) {
		for _, name := range offloads[at] {
			if on, known := i.Offloads[name]; known && !on && i.Driver != "" {
				off = append(off, fmt.Sprintf("%s is off on %s", name, printable.Line(i.Name)))
			}
		}
	}
	return off
}
