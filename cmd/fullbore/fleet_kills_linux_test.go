package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/fleet/bus"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/record"
)

// ledger is all results that agents ever had on their disks, as the kernel saw the files come (inotify(7)).
type ledger struct {
	mu   sync.Mutex
	seen map[string]string // key: host
	of   map[int32]string  // watch: host
	file *os.File
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{seen: map[string]string{}, of: map[int32]string{}, file: os.NewFile(uintptr(fd), "inotify")}
	t.Cleanup(func() { _ = l.file.Close() })
	go func() {
		events := make([]byte, 1<<16)
		for {
			n, err := l.file.Read(events)
			if err != nil {
				return
			}
			for left := events[:n]; len(left) >= unix.SizeofInotifyEvent; {
				number := func(i int) uint32 { return binary.NativeEndian.Uint32(left[4*i:]) } // watch, mask, cookie, length
				watch, mask, length := int32(number(0)), number(1), number(3)
				name := strings.TrimRight(string(left[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+length]), "\x00")
				left = left[unix.SizeofInotifyEvent+length:]
				if mask&unix.IN_Q_OVERFLOW != 0 {
					t.Error("results came faster than they were counted")
				}
				if key, ok := strings.CutSuffix(name, ".json"); ok {
					l.mu.Lock()
					l.seen[key] = l.of[watch]
					l.mu.Unlock()
				}
			}
		}
	}()
	return l
}

