package ndt7

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// record is what the client sees of a test.
type record struct {
	spec   bulk.Spec
	tcp    *net.TCPConn
	began  time.Time // the end of the handshake
	watch  func(bulk.Progress)
	before host.CPUTimes
	retr   uint32 // segments sent again by then

	bytes       atomic.Int64 // of load
	first, last atomic.Int64 // ns since began: when the first and the last of it moved
	progress    bulk.Progress

	mu     sync.Mutex
	stream bulk.Stream
	cpu    bulk.CPU
	ended  bool
	far    far
}

func newRecord(spec bulk.Spec, tcp *net.TCPConn, watch func(bulk.Progress)) *record {
	r := &record{spec: spec, tcp: tcp, began: time.Now(), watch: watch}
	r.before, _ = host.ReadCPU()                    // where the system does not report it, neither does the result
	if info, err := bulk.Inspect(tcp); err == nil { // neither here
		r.retr = info.TotalRetrans
	}
	r.stream = bulk.Stream{
		ID: 1, Sender: spec.Direction == bulk.Forward, Retransmits: -1,
		Local: tcp.LocalAddr().String(), Remote: tcp.RemoteAddr().String(),
	}
	if r.stream.Sender {
		r.stream.SendPath = bulk.SendCopy
	} else {
		r.stream.RecvPath = bulk.RecvCopy
	}
	return r
}

func (r *record) now() time.Duration { return time.Since(r.began) }

// count adds load that has just moved. One goroutine calls it.
func (r *record) count(n int) {
	now := int64(r.now())
	if r.bytes.Load() == 0 {
		r.first.Store(now)
	}
	r.last.Store(now)
	r.bytes.Add(int64(n))
}

// hear takes a text message of the server.
func (r *record) hear(text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.far.hear(text)
}

// sample looks at the connection at every interval until it is stopped.
func (r *record) sample() (stop func()) {
	over := make(chan struct{})
	var sampling sync.WaitGroup
	sampling.Go(func() {
		ticker := time.NewTicker(r.spec.Interval)
		defer ticker.Stop()
		for {
			select {
			case <-over:
				return
			case <-ticker.C:
				r.look()
				r.show()
			}
		}
	})
	return func() {
		close(over)
		sampling.Wait()
	}
}

// look takes a sample.
func (r *record) look() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lookLocked()
}

func (r *record) lookLocked() {
	r.far.read()
	if r.ended {
		return
	}
	info, err := bulk.Inspect(r.tcp)
	if err != nil && !errors.Is(err, host.ErrUnsupported) {
		return // it is closed; the look before that was the last
	}
	describe(r.tcp, &r.stream)
	r.stream.Samples = append(r.stream.Samples, bulk.Sample{At: r.now(), Bytes: r.bytes.Load(), TCP: info})
	if info.SndMSS > 0 {
		r.stream.MSS = int(info.SndMSS)
	}
	if r.stream.Sender && info.Length >= tcpEnd("TotalRetrans") {
		r.stream.Retransmits = int64(info.TotalRetrans - r.retr)
	}
}

// end ends the measured time. Only the first call counts.
func (r *record) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	r.lookLocked()
	r.ended = true
	r.far.until = time.Duration(r.last.Load()) + r.arrival()
	if now, err := host.ReadCPU(); err == nil && !r.before.At.IsZero() {
		r.cpu = bulk.CPUSpent(r.before, now)
	}
}

// arrival is how long after it was written the last byte of an upload counts at
// the server, by whose clock the test began half a round trip earlier.
func (r *record) arrival() time.Duration {
	if n := len(r.stream.Samples); n > 0 {
		return time.Duration(r.stream.Samples[n-1].TCP.RTT) * time.Microsecond
	}
	return 0
}

// complete says that the server has reported all that was sent.
func (r *record) complete() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.far.read()
	bytes, _, known := r.far.counted(false)
	return known && bytes >= r.bytes.Load()
}

// show reports the test's progress.
func (r *record) show() {
	r.mu.Lock()
	if r.ended || len(r.stream.Samples) == 0 || r.watch == nil {
		r.mu.Unlock()
		return
	}
	latest := r.stream.Samples[len(r.stream.Samples)-1]
	sender, local, remote := r.stream.Sender, r.stream.Local, r.stream.Remote
	r.mu.Unlock()
	was := r.progress
	r.progress = bulk.Progress{At: latest.At, Streams: []bulk.Look{{ID: 1, Sender: sender, Local: local, Remote: remote, Sample: latest}}}
	interval := latest.At - was.At
	if sender {
		r.progress.Sent = latest.Bytes
		r.progress.SendRate = unit.RateOf(max(0, acknowledged(latest)-acknowledgedAt(was)), interval)
	} else {
		r.progress.Received = latest.Bytes
		r.progress.RecvRate = unit.RateOf(latest.Bytes-was.Received, interval)
	}
	r.progress.Rate = r.progress.SendRate + r.progress.RecvRate
	r.watch(r.progress)
}

// acknowledged is how much the receiver's kernel has taken, or was written where
// this one does not report.
func acknowledged(s bulk.Sample) int64 {
	if s.TCP.Length >= tcpEnd("BytesAcked") {
		return int64(s.TCP.BytesAcked)
	}
	return s.Bytes
}

func acknowledgedAt(p bulk.Progress) int64 {
	if len(p.Streams) == 0 {
		return 0
	}
	return acknowledged(p.Streams[0].Sample)
}

// result joins what both ends know, once all has ended.
func (r *record) result(server string) *bulk.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.far.read()
	name, _ := os.Hostname() // a host without a name can still test
	r.stream.Bytes = r.bytes.Load()
	r.stream.Began = time.Duration(r.first.Load())
	r.stream.Elapsed = time.Duration(r.last.Load()) - r.stream.Began
	if r.stream.Sender { // its first byte was written at once
		r.stream.Began, r.stream.Elapsed = 0, time.Duration(r.last.Load())
	}
	return &bulk.Result{
		Spec:   r.spec,
		Client: bulk.End{Host: name, Streams: []bulk.Stream{r.stream}, CPU: r.cpu},
		Server: r.far.end(server, &r.stream),
	}
}
