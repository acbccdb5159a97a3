package collector

import (
	"strconv"
	"strings"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// queue is a line of "tc qdisc show".
type queue struct {
	line int
	of   string // the interface
	host.Qdisc
}

// parseTC reads "tc qdisc show" (tc(8)): "qdisc KIND HANDLE dev NAME root ...".
// Of a queue's options it takes a rate, fq's maxrate, and its limit.
func parseTC(from []line) []queue {
	var all []queue
	for _, l := range from {
		words := strings.Fields(l.text)
		if len(words) < 5 || words[0] != "qdisc" || !strings.HasSuffix(words[2], ":") || words[3] != "dev" {
			continue
		}
		q := queue{line: l.number, of: words[4], Qdisc: host.Qdisc{Kind: words[1], Handle: words[2]}}
		for i := 5; i < len(words); i++ {
			value := ""
			if i+1 < len(words) {
				value = words[i+1]
			}
			q.option(words[i], value)
		}
		if q.Parent != "" {
			all = append(all, q)
		}
	}
	return all
}

func (q *queue) option(name, value string) {
	switch {
	case name == "root" || name == "ingress":
		if q.Parent == "" {
			q.Parent = name
		}
	case name == "parent":
		q.Parent = value
	case name == "rate" && (q.Kind == "tbf" || q.Kind == "netem"), name == "bandwidth" && q.Kind == "cake":
		q.Rate = tcRate(value)
	case name == "maxrate" && q.Kind == "fq":
		q.Rate = tcRate(value)
		q.PerFlow = q.Rate > 0
	case name == "limit":
		if packets, ok := strings.CutSuffix(value, "p"); ok {
			q.Packets = sizeOf(packets, 1)
		} else if q.Kind == "netem" || q.Kind == "pfifo" {
			q.Packets = sizeOf(value, 1)
		}
	}
}

// tcRate reads a rate as tc(8) prints it, in steps of 1000: "100Mbit".
func tcRate(text string) unit.Rate {
	for suffix, factor := range map[string]float64{"Kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9, "Tbit": 1e12, "bit": 1} {
		number, ok := strings.CutSuffix(text, suffix)
		if !ok || strings.Trim(number, "0123456789.") != "" {
			continue
		}
		if n, err := strconv.ParseFloat(number, 64); err == nil {
			return unit.Rate(n * factor)
		}
	}
	return 0
}