// watch counts what comes into a folder of a host.
func (l *ledger) watch(t *testing.T, host, dir string) {
	t.Helper()
	conn, err := l.file.SyscallConn()
	if err == nil {
		err = conn.Control(func(fd uintptr) {
			watch, e := unix.InotifyAddWatch(int(fd), dir, unix.IN_MOVED_TO)
			if e != nil {
				t.Errorf("watch %s: %v", dir, e)
			}
			l.mu.Lock()
			l.of[int32(watch)] = host
			l.mu.Unlock()
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// torn is a hub that runs a schedule, its agents, and the network between them, of which one after the
// other is killed and comes back.
type torn struct {
	*met
	random   *rand.Rand
	schedule string
	running  *lab.Cmd // the hub
}

func (k *torn) nodes() []*lab.Host { return k.lab.Hosts()[1:] }

func (k *torn) startHub() {
	k.t.Helper()
	var says hubDocument
	first := k.lab.Hosts()[0]
	k.running = k.says(&says, first, "hub", "--bind", first.Address().String(), "--schedule", k.schedule, "--json")
	k.hub = says.Listen
}

func (k *torn) startAgent(h *lab.Host, more ...string) {
	k.t.Helper()
	var here bus.Here
	k.agents[h.Name()] = k.says(&here, h, append([]string{"agent", "--hub", k.hub, "--name", h.Name(), "--json"}, more...)...)
}

func (k *torn) kill(c *lab.Cmd) {
	k.t.Helper()
	if err := c.Signal(syscall.SIGKILL); err != nil {
		k.t.Fatal(err)
	}
	_ = c.Wait() // killed
}

// eachDevice does something with all devices of a host but lo.
const eachDevice = `ip -br link | while read name rest; do name=${name%%@*}; [ "$name" = lo ] || %s; done`

// cut has nothing leave a host, and mend lets it again. What is dropped is not told of: no packet is as small as
// one byte (tc-tbf(8)).
func (k *torn) cut(h *lab.Host) {
	k.on(h, fmt.Sprintf(eachDevice, `tc qdisc replace dev "$name" root tbf rate 8bit burst 1 limit 1`))
}

func (k *torn) mend(h *lab.Host) {
	k.on(h, fmt.Sprintf(eachDevice, `tc qdisc del dev "$name" root`))
}

// moved is how many bytes a host has received and sent.
func (k *torn) moved(h *lab.Host) (bytes int64) {
	for line := range strings.SplitSeq(k.on(h, "cat /proc/self/net/dev"), "\n") {
		name, numbers, ok := strings.Cut(line, ":")
		fields := strings.Fields(numbers)
		if !ok || strings.TrimSpace(name) == "lo" || len(fields) < 9 {
			continue
		}
		for _, f := range []string{fields[0], fields[8]} {
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				k.t.Fatal(err)
			}
			bytes += n
		}
	}
	return bytes
}

// quietWithin: nothing but signs of life goes between the hosts, once their jobs were given up.
func (k *torn) quietWithin(d time.Duration) {
	k.t.Helper()
	time.Sleep(d)
	before := map[string]int64{}
	for _, h := range k.nodes() {
		before[h.Name()] = k.moved(h)
	}
	time.Sleep(2 * time.Second)
	for _, h := range k.nodes() {
		if n := k.moved(h) - before[h.Name()]; n > 20_000 { // a transfer of 20 Mb/s moves 5 MB
			k.t.Errorf("%s moves %d bytes in two seconds, %v after the hub was killed", h.Name(), n, d)
		}
	}
}

// settings are all of a host's TCP and socket settings.
func (k *torn) settings(h *lab.Host) string {
	return k.on(h, "cd /proc/sys/net && for f in core/*mem* ipv4/tcp_*; do echo $f $(cat $f 2>&1); done")
}

// TestIntegrationKills: a hub that runs a schedule, an agent, or the network of either is killed at random instants,
// and comes back. Nothing keeps sending, no result that was on a disk is lost, none is kept twice, and no host is
// another one than it was. FULLBORE_KILLS says how many instants (make kills).
func TestIntegrationKills(t *testing.T) {
	kills := 3
	if text := os.Getenv("FULLBORE_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	} else {
		t.Parallel()
	}
	l := laboratory(t, scenarioFile(t, hubAndThree))
	k := &torn{met: &met{t: t, lab: l, dir: t.TempDir(), agents: map[string]*lab.Cmd{}}, random: rand.New(rand.NewPCG(12, uint64(kills)))}
	k.schedule = filepath.Join(k.dir, "schedule.yaml")
	plan := func(every string) {
		text := fmt.Sprintf("experiments: [{name: mesh, every: %s, jitter: 100ms, pattern: shift, time: 500ms, omit: 100ms}]\n", every)
		if err := os.WriteFile(k.schedule, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plan("1s")
	var says hubDocument
	first := l.Hosts()[0]
	k.running = k.says(&says, first, "hub", "--bind", first.Address().String(), "--schedule", k.schedule, "--json")
	k.hub = says.Listen
	had := newLedger(t)
	before := map[string]string{}
	for _, h := range k.nodes() {
		before[h.Name()] = k.settings(h)
		k.startAgent(h, "--token", says.Join)
		had.watch(t, h.Name(), filepath.Join(k.dir, h.Name(), "agent", "results"))
	}
	const watched = 10 // of so many times that the hub is killed, one is waited for until nothing may send any more
	hubs := 0
	for i := range kills {
		time.Sleep(time.Duration(k.random.Int64N(int64(3 * time.Second))))
		away := time.Duration(k.random.Int64N(int64(2 * time.Second)))
		node := k.nodes()[k.random.IntN(len(k.nodes()))]
		switch k.random.IntN(4) {
		case 0:
			k.kill(k.running)
			if hubs++; hubs%watched == 0 {
				k.quietWithin(job.HeardWithin + time.Second)
			}
			time.Sleep(away)
			k.startHub()
		case 1:
			k.kill(k.agents[node.Name()])
			time.Sleep(away)
			k.startAgent(node)
		case 2:
			k.cut(node)
			time.Sleep(6 * away) // also longer than a job waits for who ordered it
			k.mend(node)
		case 3:
			k.cut(first)
			time.Sleep(2 * away)
			k.mend(first)
		}
		if (i+1)%20 == 0 {
			t.Logf("%d of %d", i+1, kills)
		}
	}
	k.kill(k.running)
	plan("24h") // from now on results are fetched, and nothing is measured
	k.quietWithin(job.HeardWithin + time.Second)
	k.startHub()
	k.fetched(had)
	for _, h := range k.nodes() {
		if is := k.settings(h); is != before[h.Name()] {
			t.Errorf("%s was\n%s\nand is\n%s", h.Name(), before[h.Name()], is)
		}
	}
}

// fetched waits until no agent has a result any more, and holds the record against what they had.
func (k *torn) fetched(had *ledger) {
	k.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		left, err := filepath.Glob(filepath.Join(k.dir, "*", "agent", "results", "*"))
		if err != nil {
			k.t.Fatal(err)
		}
		if len(left) == 0 {
			break
		}
		if time.Now().After(end) {
			k.t.Fatalf("still there: %v", left)
		}
	}
	store, err := record.Open(k.t.Context(), filepath.Join(k.dir, "hub", "record.db"))
	if err != nil {
		k.t.Fatal(err)
	}
	defer store.Close()
	rows, states, shown := map[string]string{}, map[record.State]int{}, 0
	err = store.Export(context.Background(), record.Filter{Kind: record.Fleet}, func(r *record.Run) error {
		states[r.State]++
		for _, f := range r.Flows {
			key := fmt.Sprintf("%s.%d.%d", f.Run, f.Round, f.N)
			if other := rows[key]; other != "" {
				k.t.Errorf("%s is kept twice, of %s and of %s", key, other, f.From)
			}
			rows[key] = f.From
		}
		var result fleet.Result
		if len(r.Document) > 0 {
			if err := json.Unmarshal(r.Document, &result); err != nil {
				return err
			}
			for _, round := range result.Rounds {
				shown += len(round.Flows)
			}
		}
		return nil
	})
	if err != nil {
		k.t.Fatal(err)
	}
	had.mu.Lock()
	defer had.mu.Unlock()
	lost := 0
	for key, host := range had.seen {
		if rows[key] != host {
			lost++
			k.t.Errorf("%s of %s is lost", key, host)
		}
	}
	k.t.Logf("| %d results were on agents' disks | %d are in the record, %d lost | runs: %v | %d flows in their documents |", len(had.seen), len(rows), lost, states, shown)
	if len(had.seen) == 0 {
		k.t.Error("nothing was measured")
	}
}
