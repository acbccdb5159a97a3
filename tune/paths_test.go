package tune

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/unit"
)

// tcpPath is a world whose transfers come with what TCP_INFO of Linux shows at both
// ends, so that the real diagnosis and the real planner judge them. Its goodput is
// one window a round trip, or what the path carries: what the present values of
// tcp_rmem and tcp_wmem make.
type tcpPath struct {
	*world
	capacity unit.Rate
	queue    float64 // what the congestion control keeps queued at the bottleneck, in BDP
	loss     float64 // events per packet; 0: none
}

const (
	mss         = 1448
	receiveName = "net.ipv4.tcp_rmem"
	sendName    = "net.ipv4.tcp_wmem"
)

// carries is the goodput of the full path, in bit/s.
func (p *tcpPath) carries() float64 {
	return float64(p.capacity) * path.PayloadShare(1500, path.Headers)
}

// bdp is what the full path holds, in bytes of payload.
func (p *tcpPath) bdp() float64 { return p.carries() / 8 * p.rtt.Seconds() }

// largest is the third value of a host's tcp_rmem or tcp_wmem now.
func largest(h *simulatedHost, name string) float64 {
	n, err := strconv.ParseFloat(strings.Fields(h.value(name))[2], 64)
	if err != nil {
		panic(err)
	}
	return n
}

// tcpFlow is one connection in its steady state. Sizes are in bytes.
type tcpFlow struct {
	limit    string  // "receiver", "sender", "network" or "pace"
	inflight float64 // on average
	rtt      time.Duration
	rate     float64 // of payload, bit/s
	receive  float64 // largest receive buffer
	send     float64 // largest send buffer
}

// flow is what each of so many connections comes to.
func (p *tcpPath) flow(streams int, pace unit.Rate) tcpFlow {
	f := tcpFlow{limit: "network", receive: largest(p.receiver, receiveName), send: largest(p.sender, sendName)}
	share := p.carries() / float64(streams)
	f.inflight = p.bdp() / float64(streams) * (1 + p.queue)
	if p.loss > 0 {
		f.inflight = min(f.inflight, mss*diagnose.LossWindow("cubic", p.loss, p.rtt))
	}
	if window := f.receive * diagnose.ReceiverShare; window < f.inflight {
		f.limit, f.inflight = "receiver", window
	}
	if window := f.send * diagnose.SenderShare; window < f.inflight {
		f.limit, f.inflight = "sender", window
	}
	f.rate = min(share, f.inflight*8/p.rtt.Seconds())
	if pace > 0 && float64(pace)*mss/1500 < f.rate {
		f.limit, f.rate = "pace", float64(pace)*mss/1500
		f.inflight = f.rate / 8 * p.rtt.Seconds()
	}
	f.rtt = max(p.rtt, time.Duration(f.inflight*8/share*float64(time.Second)))
	return f
}

// typical is the geometric mean of the goodput of runs: they scatter, but never
// above what the path carries.
func (p *tcpPath) typical() float64 {
	m, top := math.Log(p.flow(1, 0).rate), math.Log(p.carries())
	a := (top - m) / p.scatter
	below := 0.5 * math.Erfc(-a/math.Sqrt2)
	return math.Exp(m*below - p.scatter*math.Exp(-a*a/2)/math.Sqrt(2*math.Pi) + top*(1-below))
}

// tcpFar is the receiving end of a tcpPath as tune sees it.
type tcpFar struct {
	far
	path *tcpPath
}

