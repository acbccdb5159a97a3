package main

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/lab/wire"
	"github.com/fullbore/fullbore/unit"
)

// limits are the formulas that bound goodput (in bit/s) where a cause is planted.
// Not among them are those that no formula bounds from above: shallow-queue and
// reordering, of which the transfer's beginning decides, the processors', and
// bufferbloat, which costs no goodput.
var limits = map[string]func(*lab.Scenario) float64{
	diagnose.ReceiverBuffer:   func(s *lab.Scenario) float64 { return perRTT(s, largest(s.Hosts.B, "net.ipv4.tcp_rmem")) },
	diagnose.WindowScale:      unscaled,
	diagnose.SlowReceiver:     func(s *lab.Scenario) float64 { return float64(s.Hosts.B.SlowReader) },
	diagnose.SlowSender:       func(s *lab.Scenario) float64 { return float64(s.Hosts.A.SlowWriter) },
	diagnose.Policer:          func(s *lab.Scenario) float64 { return float64(s.Path.AToB.Policer.Rate) },
	diagnose.PacingCap:        func(s *lab.Scenario) float64 { return float64(s.Hosts.A.Shape) },
	diagnose.RandomLoss:       func(s *lab.Scenario) float64 { return response(s, lossEvents(s.Path.AToB.Loss)) },
	diagnose.LinkErrors:       func(s *lab.Scenario) float64 { return response(s, float64(s.Path.AToB.Corrupt)) },
	diagnose.MTUBlackHole:     func(*lab.Scenario) float64 { return 0 },
	diagnose.ReversePath:      ackLimit,
	diagnose.CompetingTraffic: func(s *lab.Scenario) float64 { return float64(pathGoodput(s)) / float64(1+s.Traffic[0].Flows) },

	// What the kernel may queue beyond the maximum is bounded by experience only:
	// its check comes before a new packet, and what waits there still grows.
	diagnose.SenderBuffer: func(s *lab.Scenario) float64 { return perRTT(s, 4*largest(s.Hosts.A, "net.ipv4.tcp_wmem")) },
}

// TestPlantsLimit: what is planted cuts goodput to 70 % or less.
func TestPlantsLimit(t *testing.T) {
	for _, e := range suite(t) {
		formula := limits[e.Expect.Cause]
		if formula == nil {
			continue
		}
		if share := formula(e.Scenario) / float64(pathGoodput(e.Scenario)); !(share <= 0.7) {
			t.Errorf("%s: %.0f %% of the path's goodput would be left", e.Name, 100*share)
		}
	}
}

// TestLossIsSeen: chance does its work ten times in five seconds, or a diagnosis
// has nothing to see.
func TestLossIsSeen(t *testing.T) {
	for _, e := range suite(t) {
		d := e.Path.AToB
		share := lossEvents(d.Loss) + float64(d.Corrupt)
		if e.Expect.Cause != diagnose.RandomLoss && e.Expect.Cause != diagnose.LinkErrors {
			continue
		}
		packets := response(e.Scenario, share) / 8 / segment(e.Scenario) * 5
		if packets*share < 10 {
			t.Errorf("%s: %.1f losses in 5 s", e.Name, packets*share)
		}
	}
}

// TestSmallSegments: the MSS costs at least 5 % of the path's goodput, which is
// its limit.
func TestSmallSegments(t *testing.T) {
	for _, e := range suite(t) {
		if e.Expect.Cause != diagnose.SmallMSS {
			continue
		}
		mss := float64(e.Path.BToA.MSSClamp)
		if limit := float64(e.Path.AToB.Rate) * (mss - 12) / (mss + 40); limit > 0.95*float64(pathGoodput(e.Scenario)) {
			t.Errorf("%s: %.4g Mb/s are left", e.Name, limit/1e6)
		}
	}
}

