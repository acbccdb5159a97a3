package synthetic_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/synthetic"
	"github.com/fullbore/fullbore/unit"
)

// serve starts a server with the files, and gives the address of one of them.
func serve(t *testing.T, c synthetic.Config) func(file, options string) nfs.Target {
	t.Helper()
	c.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	s, err := synthetic.New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background()) // of the test's, ends before the clients have left
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	port := l.Addr().(*net.TCPAddr).Port
	return func(file, options string) nfs.Target {
		target, err := nfs.ParseTarget(fmt.Sprintf("nfs://127.0.0.1:%d%s/%s?mountport=%d%s", port, synthetic.Root, file, port, options))
		if err != nil {
			t.Fatal(err)
		}
		return target
	}
}

func open(t *testing.T, target nfs.Target, o nfs.Options) *nfs.Mount {
	t.Helper()
	m, err := nfs.Open(t.Context(), target, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// right checks what was read.
func right(offset int64, part []byte) error {
	if !bytes.Equal(part, synthetic.Content(offset, len(part))) {
		return fmt.Errorf("the %d bytes at %d are not what they should be", len(part), offset)
	}
	return nil
}

var files = []synthetic.File{{Name: "big", Size: 100 * unit.GiB}, {Name: "small", Size: 10_000}}

// TestReads: what is read is what the file has there, in order and by chance, over one
// connection and several, in small and large pieces; and the figures agree with each other.
func TestReads(t *testing.T) {
	address := serve(t, synthetic.Config{Files: files})
	for _, test := range []struct {
		version                  string
		connections, depth, size int
		random                   bool
	}{
		{"3", 1, 1, 4096, false},
		{"3", 1, 16, 4096, true},
		{"3", 3, 8, 100_001, true},
		{"3", 2, 4, 1 << 20, false},
		{"3", 1, 2, synthetic.MaxData, true},
		{"4.1", 1, 1, 4096, false},
		{"4.1", 1, 16, 4096, true},
		{"4.1", 3, 8, 100_001, true},
		{"4.1", 2, 4, 1 << 20, false},
		{"4.1", 1, 2, synthetic.MaxData, true},
		{"4.2", 2, 16, 4096, true},
	} {
		m := open(t, address("big", "&version="+test.version), nfs.Options{Connections: test.connections, Depth: test.depth})
		if m.Size != int64(100*unit.GiB) || m.MaxRead != synthetic.MaxData {
			t.Fatalf("the server grants %+v", m.Grant)
		}
		f, err := m.Run(t.Context(), nfs.Load{
			Op: nfs.Read, Size: test.size, Random: test.random, Depth: test.depth, Duration: 100 * time.Millisecond, Omit: 10 * time.Millisecond, Check: right,
		}, nil)
		if err != nil {
			t.Fatalf("%+v: %v", test, err)
		}
		t.Logf("%+v: %.0f a second, %.1f in flight", test, f.Rate(), f.InFlight())
		if f.Requests == 0 || f.Bytes != f.Requests*int64(test.size) || f.Latency.TotalCount() != f.Requests || len(f.Connections) != test.connections {
			t.Errorf("%+v: %+v", test, f.Share)
		}
		if f.InFlight() > float64(test.depth)*1.5 { // requests that began before the measured time count whole
			t.Errorf("%+v: %.1f requests were on their way", test, f.InFlight())
		}
	}
}

// TestDiscarded: what the kernel drops is counted as what is read, to the byte: behind it come the
// heads of the next answers, also where several are taken at a time.
func TestDiscarded(t *testing.T) {
	address := serve(t, synthetic.Config{Files: files})
	for _, version := range nfs.Versions {
		for _, size := range []int{1, 4096, 100_001, 1 << 20} {
			for _, coalesce := range []bool{false, true} {
				m := open(t, address("big", "&version="+version), nfs.Options{Connections: 2, Depth: 48})
				f, err := m.Run(t.Context(), nfs.Load{Op: nfs.Read, Size: size, Depth: 48, Duration: 50 * time.Millisecond, Discard: true, Coalesce: coalesce}, nil)
				if err != nil {
					t.Fatalf("version %s, %d bytes: %v", version, size, err)
				}
				if f.Requests == 0 || f.Bytes != f.Requests*int64(size) {
					t.Errorf("version %s, %d bytes: %+v", version, size, f.Share)
				}
			}
		}
	}
}

// TestOtherRequests: those that move no data, and writes, which make the file longer.
func TestOtherRequests(t *testing.T) {
	address := serve(t, synthetic.Config{Files: files, Writes: true})
	for _, version := range nfs.Versions {
		for _, op := range []nfs.Op{nfs.Null, nfs.GetAttr, nfs.Write, nfs.Commit} {
			m := open(t, address("small", "&version="+version), nfs.Options{Connections: 2, Depth: 4})
			f, err := m.Run(t.Context(), nfs.Load{Op: op, Size: 4096, Depth: 4, Duration: 30 * time.Millisecond}, nil)
			if err != nil {
				t.Fatalf("version %s, %v: %v", version, op, err)
			}
			if f.Requests == 0 || (op == nfs.Write) != (f.Bytes > 0) {
				t.Errorf("version %s, %v: %+v", version, op, f.Share)
			}
		}
	}
	m := open(t, address("big", ""), nfs.Options{Connections: 1, Depth: 8})
	f, err := m.Run(t.Context(), nfs.Load{Op: nfs.Read, Writes: 0.3, Size: 4096, Random: true, Depth: 8, Duration: 30 * time.Millisecond}, nil)
	if err != nil || f.Requests == 0 {
		t.Errorf("mixed: %+v, %v", f, err)
	}
}

// TestRefusals: what cannot be had is said with the reason.
func TestRefusals(t *testing.T) {
	address := serve(t, synthetic.Config{Files: files})
	for name, test := range map[string]struct {
		target nfs.Target
		want   string
	}{
		"no such file in version 4.1": {address("other", "&version=4.1"), `"other": COMPOUND: LOOKUP: NOENT: there is no such file or export`},
		"a folder":                    {func() nfs.Target { a := address("x", "&version=4.1"); a.Path = synthetic.Root; return a }(), "GETATTR: ISDIR: this is a folder"},
		"no such file":                {address("other", "&version=3"), `LOOKUP "other": NOENT: there is no such file or export`},
		"inside a file":               {address("big/x", "&version=3"), `LOOKUP "x": NOTDIR: a part of the path is a file`},
		"another export":              {func() nfs.Target { a := address("big", "&version=3"); a.Path = "/other/big"; return a }(), "no part of /other is an export that 127.0.0.1 lets this host mount: MNT: MNT /: NOENT"},
	} {
		_, err := nfs.Open(t.Context(), test.target, nfs.Options{Connections: 1, Depth: 1})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	m := open(t, address("small", "&version=3"), nfs.Options{Connections: 2, Depth: 2})
	for name, test := range map[string]struct {
		load nfs.Load
		want string
	}{
		"read-only":         {nfs.Load{Op: nfs.Write, Size: 4096, Depth: 2}, "ROFS: the export can only be read"},
		"longer than it is": {nfs.Load{Op: nfs.Read, Size: 20_000, Depth: 2}, "the file has 10000 bytes, and each read is to have 20000"},
		"too large":         {nfs.Load{Op: nfs.Read, Size: synthetic.MaxData + 1, Depth: 2}, "the server takes 1 to 4194304"},
		"nothing":           {nfs.Load{Op: nfs.Read, Depth: 2}, "0 bytes a request"},
		"too few in flight": {nfs.Load{Op: nfs.Read, Size: 1, Depth: 1}, "1 requests in flight are too few for 2 connections"},
		"wrong content":     {nfs.Load{Op: nfs.Read, Size: 100, Depth: 2, Check: func(int64, []byte) error { return fmt.Errorf("not right") }}, "READ: not right"},
	} {
		test.load.Duration = 20 * time.Millisecond
		if _, err := m.Run(t.Context(), test.load, nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		m = open(t, address("small", "&version=3"), nfs.Options{Connections: 2, Depth: 2})
	}
}

// TestAllowed: addresses that are not allowed get no answer.
func TestAllowed(t *testing.T) {
	address := serve(t, synthetic.Config{Files: files, Allow: func(a netip.Addr) bool { return a == netip.MustParseAddr("198.18.0.1") }})
	_, err := nfs.Open(t.Context(), address("big", ""), nfs.Options{Connections: 1, Depth: 1, Within: time.Second})
	if err == nil {
		t.Error("an address that is not allowed was served")
	}
}

func TestParseFile(t *testing.T) {
	if f, err := synthetic.ParseFile("big=100GiB"); err != nil || f != files[0] {
		t.Errorf("%+v, %v", f, err)
	}
	for _, s := range []string{"", "big", "=1", "a/b=1", "..=1", ".=1", "big=-1", "big=x", strings.Repeat("x", 256) + "=1"} {
		if f, err := synthetic.ParseFile(s); err == nil {
			t.Errorf("%.20q is %+v", s, f)
		}
	}
	if _, err := synthetic.New(synthetic.Config{Files: []synthetic.File{{Name: "a"}, {Name: "a"}}}); err == nil {
		t.Error("a file is there twice")
	}
}

// TestPace: a slow server answers as many requests as its latency and threads allow
// (Little's law), and asks for time as often as it is told to.
func TestPace(t *testing.T) {
	for name, test := range map[string]struct {
		config synthetic.Config
		depth  int
		most   float64 // requests a second
		delays bool
	}{
		"1 ms each, 8 in flight":            {synthetic.Config{Latency: time.Millisecond}, 8, 8000, false},
		"1 ms each, 8 in flight, 2 threads": {synthetic.Config{Latency: time.Millisecond, Threads: 2}, 8, 2000, false},
		"every tenth is to be sent again":   {synthetic.Config{Delays: 0.1}, 8, math.Inf(1), true},
	} {
		for _, version := range nfs.Versions {
			test.config.Files = files
			const lasts, rest = 300 * time.Millisecond, 100 * time.Millisecond // of the test; of a request that is to be sent again
			m := open(t, serve(t, test.config)("big", "&version="+version), nfs.Options{Connections: 2, Depth: test.depth})
			f, err := m.Run(t.Context(), nfs.Load{Op: nfs.Read, Size: 4096, Depth: test.depth, Duration: lasts, Check: right}, nil)
			if err != nil {
				t.Errorf("%s, version %s: %v", name, version, err)
				continue
			}
			t.Logf("%s, version %s: %.0f a second, %d delays", name, version, f.Rate(), f.Delays)
			if f.Requests == 0 || f.Rate() > 1.5*test.most || (f.Delays > 0) != test.delays {
				t.Errorf("%s, version %s: %.0f requests a second, %d delays; there can be %.0f", name, version, f.Rate(), f.Delays, test.most)
			}
			if most := int64(test.depth) * int64((lasts+rest)/rest); f.Delays > most {
				t.Errorf("%s, version %s: %d delays; with %d requests in flight that rest there can be %d", name, version, f.Delays, test.depth, most)
			}
		}
	}
}

// TestDisk: a disk makes reads wait that it has not just done, and does no more at once than
// it has heads; what lies in memory does not wait for it.
func TestDisk(t *testing.T) {
	const takes = 5 * time.Millisecond
	for _, heads := range []int{0, 3} {
		address := serve(t, synthetic.Config{Files: files, Disk: takes, Disks: heads})
		for _, version := range nfs.Versions {
			m := open(t, address("big", "&version="+version), nfs.Options{Connections: 1, Depth: 8})
			load := nfs.Load{Op: nfs.Read, Size: 4096, Random: true, Depth: 8, Duration: 200 * time.Millisecond, Check: right}
			cold, err := m.Run(t.Context(), load, nil)
			if err != nil {
				t.Fatal(err)
			}
			if most := float64(max(1, heads)) / takes.Seconds(); cold.Rate() > 1.2*most { // those on their way when it began
				t.Errorf("version %s, %d heads: %.0f a second, more than %.0f", version, heads, cold.Rate(), most)
			}
			load.Span, load.Omit = int64(load.Size), 20*time.Millisecond
			warm, err := m.Run(t.Context(), load, nil)
			if err != nil {
				t.Fatal(err)
			}
			if warm.Rate() < 2*cold.Rate() {
				t.Errorf("version %s, %d heads: %.0f a second from memory, %.0f from the disk", version, heads, warm.Rate(), cold.Rate())
			}
		}
	}
}