func (f tcpFar) Transfer(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
	p := f.path
	began := time.Now()
	defer func() { p.traffic += time.Since(began) }()
	r := &bulk.Result{Spec: spec}
	if spec.Congest == "" && spec.Pace == 0 && spec.Streams == 1 { // no trial
		p.runs = append(p.runs, measured{p.values(), p.typical()})
		if now := p.runs[len(p.runs)-1]; now.values != "" {
			p.lastChanged = now
		}
	}
	scatter := math.Exp(p.scatter * p.rng.NormFloat64())
	for id := 1; id <= spec.Streams; id++ {
		flow := p.flow(spec.Streams, spec.Pace)
		flow.rate = min(flow.rate*scatter, p.carries()/float64(spec.Streams))
		send, receive := p.record(id, &spec, flow)
		r.Client.Streams, r.Server.Streams = append(r.Client.Streams, send), append(r.Server.Streams, receive)
	}
	p.tell("%s %d x %.1f s after %.1f s: %s", spec.Direction, spec.Streams, spec.Duration.Seconds(), spec.Omit.Seconds(), r.Goodput(spec.Direction))
	r.Client.Host, r.Server.Host = p.sender.name, p.receiver.name
	r.Client.CPU.Cores, r.Server.CPU.Cores = []bulk.Core{{Busy: 0.2}}, []bulk.Core{{Busy: 0.3}}
	if n := r.Client.Streams[0].Retransmits; n > 0 {
		r.Client.Measured = map[string]int64{"TcpExt.TCPSackRecovery": n * int64(spec.Streams)}
	}
	select {
	case <-ctx.Done():
		return r, context.Cause(ctx)
	case <-time.After(p.beside + spec.Omit + spec.Duration):
	}
	watch(bulk.Progress{At: spec.Omit + spec.Duration, Rate: r.Goodput(bulk.Forward)})
	return r, nil
}

// record is what both ends record of a flow, a sample every 100 ms: the fields are
// those of diagnose/testdata/recorded, and their sizes follow from the flow.
func (p *tcpPath) record(id int, spec *bulk.Spec, f tcpFlow) (send, receive bulk.Stream) {
	perSecond := f.rate / 8
	cwnd, wants := 2*f.inflight, 6*f.inflight // open, and not what limits
	if f.limit == "network" {
		cwnd = f.inflight
	}
	window := min(f.receive, 2*wants) * diagnose.ReceiverShare
	buffer := min(f.send, wants)
	waiting := max(0, buffer*diagnose.SenderShare-f.inflight) // written and not sent
	send = bulk.Stream{ID: id, Sender: true, Local: "198.18.0.1:40000", Remote: "198.18.0.2:5201", Congestion: "cubic", MSS: mss, SendBuf: int(buffer), Began: spec.Omit, Elapsed: spec.Duration}
	receive = bulk.Stream{ID: id, Local: send.Remote, Remote: send.Local, Congestion: "cubic", MSS: mss, RecvBuf: int(2 * window), Began: spec.Omit, Elapsed: spec.Duration, Retransmits: -1}
	send.Bytes, receive.Bytes = int64(perSecond*spec.Duration.Seconds()), int64(perSecond*spec.Duration.Seconds())
	lost := func(at time.Duration) float64 { return math.Floor(perSecond * at.Seconds() / mss * p.loss) }
	send.Retransmits = int64(lost(spec.Omit+spec.Duration) - lost(spec.Omit))
	for at := time.Duration(0); at <= spec.Omit+spec.Duration; at += 100 * time.Millisecond {
		omitted, bytes, busy := at <= spec.Omit, perSecond*at.Seconds(), float64(at.Microseconds())
		rtt := uint32(float64(f.rtt.Microseconds()) * (1 + 0.01*p.rng.Float64()))
		t := bulk.TCPInfo{
			Length: 280, State: 1, Options: bulk.OptTimestamps | bulk.OptSACK | bulk.OptWindowScale, SndWScale: 10, SndMSS: mss, PMTU: 1500,
			RTT: rtt, MinRTT: uint32(p.rtt.Microseconds()), RTO: rtt + 200_000,
			SndCwnd: uint32(math.Ceil(cwnd / mss)), SndWnd: uint32(window), Unacked: uint32(math.Ceil(f.inflight / mss)), NotsentBytes: uint32(waiting),
			BytesAcked: uint64(bytes), BytesSent: uint64(bytes + lost(at)*mss), DataSegsOut: uint32(bytes/mss + lost(at)),
			BytesRetrans: uint64(lost(at) * mss), TotalRetrans: uint32(lost(at)), DeliveryRate: uint64(perSecond), BusyTime: uint64(busy),
		}
		switch f.limit {
		case "receiver":
			t.Unacked = uint32(window / mss)
			t.RwndLimited = uint64(0.95 * busy)
		case "sender":
			t.SndbufLimited = uint64(0.5 * busy)
		}
		send.Samples = append(send.Samples, bulk.Sample{
			At: at, Omitted: omitted, Bytes: int64(bytes + f.inflight + waiting), Unsent: int(f.inflight + waiting), TCP: t,
			Mem: bulk.SockMem{SendBuf: int(buffer), SendQueued: int(buffer * diagnose.SenderShare)},
		})
		receive.Samples = append(receive.Samples, bulk.Sample{
			At: at, Omitted: omitted, Bytes: int64(bytes), Mem: bulk.SockMem{RecvBuf: int(2 * window)},
			TCP: bulk.TCPInfo{Length: 280, State: 1, RcvMSS: mss, BytesReceived: uint64(bytes), DataSegsIn: uint32(bytes / mss), RcvRTT: rtt},
		})
	}
	return send, receive
}

