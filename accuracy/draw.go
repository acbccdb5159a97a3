package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/lab"
)

// drawn is a path that chance made, of which nobody knows what limits it until that was measured (see truth).
type drawn struct {
	*lab.Scenario
	document document
	planted  []string // causes whose plants it has, in the order in which they were drawn; what limits need not be among them
}

// What a path is drawn from. Rates and times that span decades are drawn by their logarithms, so that each decade is as likely.
const (
	leastRate, mostRate   = 2e6, 2e9 // bit/s: above that the lab needs more than two processors
	leastRTT, mostRTT     = 200 * time.Microsecond, 300 * time.Millisecond
	leastQueue, mostQueue = 5, 2 * time.Second // packets, and the time that it takes to drain

	noFault, twoFaults = 0.3, 0.25 // shares of paths without a plant, and with two
)

// chances draws values.
type chances struct{ *rand.Rand }

// between is log-uniform.
func (c chances) between(least, most float64) float64 {
	return least * math.Exp(c.Float64()*math.Log(most/least))
}

// perhaps is true in such a share of cases.
func (c chances) perhaps(share float64) bool { return c.Float64() < share }

func oneOf[T any](c chances, values ...T) T { return values[c.IntN(len(values))] }

// draw makes path number n of a seed: the same one each time.
func draw(seed uint64, n int) (*drawn, error) {
	c := chances{rand.New(rand.NewPCG(seed, uint64(n)))}
	p := &sketch{chances: c, rate: c.between(leastRate, mostRate), rtt: time.Duration(c.between(float64(leastRTT), float64(mostRTT))), mtu: 1500}
	if c.perhaps(0.1) {
		p.mtu = oneOf(c, 1280, 1400, 9000)
	}
	d := p.path(seed, n)
	var planted []string
	for range p.faults() {
		planted = append(planted, p.plant(d, planted))
	}
	name := d["name"].(string)
	data, err := d.text()
	if err != nil {
		return nil, err
	}
	s, err := lab.Parse(name+".yaml", data)
	if err != nil {
		return nil, fmt.Errorf("path %d of seed %d: %w", n, seed, err)
	}
	return &drawn{s, d, planted}, nil
}

// sketch is a path while it is drawn.
type sketch struct {
	chances
	rate float64 // bit/s
	rtt  time.Duration
	mtu  int
}

func (p *sketch) faults() int {
	switch x := p.Float64(); {
	case x < noFault:
		return 0
	case x < noFault+twoFaults:
		return 2
	}
	return 1
}

// bytes of the path in a time.
func (p *sketch) bytes(in time.Duration) float64 { return p.rate / 8 * in.Seconds() }

// path is one without a plant, but with what hurts nobody, mostly: a queue of any length, a slower way back, marks
// instead of drops, duplicates.
func (p *sketch) path(seed uint64, n int) document {
	queue := p.between(float64(leastQueue*p.mtu), max(float64(2*leastQueue*p.mtu), p.bytes(mostQueue)))
	there := map[string]any{"rate": bits(p.rate), "delay": p.delay(p.rtt / 2), "queue": bytesOf(queue), "seed": p.seed()}
	back := map[string]any{"rate": bits(p.rate), "delay": p.delay(p.rtt / 2), "seed": p.seed()}
	if p.perhaps(0.3) { // all that the way back carries are acknowledgements: far less would do
		back["rate"] = bits(p.rate * p.between(0.05, 1))
	}
	if p.perhaps(0.15) {
		there["ecn"] = map[string]any{"above": bytesOf(max(queue/3, float64(3*p.mtu)))}
	}
	if p.perhaps(0.1) {
		there["duplicate"] = percentOf(p.between(1e-5, 1e-3))
	}
	congestion := oneOf(p.chances, "cubic", "cubic", "reno", "bbr")
	plenty := int64(max(6<<20, 4*p.bytes(p.rtt), 2*queue))
	host := func() map[string]any {
		return map[string]any{"congestion": congestion, "sysctl": map[string]any{"net.ipv4.tcp_rmem": triple(131072, plenty), "net.ipv4.tcp_wmem": triple(65536, plenty)}}
	}
	return document{
		"name": fmt.Sprintf("drawn-%d-%d", seed, n),
		"path": map[string]any{"mtu": p.mtu, "a_to_b": there, "b_to_a": back}, "hosts": map[string]any{"a": host(), "b": host()},
	}
}

func (p *sketch) seed() uint64 { return 1 + p.Uint64N(1<<31) }

