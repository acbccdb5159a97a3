package iperf3

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// patient waits until a server that was just started listens.
var patient = func() clientPatience {
	p := usualClientPatience
	p.gap = 5 * time.Second
	return p
}()

// short is a test of a moment for every direction.
func short(d bulk.Direction) bulk.Spec {
	return bulk.Spec{Direction: d, Streams: 1, Duration: 200 * time.Millisecond}
}

var directions = []bulk.Direction{bulk.Forward, bulk.Reverse, bulk.Both}

// Every option against the real server in every direction: what the client
// recorded is what the server says it counted, and the option took effect.
func TestStockServer(t *testing.T) {
	type options struct {
		change func(*Options)
		check  func(t *testing.T, o Options, a account)
		one    bool // only forward: the rest is the same
	}
	says := func(key string, want any) func(*testing.T, Options, account) {
		return func(t *testing.T, _ Options, a account) {
			if got := a.Start.TestStart[key]; got != want {
				t.Errorf("the server has %s %v, want %v", key, got, want)
			}
		}
	}
	tests := map[string]options{
		"plain":          {change: func(o *Options) { o.Spec.Rate = 0 }, check: says("num_streams", 1.0)},
		"-P 4":           {change: func(o *Options) { o.Spec.Streams = 4 }, check: says("num_streams", 4.0)},
		"-n 20M":         {change: func(o *Options) { o.Spec.Duration, o.Spec.Bytes = 0, 20<<20 }, check: says("bytes", float64(20<<20))},
		"-n 1":           {change: func(o *Options) { o.Spec.Duration, o.Spec.Bytes = 0, 1 }, check: says("bytes", 1.0)},
		"-n 0":           {change: func(o *Options) { o.Spec.Duration = 0 }, check: says("bytes", 0.0)},
		"-k 64 -l 16K":   {change: func(o *Options) { o.Spec.Duration, o.Blocks, o.Spec.Length = 0, 64, 16<<10 }, check: says("blocks", 64.0)},
		"-O 1":           {change: func(o *Options) { o.Spec.Omit = time.Second }, check: says("omit", 1.0)},
		"-l 4K":          {change: func(o *Options) { o.Spec.Length = 4 << 10 }, check: says("blksize", 4096.0)},
		"-S 16":          {change: func(o *Options) { o.Spec.TOS = 16 }, check: says("tos", 16.0)},
		"-b 50M":         {change: func(o *Options) { o.Spec.Rate = 50e6 }, check: says("target_bitrate", 50e6)},
		"-N":             {change: func(o *Options) { o.Spec.NoDelay = true }},
		"-M 1000":        {change: func(o *Options) { o.Spec.MSS = 1000 }},
		"-Z":             {change: func(o *Options) { o.Spec.SendPath = bulk.SendFile }},
		"--skip-rx-copy": {change: func(o *Options) { o.Spec.RecvPath = bulk.RecvTruncate }},
		"--fq-rate 100M": {change: func(o *Options) { o.Spec.Pace = 100e6 }},
		"-A 0,0":         {change: func(o *Options) { cpu := 0; o.Spec.ClientCPUs, o.ServerAffinity = "0", &cpu }},
		"-w 64K": {
			change: func(o *Options) { o.Spec.SendBuf, o.Spec.RecvBuf = 64<<10, 64<<10 },
			check: func(t *testing.T, _ Options, a account) {
				if a.Start.SockBuf != 64<<10 {
					t.Errorf("the server's window is %d", a.Start.SockBuf)
				}
			},
		},
		"-C reno": {
			change: func(o *Options) { o.Spec.Congest = "reno" },
			check: func(t *testing.T, o Options, a account) {
				if o.Spec.Direction != bulk.Forward && a.End.SenderCongestion != "reno" {
					t.Errorf("the server sent with %q", a.End.SenderCongestion)
				}
			},
		},
		"-P 128": {change: func(o *Options) { o.Spec.Streams, o.Spec.Length = 128, 4<<10 }, check: says("num_streams", 128.0), one: true},
	}
	for name, test := range tests {
		for _, direction := range directions {
			if test.one && direction != bulk.Forward {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", name, direction), func(t *testing.T) {
				t.Parallel()
				o := Options{Spec: short(direction)}
				o.Spec.Rate = 400e6 // leaves the processors to the tests beside this one
				if test.change != nil {
					test.change(&o)
				}
				compare(t, o, test.check)
			})
		}
	}
}

