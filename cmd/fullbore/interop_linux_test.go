package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fullbore/fullbore/internal/freeport"
)

// interopOption is a row of the matrix: the same flags for both programs.
type interopOption struct {
	says  string // what the flags ask for
	flags string
	// lacks is why a program has no such option; the other is still tried.
	iperf3Lacks string
	once        bool // only forward: the direction makes no difference
}

var interopOptions = []interopOption{
	{says: "one stream", flags: "-n 20M"},
	{says: "time", flags: "-t 1"},
	{says: "bytes", flags: "-n 1"},
	{says: "blocks", flags: "-k 200"},
	{says: "streams", flags: "-P 4 -n 20M"},
	{says: "most streams", flags: "-P 128 -n 64M", once: true},
	{says: "omitted beginning", flags: "-t 1 -O 1"},
	{says: "socket buffers", flags: "-w 256K -n 20M"},
	{says: "segment size", flags: "-M 1000 -n 20M"},
	{says: "block length", flags: "-l 8K -n 20M"},
	{says: "congestion control", flags: "-C reno -n 20M"},
	{says: "rate", flags: "-b 80M -n 5M"},
	{says: "rate in bursts", flags: "-b 80M/10 -n 5M"},
	{says: "pacing by the kernel", flags: "--fq-rate 80M -n 5M"},
	{says: "no delay", flags: "-N -n 20M"},
	{says: "type of service", flags: "-S 0x20 -n 20M"},
	{says: "zero copy", flags: "-Z -n 20M"},
	{says: "sink without copy", flags: "--skip-rx-copy -n 20M", iperf3Lacks: "since 3.19"},
	{says: "far end's report", flags: "--get-server-output -n 20M"},
	{says: "pinned to a CPU", flags: "-A 0,0 -n 20M"},
	{says: "title", flags: "-T matrix -n 1M", once: true},
	{says: "IPv6", flags: "-6 -n 20M"},
	{says: "UDP", flags: "-u -b 50M -t 1"},
	{says: "UDP, bytes", flags: "-u -b 80M -n 2M"},
	{says: "UDP, blocks", flags: "-u -b 80M -k 500"},
	{says: "UDP, streams", flags: "-u -b 20M -P 3 -t 1"},
	{says: "UDP, datagram size", flags: "-u -b 50M -l 1000 -t 1"},
	{says: "UDP, bursts", flags: "-u -b 50M/10 -t 1"},
	{says: "UDP, 64-bit numbers", flags: "-u -b 50M --udp-counters-64bit -t 1"},
	{says: "UDP, no fragments", flags: "-u -b 50M --dont-fragment -t 1"},
	{says: "UDP, type of service", flags: "-u -b 50M -S 0x20 -t 1"},
	{says: "UDP, omitted beginning", flags: "-u -b 50M -t 1 -O 1"},
	{says: "UDP, IPv6", flags: "-u -b 50M -6 -t 1"},
}

// arrives says that the client is to send a number of bytes over TCP: then all of
// them are received. By the clock, and where the server sends, iperf3 cuts off
// what is under way.
func (o interopOption) arrives() bool {
	flags := strings.Fields(o.flags)
	return !slices.Contains(flags, "-u") && !slices.Contains(flags, "-t")
}

var interopDirections = []struct{ name, flag string }{{"forward", ""}, {"reverse", "-R"}, {"both", "--bidir"}}

var updateInterop = flag.Bool("update-interop", false, "rewrite docs/interop.md")

// TestIntegrationInterop runs every option against the real iperf3, as its
// client and as its server, in every direction: both ends must report the same
// bytes to 0.1 %. docs/interop.md says what was tried.
func TestIntegrationInterop(t *testing.T) {
	if _, err := exec.LookPath("iperf3"); err != nil {
		t.Skip("needs iperf3")
	}
	far := serving(t, "--bind=", "--max-clients", "32") // room for all cells that run at once
	page := filepath.Join("..", "..", "docs", "interop.md")
	var table string
	if !t.Run("cells", func(t *testing.T) { table = runInterop(t, far) }) {
		return
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- matrix -->\n", "<!-- end of matrix -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the matrix", page)
	}
	want := before + begin + interopHead + table + end + after
	if *updateInterop {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("%s is not what was tried: run this test with -update-interop", page)
	}
}

// cellsAtOnce are more than there are processors: most cells wait for a clock.
const cellsAtOnce = 16

// runInterop runs all cells, some at a time, and gives the rows of the table.
func runInterop(t *testing.T, far string) string {
	t.Helper()
	var table strings.Builder
	var cells errgroup.Group
	cells.SetLimit(cellsAtOnce)
	for _, o := range interopOptions {
		fmt.Fprintf(&table, "| %s | `%s` |", o.says, o.flags)
		for _, weServe := range []bool{false, true} {
			for _, d := range interopDirections {
				cell := interopCell(o, d.name, weServe)
				fmt.Fprintf(&table, " %s |", cell)
				if cell != "yes" {
					continue
				}
				role := "as client"
				if weServe {
					role = "as server"
				}
				cells.Go(func() error {
					t.Run(strings.Join([]string{o.says, role, d.name}, "/"), func(t *testing.T) {
						args := append(strings.Fields(o.flags), strings.Fields(d.flag)...)
						var near, other counted
						if weServe {
							near, other = iperf3Client(t, far, args)
						} else {
							near, other = iperf3Server(t, args)
						}
						agree(t, near, other)
						if d.flag == "" && o.arrives() {
							near.complete(t)
							other.complete(t)
						}
					})
					return nil
				})
			}
		}
		table.WriteString("\n")
	}
	_ = cells.Wait() // the cells have told
	return table.String()
}