// plants put a fault of a cause into a path, of any severity: many hardly matter.
var plants = []struct {
	cause string
	put   func(p *sketch, d document)
}{
	{diagnose.RandomLoss, func(p *sketch, d document) {
		if p.perhaps(0.3) { // in bursts
			d.at("path", "a_to_b")["loss"] = map[string]any{"model": "gilbert", "p": percentOf(p.between(1e-6, 5e-3)), "r": percentOf(p.between(0.1, 0.9)), "loss": percentOf(p.between(0.3, 1))}
			return
		}
		d.at("path", "a_to_b")["loss"] = percentOf(p.between(1e-6, 0.03))
	}},
	{diagnose.LinkErrors, func(p *sketch, d document) { d.at("path", "a_to_b")["corrupt"] = percentOf(p.between(1e-6, 0.02)) }},
	{diagnose.Reordering, func(p *sketch, d document) {
		d.at("path", "a_to_b")["reorder"] = map[string]any{"share": percentOf(p.between(1e-4, 0.05)), "by": p.delay(time.Duration(float64(p.rtt) * p.between(0.05, 2)))}
	}},
	{diagnose.Policer, func(p *sketch, d document) {
		d.at("path", "a_to_b")["policer"] = map[string]any{"rate": bits(p.rate * p.between(0.05, 1.2)), "burst": bytesOf(p.between(max(8e3, float64(p.mtu)), 1e6))}
	}},
	{diagnose.ShallowQueue, func(p *sketch, d document) {
		d.at("path", "a_to_b")["queue"] = bytesOf(p.between(leastQueue, 60) * float64(p.mtu))
	}},
	{diagnose.SmallMSS, func(p *sketch, d document) { d.at("path", "a_to_b")["mss_clamp"] = int(p.between(256, 1400)) }},
	{diagnose.WindowScale, func(_ *sketch, d document) { d.at("path", "a_to_b")["strip"] = []string{"wscale"} }},
	{diagnose.MTUBlackHole, func(p *sketch, d document) { d.at("path", "a_to_b")["black_hole_above"] = 576 + p.IntN(p.mtu-576) }},
	{diagnose.ReversePath, func(p *sketch, d document) {
		back := d.at("path", "b_to_a")
		if p.perhaps(0.5) { // acknowledgements are lost
			back["loss"] = percentOf(p.between(0.01, 0.6))
			return
		}
		rate := p.between(20e3, max(40e3, p.rate/20))
		back["rate"], back["queue"] = bits(rate), bytesOf(max(rate/8*p.between(0.01, 1), float64(2*p.mtu)))
	}},
	{diagnose.CompetingTraffic, func(p *sketch, d document) {
		way := oneOf(p.chances, [2]string{"a", "b"}, [2]string{"a", "b"}, [2]string{"b", "a"})
		d["traffic"] = []any{map[string]any{"from": way[0], "to": way[1], "flows": 1 + p.IntN(4), "start": "0s"}}
	}},
	{diagnose.ReceiverBuffer, func(p *sketch, d document) {
		d.sysctl("b", "net.ipv4.tcp_rmem", triple(16384, int64(p.between(32<<10, 16<<20))))
	}},
	{diagnose.SenderBuffer, func(p *sketch, d document) {
		d.sysctl("a", "net.ipv4.tcp_wmem", triple(16384, int64(p.between(32<<10, 16<<20))))
	}},
	{diagnose.SlowReceiver, func(p *sketch, d document) { d.at("hosts", "b")["slow_reader"] = bits(p.rate * p.between(0.03, 1.5)) }},
	{diagnose.SlowSender, func(p *sketch, d document) { d.at("hosts", "a")["slow_writer"] = bits(p.rate * p.between(0.03, 1.5)) }},
	{diagnose.PacingCap, func(p *sketch, d document) { d.at("hosts", "a")["shape"] = bits(p.rate * p.between(0.03, 1.5)) }},
	{diagnose.SenderCPU, func(p *sketch, d document) { d.at("hosts", "a")["cpus"] = round3(p.between(0.02, 0.5)) }},
	{diagnose.ReceiverCPU, func(p *sketch, d document) { d.at("hosts", "b")["cpus"] = round3(p.between(0.02, 0.5)) }},
}

// plant puts a fault that is not there yet, and gives its cause.
func (p *sketch) plant(d document, there []string) string {
	for {
		f := plants[p.IntN(len(plants))]
		if len(there) == 0 || there[0] != f.cause {
			f.put(p, d)
			return f.cause
		}
	}
}

// delay is whole microseconds: nobody's cable is known better.
func (p *sketch) delay(d time.Duration) string { return d.Round(time.Microsecond).String() }

func bits(rate float64) string { return strconv.FormatInt(int64(rate/1e3), 10) + "kbit" }

func bytesOf(n float64) string { return strconv.FormatInt(int64(n), 10) + "B" }

func percentOf(share float64) string { return strconv.FormatFloat(100*share, 'g', 3, 64) + "%" }

func triple(usual int, most int64) string {
	return fmt.Sprintf("4096 %d %d", min(int64(usual), most), most)
}

func round3(x float64) float64 { return math.Round(1000*x) / 1000 }
