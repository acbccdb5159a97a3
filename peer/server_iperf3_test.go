package peer

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/internal/transcript"
)

// Every option with every direction: what both ends counted agrees, but for what
// was under way when the client ended the test.
func TestIntegrationIPerf3Options(t *testing.T) {
	t.Parallel()
	far := startFarEnd(t, Config{Public: roomy()}, "127.0.0.1:0")
	var all []string
	for _, options := range []string{
		"-b 40M", "-b 10M -P 4", "-b 40M -O 1", "-b 40M -w 64K", "-b 40M -M 1000", "-b 40M -l 1000", "-b 40M -l 65537",
		"-b 40M -C reno", "-b 40M/10 -l 8K", "--fq-rate 40M", "-b 40M -N", "-b 40M -S 32", "-b 40M -Z", "-b 40M -A 0,0",
		"-b 40M -T title --extra-data extra",
		"-u -b 10M -l 8K", "-u -b 5M -l 8K -P 3", "-u -b 10M -l 500", "-u -b 10M -l 8K -O 1", "-u -b 10M -l 8K --udp-counters-64bit",
		"-u -b 10M/5 -l 1K", "-u -b 10M -l 8K -w 64K", "-u -b 10M -l 1K --dont-fragment",
	} {
		for _, direction := range []string{"", " -R", " --bidir"} {
			all = append(all, options+" -t 1"+direction)
		}
	}
	iperf3All(t, far.address, all, func(t *testing.T, options string, got iperf3Document) { got.agree(t, options) })
}

// agree checks that both ends counted about the same, and something. What
// arrives late on a busy host is not counted: that both count every byte is
// shown with tests of bytes.
func (d *iperf3Document) agree(t *testing.T, options string) {
	t.Helper()
	under := int64(1 << 20) // way: 0.2 s at the highest rate
	switch {
	case strings.Contains(options, "--fq-rate"):
		under = 8 << 20 // and what the socket's buffers hold
	case strings.Contains(options, "-O"):
		under *= 4 // and each end has a clock of its own for the omitted time
	}
	for i, s := range d.End.Streams {
		switch sent, received := s.Sender.Bytes, s.Receiver.Bytes; {
		case s.UDP != nil && strings.Contains(options, "-n 500K -R"): // this end sends until it hears that enough has come
			if s.UDP.Packets == 0 {
				t.Errorf("flow %d: %+v", i, *s.UDP)
			}
		case s.UDP != nil:
			// A busy host loses some: its receive buffers hold a few.
			if s.UDP.Packets == 0 || s.UDP.Lost > s.UDP.Packets/2 || s.UDP.OutOfOrder > 0 {
				t.Errorf("flow %d: %+v", i, *s.UDP)
			}
		case received == 0 || max(sent-received, received-sent) > under+sent/3: // a busy host hears late of the end; since 3.16, clients may lose count of a block
			t.Errorf("stream %d: %d bytes were sent, %d received", i, sent, received)
		}
	}
	if len(d.End.Streams) == 0 {
		t.Error("there are no streams")
	}
}

// Of a test of bytes, both ends count every one.
func TestIntegrationIPerf3Bytes(t *testing.T) {
	t.Parallel()
	far := startFarEnd(t, Config{Public: roomy()}, "127.0.0.1:0")
	var all []string
	for _, options := range []string{"-n 1", "-n 1 -l 1", "-n 3M", "-n 20M -P 5", "-k 1", "-k 100 -l 1000", "-k 50 -P 3", "-n 300M"} {
		all = append(all, options, options+" -R", options+" --bidir")
	}
	threads := iperf3Minor(t) >= 16
	iperf3All(t, far.address, all, func(t *testing.T, options string, got iperf3Document) {
		sent, received := got.End.SumSent.Bytes, got.End.SumReceived.Bytes
		if strings.Contains(options, "-R") { // this end sends until it hears that enough has come
			if received == 0 || sent < received {
				t.Errorf("%d bytes were sent, %d received", sent, received)
			}
			return
		}
		// Threads of the client's that it cancels in mid-block lose count of it.
		lost := int64(0)
		if threads && strings.Contains(options, "-P") {
			lost = 5 * 128 << 10
		}
		if sent == 0 || sent > received || received > sent+lost {
			t.Errorf("%d bytes were sent, %d received", sent, received)
		}
	})
	all = []string{"-u -b 20M -l 1K -n 500K", "-u -b 20M -l 1K -n 500K -R", "-u -b 20M -l 1K -k 500 --bidir"}
	iperf3All(t, far.address, all, func(t *testing.T, options string, got iperf3Document) { got.agree(t, options) })
}