// compare runs a test with a server, and holds both accounts together.
func compare(t *testing.T, o Options, also func(*testing.T, Options, account)) {
	t.Helper()
	server := stockServer(t, "-1", "-J")
	began := time.Now()
	r, err := test(t.Context(), server.at("127.0.0.1"), o, nil, patient)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("took %v", time.Since(began))
	a := server.account()
	if a.Error != "" {
		t.Errorf("the server says: %s", a.Error)
	}
	if got, want := len(a.End.Streams), len(r.Result.Client.Streams); got != want || len(r.Result.Server.Streams) != want {
		t.Fatalf("the server has %d streams, the client %d of its own and %d of the server's", got, want, len(r.Result.Server.Streams))
	}
	for i := range a.End.Streams {
		ours, told := r.Result.Client.Streams[i], r.Result.Server.Streams[i]
		counted := a.counted(i)
		if counted.Sender == ours.Sender {
			t.Errorf("stream %d: both ends are sender, or neither", ours.ID)
		}
		if counted.Bytes != told.Bytes {
			t.Errorf("stream %d: the server prints %d bytes and has told %d", ours.ID, counted.Bytes, told.Bytes)
		}
		// How many it omitted 3.12 does not tell.
		if d := told.Datagrams; d != nil && counted.Packets != d.Packets && o.Spec.Omit == 0 {
			t.Errorf("stream %d: the server prints %d packets and has told %d", ours.ID, counted.Packets, d.Packets)
		}
		agree(t, o, ours, told)
	}
	if also != nil {
		also(t, o, a)
	}
}

// agree holds what was sent on a stream against what was received.
func agree(t *testing.T, o Options, ours, theirs bulk.Stream) {
	t.Helper()
	to, from := theirs, ours
	if !ours.Sender {
		to, from = ours, theirs
	}
	sent, received := from.Bytes, to.Bytes
	if to.Datagrams != nil { // a busy host loses some
		received += to.Datagrams.Lost * int64(o.Spec.Length)
	}
	// The measured time ends within a write. What the server sends after the
	// client has counted, and what is on its way then, nobody can count: at most
	// the server's send buffer and the client's receive buffer, as
	// net.ipv4.tcp_wmem and tcp_rmem limit them (and the same where the measured
	// time begins), and what moves in some milliseconds until both ends have
	// their turn.
	slack := float64(sent)/1000 + float64(max(o.Spec.Length, bulk.DefaultLength))
	if !ours.Sender || o.Spec.Omit > 0 || o.Spec.Direction == bulk.Both {
		slack += 2*(6<<20+4<<20) + 20<<20
	}
	if ours.Sender && o.Spec.Streams > 100 {
		slack += 6<<20 + 4<<20 // the server is told the end before it has come round to every stream
	}
	if to.Datagrams != nil && ours.Sender && o.Spec.Omit == 0 && o.Spec.Direction == bulk.Forward {
		slack = float64(sent) / 2 // nothing tells that the last ones are lost
	}
	if math.Abs(float64(sent-received)) > slack {
		t.Errorf("stream %d: %d bytes were sent, %d received", ours.ID, sent, received)
	}
}

// The same with datagrams.
func TestStockServerDatagrams(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"-b 5M":                        func(*Options) {},
		"-b 3M -P 3":                   func(o *Options) { o.Spec.Rate, o.Spec.Streams = 3e6, 3 },
		"-b 5M -l 200":                 func(o *Options) { o.Spec.Length = 200 },
		"-b 5M -n 100K":                func(o *Options) { o.Spec.Duration, o.Spec.Bytes = 0, 100<<10 },
		"-b 5M -k 20":                  func(o *Options) { o.Spec.Duration, o.Blocks = 0, 20 },
		"-b 5M --udp-counters-64bit":   func(o *Options) { o.Spec.Counters64 = true },
		"-b 5M --dont-fragment -w 64K": func(o *Options) { o.Spec.DontFragment, o.Spec.SendBuf, o.Spec.RecvBuf = true, 64<<10, 64<<10 },
		"-b 5M -O 1":                   func(o *Options) { o.Spec.Omit = time.Second },
	} {
		for _, direction := range directions {
			if strings.Contains(name, "-O") && direction != bulk.Both {
				continue // it takes long
			}
			t.Run(fmt.Sprintf("%s/%s", name, direction), func(t *testing.T) {
				t.Parallel()
				o := Options{Spec: short(direction)}
				o.Spec.Protocol, o.Spec.Rate, o.Spec.Length = bulk.UDP, 5e6, 1000
				change(&o)
				compare(t, o, func(t *testing.T, _ Options, a account) {
					if got := a.Start.TestStart["protocol"]; got != "UDP" {
						t.Errorf("the server ran %v", got)
					}
				})
			})
		}
	}
}