// probe finds the path's capacity within a per cent.
func (p *tcpPath) probe(context.Context, examine.Far, bulk.Direction) (*path.Estimate, error) {
	way := path.Direction{
		MTU:      path.MTU{Bytes: 1500, Link: 1500, Method: "udp probe"},
		Capacity: path.Capacity{Rate: p.capacity, Low: p.capacity * 0.99, High: p.capacity * 1.01, Method: "packet trains"},
	}
	return &path.Estimate{RTT: path.RTT{Min: p.rtt, Median: p.rtt, Max: p.rtt, Count: 10, Method: "tcp handshake"}, Forward: way, Reverse: way}, nil
}

// newTCPPath draws a path of 100 Mb/s to 10 Gb/s and 5 to 60 ms between two Linux hosts
// whose buffers fill it several times over.
func newTCPPath(seed uint64) *tcpPath {
	p := &tcpPath{world: newWorld(seed)}
	between := func(low, high float64) float64 { return low * math.Exp(p.rng.Float64()*math.Log(high/low)) }
	p.capacity, p.rtt = unit.Rate(between(100e6, 10e9)), time.Duration(between(5, 60)*float64(time.Millisecond))
	p.queue, p.scatter = between(0.1, 0.5), between(0.01, 0.1)
	for _, h := range []*simulatedHost{p.sender, p.receiver} {
		h.found = host.Facts{Name: h.name, OS: "linux", Version: "6.18.44", Memory: 64 << 30, CPUs: 4, CanChange: true, Tunables: map[string]string{
			"net.core.rmem_max": "4194304", "net.core.wmem_max": "4194304",
			"net.ipv4.tcp_window_scaling": "1", "net.ipv4.tcp_moderate_rcvbuf": "1", "net.ipv4.tcp_mtu_probing": "0",
			"net.ipv4.tcp_slow_start_after_idle": "1", "net.ipv4.tcp_congestion_control": "cubic",
			"net.ipv4.tcp_available_congestion_control": "reno cubic", "net.ipv4.tcp_allowed_congestion_control": "reno cubic",
		}}
	}
	p.receives(between(4, 16))
	p.sends(between(4, 16))
	return p
}

// receives and sends give the window of the receiver, and of the sender, as found: so
// many BDP.
func (p *tcpPath) receives(bdps float64) {
	p.receiver.found.Tunables[receiveName] = fmt.Sprintf("4096 131072 %.0f", bdps*p.bdp()/diagnose.ReceiverShare)
	p.sender.found.Tunables[receiveName] = "4096 131072 33554432"
}

func (p *tcpPath) sends(bdps float64) {
	p.sender.found.Tunables[sendName] = fmt.Sprintf("4096 16384 %.0f", bdps*p.bdp()/diagnose.SenderShare)
	p.receiver.found.Tunables[sendName] = "4096 16384 4194304"
}

// tcpKinds are paths with one limit each, the tunables that lift it, and what the verdict may be.
var tcpKinds = []struct {
	name     string
	draw     func(p *tcpPath, bdps float64) // bdps: 0.05 to 0.67
	keeps    []string
	verdicts []string
	named    float64 // share of the paths in which the verdict is one of them
}{
	{"receive buffer", func(p *tcpPath, bdps float64) { p.receives(bdps) }, []string{receiveName}, []string{diagnose.ReceiverBuffer}, 0.99},
	{"send buffer", func(p *tcpPath, bdps float64) { p.sends(bdps) }, []string{sendName}, []string{diagnose.SenderBuffer}, 0.99},
	{"both buffers", func(p *tcpPath, bdps float64) {
		p.receives(bdps)
		p.sends(bdps * (0.8 + 0.4*p.rng.Float64()))
	}, []string{receiveName, sendName}, []string{diagnose.ReceiverBuffer, diagnose.SenderBuffer}, 0.99},
	{"a full path", func(*tcpPath, float64) {}, nil, []string{diagnose.Healthy}, 0.98},
	{"random loss", func(p *tcpPath, bdps float64) {
		// The loss with which CUBIC keeps a window of so many BDP: LossWindow the other way round.
		packets := bdps * p.bdp() / mss
		p.loss = max(1.22/packets*1.22/packets, p.rtt.Seconds()/math.Pow(packets/1.054, 4.0/3))
	}, nil, []string{diagnose.RandomLoss}, 0.98},
}