// At full speed, what the sockets hold when the test ends is the difference, and
// what a busy host sends until it hears of the end: no more than a third in a
// test of a second. That no byte is lost count of is shown with tests of bytes.
func TestIntegrationIPerf3FullSpeed(t *testing.T) {
	t.Parallel()
	log := &transcript.Log{}
	far := startFarEnd(t, Config{Public: roomy(), Log: slog.New(slog.NewTextHandler(log, nil))}, "127.0.0.1:0")
	for _, direction := range []string{"", "-R", "--bidir"} {
		got := iperf3JSON(t, far.address, strings.Fields("-t 1 "+direction)...)
		sent, received := got.End.SumSent.Bytes, got.End.SumReceived.Bytes
		if got.Error != "" || received < 10<<20 || max(sent-received, received-sent) > 4<<20+sent/3 {
			t.Errorf("%s: %q: %d bytes were sent, %d received", direction, got.Error, sent, received)
		}
		if r := got.End.SumSent.Retransmits; r == nil {
			t.Errorf("%s: retransmissions are not known", direction)
		}
		if got.End.SenderCongestion == "" || got.End.ReceiverCongestion == "" {
			t.Errorf("%s: congestion control %q to %q", direction, got.End.SenderCongestion, got.End.ReceiverCongestion)
		}
	}
	for _, want := range []string{"direction=forward streams=1", "direction=reverse", "direction=both", "goodput=", `protocol="iperf3 TCP"`} {
		log.Await(t, want)
	}
}

func TestIntegrationIPerf3IPv6(t *testing.T) {
	t.Parallel()
	far := startFarEnd(t, Config{Public: roomy()}, "[::]:0")
	_, port, _ := net.SplitHostPort(far.address)
	all := []string{"-6 -t 1 -b 40M", "-6 -u -t 1 -b 10M", "-6 -u -R -t 1 -b 10M"}
	iperf3All(t, net.JoinHostPort("::1", port), all, func(t *testing.T, options string, got iperf3Document) { got.agree(t, options) })
	// And IPv4 on the same socket.
	got := iperf3JSON(t, net.JoinHostPort("127.0.0.1", port), "-u", "-t", "1", "-b", "10M")
	if got.Error != "" {
		t.Fatal(got.Error)
	}
	got.agree(t, "-u")
}

// iperf3's own most, in both directions.
func TestIntegrationIPerf3ManyStreams(t *testing.T) {
	t.Parallel()
	far := startFarEnd(t, Config{}, "127.0.0.1:0")
	for _, options := range []string{"-P 128 -t 1 -b 500K -l 4K", "-P 128 -t 1 -R -b 500K -l 4K", "-P 64 -t 1 --bidir -b 500K -l 4K"} {
		iperf3All(t, far.address, []string{options}, func(t *testing.T, options string, got iperf3Document) {
			if len(got.End.Streams) != 128 {
				t.Errorf("%d streams", len(got.End.Streams))
			}
			got.agree(t, options)
		})
	}
}

