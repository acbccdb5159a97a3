package bulk

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/fullbore/fullbore/unit"
)

// benchBytes is what one iteration moves over the loopback.
const benchBytes = 2 << 30

// BenchmarkRun is what Run moves by each path and with many streams, with all
// that it does beside.
func BenchmarkRun(b *testing.B) {
	for name, spec := range map[string]Spec{
		"copy":                 {Streams: 1},
		"copy, 8 streams":      {Streams: 8},
		"sendfile to truncate": {Streams: 1, SendPath: SendFile, RecvPath: RecvTruncate},
		"zerocopy to truncate": {Streams: 1, SendPath: SendZeroCopy, RecvPath: RecvTruncate},
		"sendfile to splice":   {Streams: 1, SendPath: SendFile, RecvPath: RecvSplice},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(benchBytes)
			for b.Loop() {
				spec.Direction, spec.Bytes = Forward, benchBytes
				client, server := transferOver(b, spec)
				if client.err != nil || server.err != nil {
					b.Fatalf("client: %v, server: %v", client.err, server.err)
				}
				result := Result{Spec: spec, Client: client.End, Server: server.End}
				b.ReportMetric(float64(result.Goodput(Forward)/unit.Gbps), "Gb/s")
			}
		})
	}
}

// BenchmarkBareLoop is what BenchmarkRun is compared with: nothing but writes
// and reads in Go's own way. On the loopback that takes less processor time,
// since a blocking read is woken for every segment and Go's poller for several.
func BenchmarkBareLoop(b *testing.B) {
	b.SetBytes(benchBytes)
	for b.Loop() {
		bare(b)
	}
}

func bare(b *testing.B) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close()
	var receiver sync.WaitGroup
	receiver.Go(func() {
		conn, err := listener.Accept()
		if err != nil {
			b.Error(err)
			return
		}
		defer conn.Close()
		buf := make([]byte, DefaultLength)
		for {
			if _, err := conn.Read(buf); err != nil {
				if !errors.Is(err, io.EOF) {
					b.Error(err)
				}
				return
			}
		}
	})
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	buf := newPayload(DefaultLength).bytes
	for range benchBytes / DefaultLength {
		if _, err := conn.Write(buf); err != nil {
			b.Fatal(err)
		}
	}
	conn.Close()
	receiver.Wait()
}