// Without a length datagrams fill a packet of the path.
func TestStockServerDatagramLength(t *testing.T) {
	t.Parallel()
	for _, blocks := range []int64{0, 5} {
		server := stockServer(t, "-1", "-J")
		o := Options{Spec: short(bulk.Forward), Blocks: blocks}
		o.Spec.Protocol, o.Spec.Rate = bulk.UDP, 100e6
		if blocks > 0 {
			o.Spec.Duration = 0
		}
		r, err := test(t.Context(), server.at("127.0.0.1"), o, nil, patient)
		if err != nil {
			t.Fatal(err)
		}
		start := server.account().Start.TestStart
		if got, want := start["blksize"], float64(r.Result.Spec.Length); got != want || want < usualDatagram {
			t.Errorf("the server has datagrams of %v bytes, the client of %v", got, want)
		}
		if sent := r.Result.Client.Streams[0].Datagrams.Packets; start["blocks"] != float64(blocks) || blocks > 0 && sent != blocks {
			t.Errorf("of %d blocks %d were sent, and the server has %v", blocks, sent, start["blocks"])
		}
	}
}

func TestStockServerByteForByte(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{0, 1, 100, 128<<10 + 1, 10 << 20} {
		spec := bulk.Spec{Direction: bulk.Forward, Streams: 1, Bytes: n}
		server := stockServer(t, "-1")
		r, err := test(t.Context(), server.at("127.0.0.1"), Options{Spec: spec}, nil, patient)
		if err != nil {
			t.Fatal(err)
		}
		if sent, received := r.Result.Client.Streams[0].Bytes, r.Result.Received(bulk.Forward); sent != n || received != n {
			t.Errorf("of %d bytes %d were sent and %d received", n, sent, received)
		}
	}
}

func TestStockServerOutput(t *testing.T) {
	t.Parallel()
	server := stockServer(t, "-1", "-J")
	r, err := test(t.Context(), server.at("127.0.0.1"), Options{Spec: short(bulk.Forward), Title: "a title", GetServerOutput: true}, nil, patient)
	if err != nil {
		t.Fatal(err)
	}
	var a account
	if err := json.Unmarshal(r.ServerJSON, &a); err != nil {
		t.Fatalf("server's output %q: %v", r.ServerJSON, err)
	}
	if got, want := a.End.Streams[0].Receiver.Bytes, r.Result.Received(bulk.Forward); got != want {
		t.Errorf("the server's output has %d bytes, its results %d", got, want)
	}

	if !strings.HasPrefix(r.Software, "iperf 3.") {
		t.Errorf("the server is %q", r.Software)
	}

	server = stockServer(t)
	r, err = test(t.Context(), server.at("127.0.0.1"), Options{Spec: short(bulk.Forward), GetServerOutput: true}, nil, patient)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.ServerText, "Accepted connection from 127.0.0.1") {
		t.Errorf("server's output %q", r.ServerText)
	}
	// 3.12 goes on telling it.
	r, err = test(t.Context(), server.at("127.0.0.1"), Options{Spec: short(bulk.Forward)}, nil, patient)
	if err != nil || r.ServerText != "" {
		t.Errorf("server's output %q, which was not asked for, %v", r.ServerText, err)
	}
}

func TestStockServerIPv6(t *testing.T) {
	t.Parallel()
	server := stockServer(t)
	for _, host := range []string{"::1", "localhost"} {
		r, err := test(t.Context(), server.at(host), Options{Spec: short(bulk.Reverse)}, nil, patient)
		if err != nil {
			t.Fatal(err)
		}
		if r.Result.Received(bulk.Reverse) == 0 || r.Host != host {
			t.Errorf("from %s %d bytes came", r.Host, r.Result.Received(bulk.Reverse))
		}
	}
}