func TestIntegrationIPerf3ServerOutput(t *testing.T) {
	t.Parallel()
	for _, asJSON := range []bool{false, true} {
		far := startFarEnd(t, Config{Public: roomy(), IPerf3: IPerf3{JSON: asJSON}}, "127.0.0.1:0")
		all := []string{"-b 40M", "-b 40M -R", "-b 40M --bidir", "-u -b 10M"}
		for i := range all {
			all[i] += " -t 2 --get-server-output"
		}
		iperf3All(t, far.address, all, func(t *testing.T, _ string, got iperf3Document) {
			if !asJSON {
				if !strings.Contains(got.ServerText, "sec") || strings.Count(got.ServerText, "\n") < 5 {
					t.Errorf("server output: %q", got.ServerText)
				}
				return
			}
			var server iperf3Document
			if err := json.Unmarshal(got.ServerJSON, &server); err != nil {
				t.Fatalf("%v: %s", err, got.ServerJSON)
			}
			if len(server.Intervals) < 2 {
				t.Errorf("%d intervals: %s", len(server.Intervals), got.ServerJSON)
			}
			if a, b := server.End.SumReceived.Bytes, got.End.SumReceived.Bytes; a != b || a == 0 && got.End.Sum == nil {
				t.Errorf("%d bytes received by the server's output, %d by the client's", a, b)
			}
		})
	}
}

// What a client prints that is asked for by a person.
func TestIntegrationIPerf3PrintsServerOutput(t *testing.T) {
	t.Parallel()
	far := startFarEnd(t, Config{}, "127.0.0.1:0")
	out, err := iperf3Client(t, within(t, generous), far.address, "-t", "1", "-b", "40M", "--get-server-output").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Server output:") || !strings.Contains(string(out), "iperf Done.") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestIntegrationIPerf3Busy(t *testing.T) {
	t.Parallel()
	log := &transcript.Log{}
	far := startFarEnd(t, Config{
		Public: Limits{Transfer: time.Minute, Streams: 2, Transfers: 2, Samples: 1000}, Log: slog.New(slog.NewTextHandler(log, nil)),
	}, "[::]:0")
	_, port, _ := net.SplitHostPort(far.address)
	first := iperf3Client(t, within(t, generous), "127.0.0.1:"+port, "-t", "10", "-b", "1M")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a client has a place", func() bool { return far.running() == 1 })

	// One client may not have all places, another one may.
	if got := iperf3JSON(t, "127.0.0.1:"+port, "-t", "1"); !strings.Contains(got.Error, "the server is busy running a test") {
		t.Errorf("second test of one client: %q", got.Error)
	}
	log.Await(t, "1 transfers from 127.0.0.1 are running")
	if got := iperf3JSON(t, "[::1]:"+port, "-t", "1", "-b", "1M"); got.Error != "" {
		t.Errorf("another client: %q", got.Error)
	}
	second := iperf3Client(t, within(t, generous), "[::1]:"+port, "-t", "10", "-b", "1M")
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both clients have a place", func() bool { return far.running() == 2 })
	if got := iperf3JSON(t, "[::1]:"+port, "-t", "1"); !strings.Contains(got.Error, "the server is busy running a test") {
		t.Errorf("third test: %q", got.Error)
	}
	// A client that is killed frees its place at once; so does one that is stopped.
	_ = first.Process.Kill()
	_ = second.Process.Signal(os.Interrupt)
	_, _ = first.Process.Wait()
	_, _ = second.Process.Wait()
	eventually(t, "the places are free", func() bool { return far.running() == 0 })
	if got := iperf3JSON(t, "127.0.0.1:"+port, "-t", "1", "-b", "1M"); got.Error != "" {
		t.Errorf("after the others: %q", got.Error)
	}
	for _, want := range []string{"control socket has closed unexpectedly", "the client has terminated"} {
		log.Await(t, want)
	}
}

// Several clients are served at once, and fullbore's own beside them.
func TestIntegrationIPerf3BesideOthers(t *testing.T) {
	t.Parallel()
	far := startFarEnd(t, Config{}, "127.0.0.1:0")
	done := make(chan iperf3Document, 2)
	for range 2 {
		go func() { done <- iperf3JSON(t, far.address, "-t", "2", "-b", "10M") }()
	}
	eventually(t, "two clients run", func() bool { return far.running() == 2 })
	if _, err := far.dial(t, "").Transfer(within(t, generous), short("forward", 1), nil); err != nil {
		t.Error(err)
	}
	for range 2 {
		if got := <-done; got.Error != "" || got.End.SumReceived.Bytes < 2_000_000 {
			t.Errorf("%q: %d bytes", got.Error, got.End.SumReceived.Bytes)
		}
	}
}

