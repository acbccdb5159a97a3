package main

import (
	"strconv"
	"strings"

	"github.com/fullbore/fullbore/diagnose"
)

// healers take the fault of a cause out of a scenario, and nothing else: another
// fault that was planted with it stays. Not among them are the causes whose cure
// shows elsewhere than in goodput (bufferbloat) or from nothing
// (mtu-black-hole).
var healers = map[string]func(document){
	diagnose.ReceiverBuffer:   func(d document) { d.sysctl("b", "net.ipv4.tcp_rmem", d.plenty("b")) },
	diagnose.SenderBuffer:     func(d document) { d.sysctl("a", "net.ipv4.tcp_wmem", d.plenty("a")) },
	diagnose.WindowScale:      func(d document) { d.without("strip") },
	diagnose.SlowReceiver:     func(d document) { delete(d.at("hosts", "b"), "slow_reader") },
	diagnose.SlowSender:       func(d document) { delete(d.at("hosts", "a"), "slow_writer") },
	diagnose.RandomLoss:       func(d document) { d.without("loss") },
	diagnose.LinkErrors:       func(d document) { d.without("corrupt") },
	diagnose.Reordering:       func(d document) { d.without("reorder") },
	diagnose.Policer:          func(d document) { d.without("policer") },
	diagnose.SmallMSS:         func(d document) { d.without("mss_clamp") },
	diagnose.ShallowQueue:     func(d document) { d.without("queue") }, // then it is 1bdp
	diagnose.CompetingTraffic: func(d document) { delete(d, "traffic") },
	diagnose.ReversePath:      func(d document) { delete(d.at("path"), "b_to_a") }, // then it is as the way there
	diagnose.PacingCap:        func(d document) { delete(d.at("hosts", "a"), "shape") },
	diagnose.SenderCPU:        func(d document) { delete(d.at("hosts", "a"), "cpus") },
	diagnose.ReceiverCPU:      func(d document) { delete(d.at("hosts", "b"), "cpus") },
}

// liftable says whether the fault can be taken away and goodput shows it.
func liftable(cause string) bool { return healers[cause] != nil }

// heal takes the expected cause's fault away.
func heal(d document) {
	if take := healers[d.cause()]; take != nil {
		take(d)
	}
}

func (d document) cause() string {
	cause, _ := d.at("expect")["cause"].(string)
	return cause
}

// without takes an impairment out of every direction.
func (d document) without(key string) {
	for _, way := range d.ways() {
		delete(way, key)
	}
}

func (d document) sysctl(host, name, value string) { d.at("hosts", host, "sysctl")[name] = value }

// plenty is a buffer as the other buffers of the scenario are, which are large
// enough for the path: the largest maximum of both hosts.
func (d document) plenty(host string) string {
	most := int64(6 << 20) // the kernel's own default of tcp_rmem
	for _, h := range []string{"a", "b"} {
		for _, name := range []string{"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"} {
			text, _ := d.at("hosts", h, "sysctl")[name].(string)
			if fields := strings.Fields(text); len(fields) == 3 {
				n, err := strconv.ParseInt(fields[2], 10, 64)
				if err == nil {
					most = max(most, n)
				}
			}
		}
	}
	if host == "a" {
		return "4096 65536 " + strconv.FormatInt(most, 10)
	}
	return "4096 131072 " + strconv.FormatInt(most, 10)
}
