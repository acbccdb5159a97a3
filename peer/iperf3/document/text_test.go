package document

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/internal/golden"
)

// printed is the text that is written while a transfer runs.
func printed(t *testing.T, m made, style Style, change func(*Record)) []byte {
	t.Helper()
	var out bytes.Buffer
	var p *Printer
	row := func(r Record) {
		if p == nil {
			change(&r)
			p = NewPrinter(&out, r, style)
		}
		if err := p.Row(); err != nil {
			t.Fatal(err)
		}
	}
	r := m.record(row)
	if r.Finish() {
		row(r)
	}
	change(&r)
	if err := p.Close(r); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestText(t *testing.T) {
	for name, spec := range specs() {
		t.Run(name, func(t *testing.T) {
			spec.Streams, spec.Omit = 2, time.Second
			golden.Check(t, name+".txt", printed(t, made{spec: spec}, Style{}, func(*Record) {}))
		})
	}
}

func TestTextOfOneStream(t *testing.T) {
	spec := specs()["tcp-forward"]
	golden.Check(t, "one-stream.txt", printed(t, made{spec: spec, end: 3400 * time.Millisecond}, Style{Unit: 'M'}, func(r *Record) {
		r.Title, r.Failed = "nightly", errors.New("the path went \x1b[2J away")
	}))
}

// A screen holds no hundred rows a second.
func TestTextOfManyStreams(t *testing.T) {
	spec := specs()["tcp-both"]
	spec.Streams = 128
	golden.Check(t, "many-streams.txt", printed(t, made{spec: spec}, Style{}, func(*Record) {}))
}

func TestVerboseText(t *testing.T) {
	spec := specs()["tcp-reverse"]
	spec.Streams, spec.Duration = 9, time.Second
	var out []string
	for i, line := range strings.SplitAfter(string(printed(t, made{spec: spec}, Style{Verbose: true}, func(r *Record) { r.Software = "iperf 3.12" })), "\n") {
		if i >= 2 { // this build, and this host
			out = append(out, line)
		}
	}
	golden.Check(t, "verbose.txt", []byte(strings.Join(out, "")))
}

// What a server sends for --get-server-output, and what its client shows of it.
func TestServerText(t *testing.T) {
	for _, name := range []string{"tcp-forward", "tcp-reverse", "udp-forward"} {
		r := made{spec: specs()[name], server: true}.record(nil)
		r.Result.Client = bulk.End{} // whose results come later
		client := made{spec: specs()[name]}.record(nil)
		client.ServerText = Text(r)
		golden.Check(t, name+"-server-output.txt", []byte(Text(client)))
	}
}

func TestTextOfNothing(t *testing.T) {
	got := Text(Record{Host: "192.0.2.7", Port: 5201, Failed: errors.New("no answer"), Result: &bulk.Result{Spec: specs()["tcp-forward"]}})
	if want := "Connecting to host 192.0.2.7, port 5201\nerror: no answer\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUnit(t *testing.T) {
	for _, test := range []struct {
		unit string
		rate float64
		want string
	}{
		{"", 0, "0.00 bits/sec"},
		{"", 999.4, " 999 bits/sec"},
		{"a", 50.3e6, "50.3 Mbits/sec"},
		{"", 101e6, " 101 Mbits/sec"},
		{"", 9.996e9, "10.0 Gbits/sec"},
		{"", 400e12, " 400 Tbits/sec"},
		{"k", 50.3e6, "50300 Kbits/sec"},
		{"g", 50.3e6, "0.05 Gbits/sec"},
		{"K", 8 * 1024 * 1000, "1000 KBytes/sec"},
		{"M", 8 << 20, "1.00 MBytes/sec"},
		{"T", 8 << 40, "1.00 TBytes/sec"},
	} {
		unit, err := ParseUnit(test.unit)
		if err != nil {
			t.Fatal(err)
		}
		if got := unit.rate(test.rate); got != test.want {
			t.Errorf("-f %q writes %g as %q, want %q", test.unit, test.rate, got, test.want)
		}
	}
	for _, text := range []string{"x", "kk", "A", "b"} {
		if _, err := ParseUnit(text); err == nil {
			t.Errorf("-f %q is taken", text)
		}
	}
	for bytes, want := range map[int64]string{0: "0.00 Bytes", 1023: "1023 Bytes", 1024: "1.00 KBytes", 12 << 20: "12.0 MBytes", 1 << 50: "1024 TBytes"} {
		if got := size(bytes); got != want {
			t.Errorf("%d bytes are written %q, want %q", bytes, got, want)
		}
	}
}

// broken is a pipe whose reader went away after some bytes.
type broken struct{ left int }

var errBroken = errors.New("broken pipe")

func (b *broken) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

func TestTextReturnsWhatIsWrongWithTheWriter(t *testing.T) {
	r := made{spec: specs()["tcp-forward"]}.record(nil)
	p := NewPrinter(&broken{left: 200}, r, Style{})
	if err := p.Open(); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(r); !errors.Is(err, errBroken) {
		t.Errorf("the closing lines: %v, want %v", err, errBroken)
	}
}

func TestLost(t *testing.T) {
	for _, test := range []struct {
		lost, packets int64
		want          string
	}{
		{0, 0, "0.000 ms    0/0 (0%)"},
		{1, 3000, "0.000 ms    1/3000 (0.033%)"},
		{996, 1000, "0.000 ms    996/1000 (99.6%)"},
		{7, 7, "0.000 ms    7/7 (100%)"},
	} {
		if got := lost(0, test.lost, test.packets); got != test.want {
			t.Errorf("%d of %d: %q, want %q", test.lost, test.packets, got, test.want)
		}
	}
}