// TestTuningsOfTCP tunes paths whose transfers show what TCP_INFO would. Only the probe, the
// transfers and the hosts are simulated: the diagnosis and the plans are the real ones.
func TestTuningsOfTCP(t *testing.T) {
	n := ofEach(t, 40)
	table := []string{"| limit | tunings | named | kept just what lifts it, and the path is full then | kept anything | state an interval | it holds what the formula says | promise broken |", "|---|---|---|---|---|---|---|---|"}
	var all tally
	for i, kind := range tcpKinds {
		var sum tally
		named := 0
		var wrong []string
		synctest.Test(t, func(*testing.T) {
			for seed := uint64(1_000_000 * i); sum.tunings < n; seed++ {
				p := newTCPPath(seed)
				kind.draw(p, 0.05*math.Exp(p.rng.Float64()*math.Log(0.67/0.05)))
				p.found = p.typical()
				o := Options{Direction: bulk.Forward, Streams: 1, Budget: 2 * DefaultBudget, Apply: ApplyLive, Watch: silent{}}
				r, err := run(context.Background(), Near{Facts: p.sender.Facts, Changes: p.sender}, tcpFar{far{p.world}, p}, o,
					hooks{p.probe, diagnose.Diagnose, plan.Make, plan.Double, plan.Needs})
				kept := p.check(r, err, o, false, seed, &sum)
				if slices.Contains(kind.verdicts, r.Verdict.Cause) {
					named++
				}
				if filled := p.flow(1, 0).rate >= 0.9*p.carries(); p.keepsJust(kept, kind.keeps) && (filled || kind.keeps == nil) {
					sum.found++
				} else {
					wrong = append(wrong, fmt.Sprintf("seed %d: %s, kept %v, put back %v; it ends at %.3g of %.3g b/s", seed, r.Verdict.Cause, kept, r.PutBack, p.flow(1, 0).rate, p.carries()))
				}
			}
		})
		for _, text := range sum.broken[:min(3, len(sum.broken))] {
			t.Errorf("%s: %s", kind.name, text)
		}
		if named < least(n, kind.named) {
			t.Errorf("%s: named in %d of %d tunings, want %.0f %%", kind.name, named, n, 100*kind.named)
		}
		if sum.found < least(n, 0.99) {
			t.Errorf("%s: what lifts it, and only that, was kept in %d of %d tunings, want 99 %%: %s", kind.name, sum.found, n, wrong[0])
		}
		if kind.keeps == nil && sum.kept > 0 {
			t.Errorf("%s: there is nothing to tune, and something was kept in %d of %d tunings: %s", kind.name, sum.kept, n, wrong[0])
		}
		table = append(table, fmt.Sprintf("| %s | %d | %s | %s | %d | %d | %s | %d |", kind.name, n, share(named, n),
			share(sum.found, n), sum.kept, sum.stated, share(sum.held, sum.stated), len(sum.broken)))
		all.stated, all.held = all.stated+sum.stated, all.held+sum.held
	}
	t.Logf("\n%s", strings.Join(table, "\n"))
	if all.held < least(all.stated, 0.94) {
		t.Errorf("the interval holds what the formula says in %s, want 94 %%", share(all.held, all.stated))
	}
}

// keepsJust says whether just these tunables are kept, each above what it was.
func (p *tcpPath) keepsJust(kept map[string]string, want []string) bool {
	for _, name := range want {
		h := map[string]*simulatedHost{receiveName: p.receiver, sendName: p.sender}[name]
		fields, was := strings.Fields(kept[name]), strings.Fields(h.found.Tunables[name])
		if len(fields) != 3 {
			return false
		}
		now, _ := strconv.ParseFloat(fields[2], 64)
		before, _ := strconv.ParseFloat(was[2], 64)
		if now <= before {
			return false
		}
	}
	return len(kept) == len(want)
}