// What is more than the limits is refused with words that say so.
func TestIntegrationIPerf3Limits(t *testing.T) {
	t.Parallel()
	log := &transcript.Log{}
	far := startFarEnd(t, Config{
		Public: Limits{Transfer: 3 * time.Second, Streams: 4, Transfers: 4, Samples: 1000}, Log: slog.New(slog.NewTextHandler(log, nil)),
	}, "127.0.0.1:0")
	for options, want := range map[string]struct{ client, log string }{
		"-t 4":         {"duration", "a test of 4s, and 3s are allowed here"},
		"-t 3 -O 1":    {"duration", "a test of 4s, and 3s are allowed here"},
		"-t 0":         {"duration", "and 3s are allowed here"},
		"-t 1 -P 5":    {"parallel streams", "5 streams, and 4 are allowed here"},
		"-t 1 -w 400M": {"socket buffer size not set correctly", "the client has terminated: it gave up"}, // it is the same host's limit
	} {
		got := iperf3JSON(t, far.address, strings.Fields(options)...)
		if !strings.Contains(got.Error, want.client) {
			t.Errorf("%s: the client says %q, want %q", options, got.Error, want.client)
		}
		log.Await(t, want.log)
	}
}

// An iperf3 client gets of this end no congestion control that the host does not
// allow everyone, and is told so in iperf3's words.
func TestIntegrationIPerf3CongestionControl(t *testing.T) {
	t.Parallel()
	log := &transcript.Log{}
	far := startFarEnd(t, Config{Log: slog.New(slog.NewTextHandler(log, nil))}, "127.0.0.1:0")
	// The client sets it for itself as well: it has to be one that is there.
	names, _ := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	for name := range strings.FieldsSeq(string(names)) {
		got := iperf3JSON(t, far.address, "-t", "1", "-R", "-C", name)
		if err := bulk.CongestionAllowed(name); err == nil {
			if got.Error != "" || got.End.SenderCongestion != name {
				t.Errorf("%s: %q with %q", name, got.Error, got.End.SenderCongestion)
			}
			continue
		}
		if !strings.Contains(got.Error, "unable to set TCP_CONGESTION") {
			t.Errorf("%s: the client says %q", name, got.Error)
		}
		log.Await(t, "not one that this host allows everyone")
	}
}

// The server ends: clients are told, also while many streams are full: what comes to a closed
// one is answered with a reset, which must not come before the word.
func TestIntegrationIPerf3ServerStops(t *testing.T) {
	t.Parallel()
	for range 3 {
		far := startFarEnd(t, Config{}, "127.0.0.1:0")
		client := iperf3Client(t, within(t, generous), far.address, "-t", "15", "-P", "8")
		var out bytes.Buffer
		client.Stdout, client.Stderr = &out, &out
		if err := client.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the client runs", func() bool { return far.running() == 1 })
		time.Sleep(300 * time.Millisecond) // data flows
		if err := far.stop(); err != nil {
			t.Error(err)
		}
		if err := client.Wait(); err == nil || !strings.Contains(out.String(), "the server has terminated") {
			t.Errorf("%v: %s", err, out.String())
		}
	}
}

// A stopped client shows what was measured, and the place is free.
func TestIntegrationIPerf3ClientInterrupted(t *testing.T) {
	t.Parallel()
	far := startFarEnd(t, Config{}, "127.0.0.1:0")
	client := iperf3Client(t, within(t, generous), far.address, "-t", "15", "-b", "10M", "-R")
	var out bytes.Buffer
	client.Stdout, client.Stderr = &out, &out
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the client runs", func() bool { return far.running() == 1 })
	time.Sleep(300 * time.Millisecond)
	_ = client.Process.Signal(os.Interrupt)
	_ = client.Wait() // with an error, or since 3.20 without
	if !strings.Contains(out.String(), "interrupt - the client has terminated") {
		t.Error(out.String())
	}
	eventually(t, "the place is free", func() bool { return far.running() == 0 })
}