const interopHead = `| option | flags | to an iperf3 server: forward | reverse | both | from an iperf3 client: forward | reverse | both |
|---|---|---|---|---|---|---|---|
`

// interopCell says whether a cell is tried, or why not.
func interopCell(o interopOption, direction string, weServe bool) string {
	switch {
	case weServe && o.iperf3Lacks != "":
		return o.iperf3Lacks
	case o.once && direction != "forward":
		return "as forward"
	}
	return "yes"
}

// counted is what one end says it counted: bytes by the name of the sum; 0 where
// it leaves that to the other end.
type counted map[string]float64

// sums are the byte counts of iperf3's document.
var sums = []string{"sum_sent", "sum_received", "sum_sent_bidir_reverse", "sum_received_bidir_reverse"}

func readCounted(t *testing.T, document json.RawMessage) counted {
	t.Helper()
	var d struct {
		End   map[string]json.RawMessage `json:"end"`
		Error string                     `json:"error"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatalf("%v in %.2000s", err, document)
	}
	if d.Error != "" {
		t.Fatalf("error: %s", d.Error)
	}
	c := counted{}
	for _, name := range sums {
		var sum struct {
			Bytes float64 `json:"bytes"`
		}
		if text, ok := d.End[name]; ok {
			if err := json.Unmarshal(text, &sum); err != nil {
				t.Fatal(err)
			}
			c[name] = sum.Bytes
		}
	}
	return c
}

// agree compares what both ends know; something must have been counted by both.
func agree(t *testing.T, a, b counted) {
	t.Helper()
	common := 0
	for _, name := range sums {
		if a[name] == 0 || b[name] == 0 {
			continue
		}
		common++
		if !same(a[name], b[name]) {
			t.Errorf("%s: %.0f bytes by one end's report, %.0f by the other's", name, a[name], b[name])
		}
	}
	if common == 0 {
		t.Errorf("the reports have no count in common: %v and %v", a, b)
	}
}

// same says that counts agree to 0.1 %.
func same(a, b float64) bool { return math.Abs(a-b) <= 0.001*max(a, b) }

// complete compares what was sent with what was received, where one report has
// both.
func (c counted) complete(t *testing.T) {
	t.Helper()
	if sent, received := c["sum_sent"], c["sum_received"]; sent != 0 && received != 0 && !same(sent, received) {
		t.Errorf("%.0f bytes sent, %.0f received", sent, received)
	}
}

// iperf3Server runs fullbore against a stock server of its own.
func iperf3Server(t *testing.T, args []string) (client, server counted) {
	t.Helper()
	address := "127.0.0.1"
	if slices.Contains(args, "-6") {
		address = "[::1]"
	}
	port := freeport.Find(t)
	ctx, stop := context.WithTimeout(t.Context(), 40*time.Second)
	defer stop()
	far := exec.CommandContext(ctx, "iperf3", "-s", "-1", "-J", "-p", port)
	var heard bytes.Buffer
	far.Stdout = &heard
	if err := far.Start(); err != nil {
		t.Fatal(err)
	}
	awaitListener(t, port)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	near := exec.CommandContext(ctx, self, slices.Concat([]string{"test", "iperf3://" + address + ":" + port, "--json"}, without6(args))...)
	var said, complained bytes.Buffer
	near.Stdout, near.Stderr = &said, &complained
	if err := near.Run(); err != nil {
		t.Fatalf("%v: %s", err, &complained)
	}
	if err := far.Wait(); err != nil {
		t.Fatalf("iperf3's server: %v: %s", err, &heard)
	}
	return readCounted(t, said.Bytes()), readCounted(t, heard.Bytes())
}

func without6(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "-6" })
}

// iperf3Client runs a stock client against our far end, whose own report comes
// with the client's.
func iperf3Client(t *testing.T, port string, args []string) (client, server counted) {
	t.Helper()
	address := "127.0.0.1"
	if slices.Contains(args, "-6") {
		address = "::1"
	}
	if !slices.Contains(args, "--get-server-output") {
		args = append(args, "--get-server-output")
	}
	ctx, stop := context.WithTimeout(t.Context(), 40*time.Second)
	defer stop()
	out, err := exec.CommandContext(ctx, "iperf3", slices.Concat([]string{"-c", address, "-p", port, "-J"}, args)...).Output()
	if err != nil {
		t.Fatalf("%v: %.2000s", err, out)
	}
	var d struct {
		Server json.RawMessage `json:"server_output_json"`
	}
	if err := json.Unmarshal(out, &d); err != nil || len(d.Server) == 0 {
		t.Fatalf("no server output (%v) in %.2000s", err, out)
	}
	return readCounted(t, out), readCounted(t, d.Server)
}

// awaitListener waits until something listens on a port, without connecting:
// a server of one test would take that for it.
func awaitListener(t *testing.T, port string) {
	t.Helper()
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	listens := regexp.MustCompile(fmt.Sprintf(`(?m)^ *\d+: [0-9A-F]+:%04X \S+ 0A `, number))
	for range 500 {
		for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
			text, err := os.ReadFile(table)
			if err == nil && listens.Match(text) {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("nothing listens on port %s", port)
}
