package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/synthetic"
	"github.com/fullbore/fullbore/unit"
)

// nfsFlagsOf parses flags of 'nfs test'.
func nfsFlagsOf(t *testing.T, args string) (*nfsTestCmd, error) {
	t.Helper()
	var command nfsTestCmd
	parser, err := kong.New(&command, kong.Name("test"), kong.Writers(&bytes.Buffer{}, &bytes.Buffer{}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(strings.Fields(args))
	return &command, err
}

// What the flags of 'nfs test' ask for: small requests come at random and large ones one
// behind the other, unless it is said otherwise.
func TestNFSLoad(t *testing.T) {
	usual := nfs.Load{Op: nfs.Read, Size: 4096, Random: true, Depth: 64, Duration: 10 * time.Second, Omit: time.Second}
	for args, change := range map[string]func(*nfs.Load){
		"":                          func(*nfs.Load) {},
		"--read --random":           func(*nfs.Load) {},
		"--sequential":              func(l *nfs.Load) { l.Random = false },
		"--size 1MiB":               func(l *nfs.Load) { l.Size, l.Random = 1<<20, false },
		"--size 1M --random":        func(l *nfs.Load) { l.Size = 1 << 20 },
		"--write":                   func(l *nfs.Load) { l.Op = nfs.Write },
		"--mix 30%":                 func(l *nfs.Load) { l.Writes = 0.3 },
		"--getattr":                 func(l *nfs.Load) { l.Op = nfs.GetAttr },
		"--null":                    func(l *nfs.Load) { l.Op = nfs.Null },
		"-t 0.5 -O 0":               func(l *nfs.Load) { l.Duration, l.Omit = time.Second/2, 0 },
		"--depth 8 --connections 8": func(l *nfs.Load) { l.Depth = 8 },
		"--readahead 128KiB":        func(l *nfs.Load) { readsAhead(l, 128<<10, 128<<10, 2) },
		"--readahead 15000KiB":      func(l *nfs.Load) { readsAhead(l, 15000<<10, 1<<20, 30) },
		"--readahead 0":             func(l *nfs.Load) { readsAhead(l, 0, 4<<10, 1) },
		"--readahead 1MiB --size 64KiB --sequential": func(l *nfs.Load) { readsAhead(l, 1<<20, 64<<10, 32) },
	} {
		want := usual
		change(&want)
		command, err := nfsFlagsOf(t, args+" nfs://b/e/f")
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		got, err := command.timed()
		if err != nil {
			t.Errorf("%s: %v", args, err)
		} else if d := cmp.Diff(want, got, cmp.Comparer(func(a, b func(int64, []byte) error) bool { return (a == nil) == (b == nil) })); d != "" {
			t.Errorf("%s (-want +got):\n%s", args, d)
		}
	}
}

// TestNFSTest: 'nfs test' against the files that 'serve --nfs' has, as text and as a
// document, in both versions.
func TestNFSTest(t *testing.T) {
	t.Parallel()
	served := farServes(t, nil, "--nfs", "--nfs-port", "0", "--nfs-file", "data=1GiB", "--nfs-writes").NFS
	if served == nil || served.File != "data" {
		t.Fatalf("it serves %+v", served)
	}
	at := served.target("127.0.0.1")

	for _, version := range nfs.Versions {
		stdout, stderr, code := fullbore(t, "nfs", "test", "-J", "-t", "0.3", "-O", "0.1", "--connections", "2", "--depth", "4", at+"&version="+version)
		var d nfs.Document
		if err := json.Unmarshal([]byte(stdout), &d); err != nil || code != exitDone {
			t.Fatalf("version %s: exit code %d, %v: %s", version, code, err, stderr)
		}
		if d.Schema != nfs.Schema || d.Version != version || d.FileBytes != 1<<30 || d.Size != 4096 || !d.Random || d.Depth != 4 || d.Connections != 2 || len(d.Shares) != 2 {
			t.Errorf("version %s: %+v", version, d)
		}
		if d.Requests == 0 || d.IOPS < float64(d.Requests) || d.Goodput != d.IOPS*4096*8 || d.Latency.P50 > d.Latency.P999 || d.InFlight > 6 {
			t.Errorf("version %s: %+v", version, d)
		}
		if slots := map[string]int{"3": 0, "4.1": 4, "4.2": 4}[version]; d.Slots != slots {
			t.Errorf("version %s: %d slots, want %d", version, d.Slots, slots)
		}
	}

	stdout, stderr, code := fullbore(t, "nfs", "test", "-t", "1.2", "-O", "0", "--write", "--size", "64KiB", "--connections", "2", at)
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, row := range []string{
		"server     version 4.1, a file of 1 GiB; the server takes reads of 4 MiB",
		"requests   write of 64 KiB, one behind the other, 64 in flight over\n           2 connections",
		"1 s        ", "rate       ", "latency    half within ", "in flight  ", "processor  ", "shares     ", "window     of all connections: ",
	} {
		if !strings.Contains("\n"+stdout, "\n"+row) {
			t.Errorf("no row %q in\n%s", row, stdout)
		}
	}
}

// readsAhead makes a load one of a program that reads in order.
func readsAhead(l *nfs.Load, ahead unit.Size, size, depth int) {
	l.ReadAhead, l.Size, l.Depth, l.Random = &ahead, size, depth, false
}

// What a scenario says of the load and the server becomes flags, and those of the command
// line go before.
func TestNFSOfScenario(t *testing.T) {
	for _, test := range []struct {
		load lab.NFSLoad
		args string
		want string
	}{
		{lab.NFSLoad{}, "", ""},
		{lab.NFSLoad{InFlight: 16, Size: 4096, Order: "random", Connections: 2}, "", "--depth 16 --size 4096 --random --connections 2"},
		{lab.NFSLoad{InFlight: 16, Size: 4096, Order: "random", Connections: 2}, "--depth=3 --sequential --size 8K --connections 1", ""},
		{lab.NFSLoad{InFlight: 16, Order: "random"}, "--readahead 128KiB", ""},
		{lab.NFSLoad{Size: 1 << 20, ReadAhead: 128 << 10}, "", "--readahead 131072 --size 1048576"},
		{lab.NFSLoad{Size: 1 << 20, ReadAhead: 128 << 10}, "--random", "--size 1048576"},
		{lab.NFSLoad{ReadAhead: 128 << 10}, "--depth 4", ""},
	} {
		if got := strings.Join(nfsLoadFlags(&test.load, strings.Fields("nfs test --lab x "+test.args)), " "); got != test.want {
			t.Errorf("%+v beside %q: %q, want %q", test.load, test.args, got, test.want)
		}
	}
	server := lab.NFSServer{Slots: 16, Threads: 4, Latency: time.Millisecond, Disk: 5 * time.Millisecond, Disks: 2}
	if got, want := strings.Join(nfsServerFlags(&server), " "), "--nfs-slots 16 --nfs-threads 4 --nfs-latency 1ms --nfs-disk 5ms --nfs-disks 2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// The bounds of the format are those of the flags.
	for field, most := range map[string]string{
		"Slots": strconv.Itoa(synthetic.MaxSlots), "Disks": strconv.Itoa(synthetic.MaxDisks), "Latency": maxNFSLatency.String(), "Disk": maxNFSLatency.String(),
	} {
		checkRange(t, reflect.TypeFor[lab.NFSServer](), field, most)
	}
	for field, most := range map[string]string{"InFlight": strconv.Itoa(nfs.MaxDepth), "Connections": strconv.Itoa(nfs.MaxConnections), "Size": "4MiB"} {
		checkRange(t, reflect.TypeFor[lab.NFSLoad](), field, most)
	}
}

func checkRange(t *testing.T, in reflect.Type, field, most string) {
	t.Helper()
	f, _ := in.FieldByName(field)
	_, high, _ := strings.Cut(f.Tag.Get("range"), " ")
	if d, err := time.ParseDuration(high); err == nil {
		high = d.String()
	}
	if high != most {
		t.Errorf("%s of a scenario: at most %s, of the flag %s", field, high, most)
	}
}
