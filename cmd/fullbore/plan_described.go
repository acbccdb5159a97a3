package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/host/collector"
	"github.com/fullbore/fullbore/near"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/unit"
)

// described is a plan for hosts that are not at hand: nothing is measured, so that
// the path has to be described.
type described struct {
	Facts   []string `group:"Plan for hosts that are not at hand" sep:"none" placeholder:"FILE" help:"Facts of a host, as what 'fullbore facts --for SYSTEM' prints collects them, or 'fullbore facts --json' there (-: from standard input). Given twice: of the sender, then of the receiver."`
	For     string   `group:"Plan for hosts that are not at hand" placeholder:"SYSTEM" help:"A host with its system's defaults: linux, rhel7, solaris10, illumos, macos10.4, freebsd14, windows2003, ..."`
	Memory  string   `group:"Plan for hosts that are not at hand" placeholder:"SIZE" help:"With --for, the host's memory: 8GiB."`
	As      string   `group:"Plan for hosts that are not at hand" enum:",sender,receiver,both" default:"" placeholder:"ROLE" help:"Which end the host is: sender, receiver, or both (the default)."`
	Rate    string   `group:"Plan for hosts that are not at hand" placeholder:"RATE" help:"What the path carries: 1gbit."`
	RTT     string   `name:"rtt" group:"Plan for hosts that are not at hand" placeholder:"TIME" help:"The path's round trip: 67ms."`
	MTU     int      `name:"mtu" group:"Plan for hosts that are not at hand" placeholder:"BYTES" help:"The largest packet that passes."`
	Verdict string   `group:"Plan for hosts that are not at hand" placeholder:"CAUSE" help:"What limits there, if that is known: receiver-buffer, random-loss, ... (see 'fullbore diagnose --explain')."`
}

// about is the first flag that describes what is not measured, "" if none is given.
func (a *described) about() string {
	for _, flag := range []struct {
		name  string
		given bool
	}{
		{"--memory", a.Memory != ""}, {"--as", a.As != ""}, {"--rate", a.Rate != ""},
		{"--rtt", a.RTT != ""}, {"--mtu", a.MTU != 0}, {"--verdict", a.Verdict != ""},
	} {
		if flag.given {
			return flag.name
		}
	}
	return ""
}

// check says what is missing or does not go together.
func (a *described) check() error {
	switch {
	case len(a.Facts) > 2:
		return fmt.Errorf("--facts was given %d times: a path has two ends, the sender and the receiver", len(a.Facts))
	case len(a.Facts) == 2 && a.As != "":
		return fmt.Errorf("--as %s: with two --facts, the first is the sender and the second the receiver", a.As)
	case len(a.Facts) == 2 && a.Facts[0] == "-" && a.Facts[1] == "-":
		return errors.New("--facts -: standard input can only be read once")
	case a.Memory != "" && a.For == "":
		return errors.New("--memory goes with --for: facts include the host's memory")
	case a.Rate == "" && a.RTT == "":
		return errors.New("nothing is measured, so the path has to be described: --rate (what it carries, such as 1gbit) and --rtt (its round trip, such as 67ms) are missing")
	case a.Rate == "":
		return errors.New("--rate is missing: what the path carries, such as 1gbit")
	case a.RTT == "":
		return errors.New("--rtt is missing: the path's round trip, such as 67ms")
	case a.MTU != 0 && (a.MTU < 68 || a.MTU > 65535):
		return fmt.Errorf("--mtu %d: packets have 68 to 65535 bytes", a.MTU)
	case a.Verdict != "" && !diagnose.Known(a.Verdict):
		return fmt.Errorf("--verdict %s%s is none of: %s", a.Verdict, near.DidYouMean(a.Verdict, causeNames()), strings.Join(causeNames(), ", "))
	}
	return nil
}

// longestRTT is beyond any path.
const longestRTT = time.Minute

// input is what there is to plan from.
func (a *described) input(app *app) (plan.Input, error) {
	rate, err := unit.ParseRate(a.Rate)
	if err != nil {
		return plan.Input{}, planUsage("--rate: %w", err)
	}
	rtt, err := time.ParseDuration(a.RTT)
	if err != nil || rtt <= 0 || rtt > longestRTT {
		return plan.Input{}, planUsage("--rtt %s: write a round trip with its unit, such as 67ms or 150us", a.RTT)
	}
	in := plan.Input{Path: plan.Given(rate, rtt, a.MTU), Direction: bulk.Forward}
	if a.Verdict != "" {
		in.Diagnosis = plan.Assumed(a.Verdict)
	}
	hosts, err := a.hosts(app)
	if err != nil {
		return plan.Input{}, err
	}
	in.OneEnd = len(hosts) == 1
	switch {
	case len(hosts) == 2:
		in.Sender, in.Receiver = hosts[0], hosts[1]
	case a.As == "sender":
		in.Sender = hosts[0]
	case a.As == "receiver":
		in.Receiver = hosts[0]
	default: // both ends of such paths: each change once
		in.Sender, in.Receiver = hosts[0], hosts[0]
	}
	return in, nil
}

// hosts are the one or two that are planned for.
func (a *described) hosts(app *app) ([]*host.Facts, error) {
	if a.For != "" {
		var memory unit.Size
		if a.Memory != "" {
			var err error
			if memory, err = unit.ParseSize(a.Memory); err != nil || memory <= 0 {
				return nil, planUsage("--memory %s: write a size such as 8GiB", a.Memory)
			}
		}
		h, err := collector.Assume(a.For, int64(memory))
		if err != nil {
			return nil, planUsage("%w", err)
		}
		plan.AsBooted(h)
		_, _ = fmt.Fprintf(app.stderr, "%s is assumed to have its defaults. For a host as it is, collect its facts: fullbore facts --for %s\n", h.Name, a.For)
		return []*host.Facts{h}, nil
	}
	var hosts []*host.Facts
	for _, name := range a.Facts {
		h, err := readFacts(app, name)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}
