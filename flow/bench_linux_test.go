package flow

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/internal/cable"
	"github.com/fullbore/fullbore/stat"
)

// crowd opens n flows (both ends of n/2 connections over loopback) in a network
// namespace of its own, in which the calling goroutine stays until done.
func crowd(b *testing.B, n int) []net.Conn {
	b.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		b.Fatal(err)
	}
	limit.Cur = limit.Max
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < uint64(n)+100 {
		b.Skipf("%d flows need as many open files, %d are allowed: %v", n, limit.Cur, err)
	}
	cable.ForTest(b, cable.Spec{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { listener.Close() })
	conns := make([]net.Conn, 0, n)
	for len(conns) < n {
		out, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		in, err := listener.Accept()
		if err != nil {
			b.Fatal(err)
		}
		conns = append(conns, out, in)
	}
	b.Cleanup(func() {
		for _, c := range conns {
			c.Close()
		}
	})
	return conns
}

// processorTime is what this process, or the children it waited for, has used.
func processorTime(b *testing.B, who int) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLook is the cost of one look at 10,000 flows, to be taken once a
// second: 20 ms of processor time are 2 % of a core. Of the flows none, a tenth
// or all have moved since the look before. Most of it is the kernel's own time,
// and that mostly waits for memory: other work on the machine shows.
func BenchmarkLook(b *testing.B) {
	const flows = 10_000
	for _, moving := range []int{0, flows / 10, flows} {
		b.Run(fmt.Sprintf("moving=%d", moving), func(b *testing.B) {
			conns := crowd(b, flows)
			w, err := New()
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			for range 2 { // which meet the flows and their processes
				look(b, w)
			}
			data := make([]byte, 16<<10)
			var used []float64
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				for i := 0; i < moving; i += 2 {
					for range 9 { // more than an idle flow moves: two segments of 64 KiB
						if _, err := conns[i].Write(data); err != nil {
							b.Fatal(err)
						}
						if _, err := io.ReadFull(conns[i+1], data); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.StartTimer()
				before := processorTime(b, unix.RUSAGE_SELF)
				if s := look(b, w); len(s.Flows) != flows {
					b.Fatalf("%d flows", len(s.Flows))
				}
				used = append(used, float64((processorTime(b, unix.RUSAGE_SELF) - before).Microseconds()))
			}
			b.ReportMetric(stat.Median(used), "cpu-µs/look")
		})
	}
}

// BenchmarkSS is the same of ss -tin, which prints what it sees.
func BenchmarkSS(b *testing.B) {
	crowd(b, 10_000)
	before := processorTime(b, unix.RUSAGE_CHILDREN)
	looks := 0
	for b.Loop() {
		if out, err := exec.Command("ss", "-tin").Output(); err != nil || len(out) < 1<<20 {
			b.Fatalf("%d bytes, %v", len(out), err)
		}
		looks++
	}
	used := processorTime(b, unix.RUSAGE_CHILDREN) - before
	b.ReportMetric(float64(used.Microseconds())/float64(looks), "cpu-µs/look")
}