// TestHealthyIsHealthy: buffers of four BDP at least, a queue of one, and nothing
// that limits.
func TestHealthyIsHealthy(t *testing.T) {
	for _, e := range suite(t) {
		if !e.healthy() {
			continue
		}
		s, bdp := e.Scenario, 4*float64(e.Path.BDP(&e.Path.AToB))
		for _, h := range []lab.HostSpec{s.Hosts.A, s.Hosts.B} {
			if largest(h, "net.ipv4.tcp_rmem") < bdp || largest(h, "net.ipv4.tcp_wmem") < bdp {
				t.Errorf("%s: a buffer is below 4 BDP", e.Name)
			}
			h.Congestion, h.Sysctl = "", nil
			if !reflect.ValueOf(h).IsZero() {
				t.Errorf("%s: a host is limited: %+v", e.Name, h)
			}
		}
		d := s.Path.AToB
		loss := lossEvents(d.Loss)
		if s.Traffic != nil {
			t.Errorf("%s: it has competing traffic", e.Name)
		}
		for key, impairment := range d.Impairments() {
			if key != "ecn" && key != "loss" { // the one marks what a queue would drop, the other is judged by what it costs
				t.Errorf("%s: it has %s: %s", e.Name, key, impairment.Says())
			}
		}
		if loss > 0 && s.Hosts.A.Congestion != "bbr" && response(s, loss) < 2*float64(d.Rate) {
			t.Errorf("%s: it feels the loss", e.Name)
		}
		if d.Queue.Bytes > 0 || d.Queue.Time > 0 || d.Queue.BDP < 1 && d.Queue.Packets < 64 {
			t.Errorf("%s: its queue is not 1bdp or the default", e.Name)
		}
		if ackLimit(s) < 2*float64(d.Rate) {
			t.Errorf("%s: the way back carries ACKs for %.4g Mb/s only", e.Name, ackLimit(s)/1e6)
		}
	}
}

// TestBufferbloat: the queue holds ten RTTs, and buffers can fill it.
func TestBufferbloat(t *testing.T) {
	for _, e := range suite(t) {
		if e.Expect.Cause != diagnose.Bufferbloat {
			continue
		}
		queue := float64(e.Path.AToB.Queue.Time)
		fill := (queue + float64(e.Path.RTT())) / 1e9 * float64(e.Path.AToB.Rate) / 8
		if queue < 10*float64(e.Path.RTT()) {
			t.Errorf("%s: the queue is not out of proportion", e.Name)
		}
		if largest(e.Hosts.A, "net.ipv4.tcp_wmem") < 2*fill || largest(e.Hosts.B, "net.ipv4.tcp_rmem") < 2*fill {
			t.Errorf("%s: the buffers could not fill it", e.Name)
		}
	}
}

// TestHealing: a healed scenario is a scenario, and the formula does not limit it
// any more.
func TestHealing(t *testing.T) {
	dir := t.TempDir()
	for _, e := range suite(t) {
		if !liftable(e.Expect.Cause) {
			continue
		}
		healed := e.document.clone()
		heal(healed)
		file, err := healed.write(dir, e.Name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := lab.Load(file)
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		if parameters(t, s) == parameters(t, e.Scenario) {
			t.Errorf("%s: nothing was taken away", e.Name)
		}
		if formula := limits[e.Expect.Cause]; formula != nil && e.Expect.Cause != diagnose.CompetingTraffic {
			if limit := formula(s); limit > 0 && limit < float64(pathGoodput(s)) {
				t.Errorf("%s: still limited to %v", e.Name, unit.Rate(limit))
			}
		}
	}
}

func pathGoodput(s *lab.Scenario) unit.Rate { return s.Path.Goodput(&s.Path.AToB) }

// segment is the payload of a full one.
func segment(s *lab.Scenario) float64 { return float64(s.Path.MTU - 52) }

func perRTT(s *lab.Scenario, bytes float64) float64 { return 8 * bytes / s.Path.RTT().Seconds() }

// unscaled is what the largest window without a scale carries (RFC 7323, 1.1).
func unscaled(s *lab.Scenario) float64 {
	if s.Path.AToB.Strip == nil {
		return math.Inf(1)
	}
	return perRTT(s, 65535)
}

// largest is the maximum of a host's buffer.
func largest(h lab.HostSpec, name string) float64 {
	fields := strings.Fields(h.Sysctl[name])
	n, err := strconv.ParseFloat(fields[len(fields)-1], 64)
	if err != nil {
		panic(err)
	}
	return n
}

// lossEvents is how many of all packets begin a loss: what a congestion control
// reacts to once, however many are lost in a row.
func lossEvents(l wire.Loss) float64 {
	if l.Model == "gilbert" {
		return float64(l.P)
	}
	return float64(l.Share)
}

// response is what Reno or CUBIC makes of independent loss: M. Mathis et al.,
// "The macroscopic behavior of the TCP congestion avoidance algorithm", ACM
// Computer Communication Review 27, 1997; RFC 9438, section 5.1, where CUBIC is
// the larger of both.
func response(s *lab.Scenario, share float64) float64 {
	if share == 0 {
		return math.Inf(1)
	}
	rtt := s.Path.RTT().Seconds()
	window := math.Sqrt(1.5 / share)
	if s.Hosts.A.Congestion == "cubic" {
		window = max(window, 1.054*math.Pow(rtt/share, 0.75))
	}
	return perRTT(s, window*segment(s))
}

// ackLimit is what the way back carries ACKs for: one of 52 bytes for two
// segments.
func ackLimit(s *lab.Scenario) float64 {
	return float64(s.Path.BToA.Rate) / 52 * 2 * segment(s)
}
