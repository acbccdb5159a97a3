package hub

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/fleet/agent"
	"github.com/fullbore/fullbore/fleet/bus"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/internal/freeport"
	"github.com/fullbore/fullbore/internal/postgres"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/record"
)

// The test's program is also the hub, or a NATS server, in a process of its own.
const (
	beHub  = "FULLBORE_TEST_HUB"  // its folder
	beNATS = "FULLBORE_TEST_NATS" // port, cluster's port, and the clusters' ports of all
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(beHub) != "":
		hubProcess(os.Getenv(beHub))
	case os.Getenv(beNATS) != "":
		natsProcess(strings.Fields(os.Getenv(beNATS)))
	default:
		os.Exit(m.Run())
	}
}

// said is what the hub's process prints.
type said struct{ At, Join, Token string }

func hubProcess(dir string) {
	identity, err := peer.LoadIdentity(dir)
	if err == nil {
		var h *Hub
		if h, err = Start(Config{Listen: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, Identity: identity, Dir: dir, Log: quiet}); err == nil {
			_ = json.NewEncoder(os.Stdout).Encode(said{h.Addr().String(), h.JoinToken(), h.Token()})
			_, _ = os.Stdin.Read(make([]byte, 1)) // until the test ends
			os.Exit(0)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func natsProcess(ports []string) {
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			panic(err)
		}
		return n
	}
	var routes []*url.URL
	for _, port := range ports[2:] {
		routes = append(routes, &url.URL{Scheme: "nats", Host: "127.0.0.1:" + port})
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "nats-" + ports[0], Host: "127.0.0.1", Port: number(ports[0]), NoSigs: true, NoLog: true, Routes: routes,
		Cluster: server.ClusterOpts{Name: "sites", Host: "127.0.0.1", Port: number(ports[1])},
	})
	if err == nil {
		go s.Start()
		if s.ReadyForConnections(generous) {
			fmt.Println("ready")
			_, _ = os.Stdin.Read(make([]byte, 1))
			os.Exit(0)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// process is this program once more, as something else. It ends with the test.
func process(t *testing.T, variable, value string) (command *exec.Cmd, line string) {
	t.Helper()
	command = exec.Command(os.Args[0])
	command.Env = append(os.Environ(), variable+"="+value)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = command.Wait()
	})
	if line, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return command, line
}

// count of agents: a few, or as many as docs/fleet.md says (make bench-fleet).
func count(t *testing.T) int {
	t.Helper()
	if text := os.Getenv("FULLBORE_AGENTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return 30
}

// alone has a test run beside others where it is not to be measured.
func alone(t *testing.T) {
	if os.Getenv("FULLBORE_AGENTS") == "" {
		t.Parallel()
	}
}

// join has many agents dial in at once, and gives the folder in which they keep results.
func join(t *testing.T, how func(name string) (bus.Login, error), agents int) (results string) {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	results = t.TempDir()
	var running, ready sync.WaitGroup
	t.Cleanup(func() { end(); running.Wait() })
	var failed sync.Map
	for i := range agents {
		ready.Add(1)
		running.Go(func() {
			name := fmt.Sprintf("node%04d", i)
			conn, run, err := dialIn(ctx, name, results, how)
			if err != nil {
				failed.Store(name, err)
			}
			ready.Done()
			if err == nil {
				defer conn.Close()
				_ = run()
			}
		})
	}
	ready.Wait()
	failed.Range(func(name, err any) bool {
		t.Errorf("%v: %v", name, err)
		return true
	})
	return results
}

func dialIn(ctx context.Context, name, results string, how func(name string) (bus.Login, error)) (*nats.Conn, func() error, error) {
	l, err := how(name)
	if err != nil {
		return nil, nil, err
	}
	conn, err := agent.Connect(ctx, l, func(error) {})
	if err != nil {
		return nil, nil, err
	}
	server, err := peer.NewServer(peer.Config{Jobs: true, Results: filepath.Join(results, name)})
	if err != nil {
		return nil, nil, err
	}
	listener, _, err := peer.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	here := bus.Here{Schema: bus.Schema, ID: l.Key.ID(), Name: name, Address: listener.Addr().String(), Version: "test", Since: time.Now()}
	return conn, func() error {
		var both errgroup.Group
		both.Go(func() error { return server.Serve(ctx, listener, nil) })
		both.Go(func() error { return (&bus.Agent{Here: here, Handler: server.Carried(), Log: quiet}).Serve(ctx, conn) })
		return both.Wait()
	}, nil
}

// members calls all agents that are there.
func members(t *testing.T, conn *nats.Conn, count int) []fleet.Member {
	t.Helper()
	there := present(t, conn, count)
	all := make([]fleet.Member, len(there))
	var calls errgroup.Group
	for i, here := range there {
		calls.Go(func() error {
			far, err := peer.Over(t.Context(), bus.To(conn, here), here.Name, here.Address)
			all[i] = fleet.Member{Name: here.Name, Address: here.Address, Host: far}
			return err
		})
	}
	if err := calls.Wait(); err != nil {
		t.Fatal(err)
	}
	return all
}

// nobody watches.
type nobody struct{}

func (nobody) Phase(string)  {}
func (nobody) Result(string) {}

// meet has many agents join a hub in a process of its own, and gives what lets experiments in, and the folder of results.
func meet(t *testing.T, agents int) (hub *exec.Cmd, experiments bus.Login, results string) {
	t.Helper()
	hub, line := process(t, beHub, t.TempDir())
	var at said
	if err := json.Unmarshal([]byte(line), &at); err != nil {
		t.Fatal(err)
	}
	login := func(name, token string) (bus.Login, error) {
		config, secret, err := peer.Pinned(at.At, token)
		return bus.Login{URL: "nats://" + at.At, Name: name, TLS: config, Token: secret, Log: quiet}, err
	}
	results = join(t, func(name string) (bus.Login, error) {
		l, err := login(name, at.Join)
		if err == nil {
			l.Key, err = bus.NewKey()
		}
		return l, err
	}, agents)
	experiments, err := login("test", at.Token)
	if err != nil {
		t.Fatal(err)
	}
	return hub, experiments, results
}

// TestManyAgents: many agents of real code join one hub, hear a command, and start at one instant.
func TestManyAgents(t *testing.T) {
	alone(t)
	n := count(t)
	began := time.Now()
	command, l, _ := meet(t, n)
	joined := time.Since(began)
	all := members(t, connect(t, l), n)
	told := tell(t, all)
	r := rehearse(t, all)
	memory, spent := used(t, command.Process.Pid)
	t.Logf("| %d agents on one hub | joined after %.3g s | a command to all: %.0f ms | start: 50 %% within %.2g ms, 99 %% within %.2g ms, clocks known to %.2g ms | hub: %d MiB, %.2g s of processor time |",
		n, joined.Seconds(), told.Seconds()*1e3, r.Skew.P50, r.Skew.P99, r.Skew.Bound, memory>>20, spent)
}

// TestManyResults: what many agents come to is in PostgreSQL once, although that is restarted in the middle, and no
// agent has any of it any more.
func TestManyResults(t *testing.T) {
	alone(t)
	n := count(t)
	database := postgres.New(t)
	store, err := record.Open(t.Context(), database.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	_, l, disk := meet(t, n)
	all := members(t, connect(t, l), n)
	r := record.Start(database.Address, record.Header{Kind: record.Fleet, Tags: []string{"many"}})
	if err := r.Begun(t.Context()); err != nil {
		t.Fatal(err)
	}
	keep := func(ctx context.Context, results []*job.Result) error {
		var flows []record.Flow
		for _, r := range results {
			flows = append(flows, record.Flow{Run: r.Part.Experiment, Round: r.Part.Round, N: r.Part.Flow, From: r.Part.From, To: r.Part.To, Kind: string(r.Kind), Ended: r.Ended})
		}
		_, err := store.KeepFlows(ctx, "many", flows)
		return err
	}
	experiments := 1
	if os.Getenv("FULLBORE_AGENTS") != "" {
		experiments = 3
	}
	ids := []string{r.ID()}
	var spent []time.Duration
	for i := range experiments {
		if i > 0 {
			ids = append(ids, record.NewID())
		}
		began := time.Now()
		stopped := make(chan struct{})
		go func() { // while hosts get ready, start, or are asked what came of it
			defer close(stopped)
			time.Sleep(time.Duration(i+1) * 700 * time.Millisecond)
			database.Stop(syscall.SIGQUIT)
			time.Sleep(3 * time.Second)
			database.Run()
		}()
		if _, err := fleet.Run(t.Context(), all, fleet.Experiment{ID: ids[i], Name: "many", Keep: keep, Kind: job.Rehearsal, Spec: bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: time.Second}}, nobody{}); err != nil {
			t.Error(err)
		}
		<-stopped
		spent = append(spent, time.Since(began))
	}
	if err := r.EndWithin(record.Outcome{State: record.Done}, time.Minute); err != nil {
		t.Error(err)
	}
	kept, twice := 0, 0
	for _, id := range ids {
		run, err := store.Load(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]int{}
		for _, f := range run.Flows {
			of[f.From]++
			if of[f.From] > 1 {
				twice++
			}
		}
		kept += len(of)
	}
	left, err := filepath.Glob(filepath.Join(disk, "*", "*"))
	if err != nil || len(left) > 0 || kept != experiments*n || twice > 0 {
		t.Errorf("%d of %d results are kept, %d twice, %d still on disks, %v", kept, experiments*n, twice, len(left), err)
	}
	t.Logf("| %d agents, %d results | PostgreSQL killed %d times | %d lost, %d twice | each took %v |", n, experiments*n, experiments, experiments*n-kept, twice, spent)
}

// tell sends each host a command at once, and gives how long it took until all have answered.
func tell(t *testing.T, all []fleet.Member) time.Duration {
	t.Helper()
	began := time.Now()
	var calls errgroup.Group
	for _, m := range all {
		calls.Go(func() error {
			_, err := m.Host.Clock(t.Context())
			return err
		})
	}
	if err := calls.Wait(); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

// rehearse starts all of them without traffic.
func rehearse(t *testing.T, all []fleet.Member) fleet.Round {
	t.Helper()
	r, err := fleet.Run(t.Context(), all, fleet.Experiment{Kind: job.Rehearsal, Spec: bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: time.Second}}, nobody{})
	if err != nil {
		t.Fatal(err)
	}
	round := r.Rounds[0]
	for _, f := range round.Flows {
		if f.Error != "" {
			t.Errorf("%s: %s", r.Hosts[f.From], f.Error)
		}
	}
	if round.Skew == nil {
		t.Fatal("nobody started")
	}
	if s := round.Skew; s.P99 < 0 || s.P50 > s.P99 || s.Claimed != (s.Bound <= 5) {
		t.Errorf("%+v", s)
	}
	return round
}

// used is the memory of a process, in bytes, and the seconds of a processor that it has had (proc_pid_stat(5)).
func used(t *testing.T, pid int) (bytes int64, seconds float64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:])) // from the third one on
	number := func(i int) int64 {
		n, err := strconv.ParseInt(fields[i-3], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const ticks = 100 // USER_HZ, the same on all of Linux's platforms but alpha
	return number(24) * int64(os.Getpagesize()), float64(number(14)+number(15)) / ticks
}

// TestCluster: agents on a cluster of three NATS servers of the organisation's own come back when one
// is killed, and all of them start together.
func TestCluster(t *testing.T) {
	alone(t)
	n := count(t)
	var ports, routes []string
	for range 3 {
		ports, routes = append(ports, freeport.Find(t)), append(routes, freeport.Find(t))
	}
	var servers []*exec.Cmd
	var urls []string
	for i := range ports {
		command, _ := process(t, beNATS, strings.Join(append([]string{ports[i], routes[i]}, routes...), " "))
		servers, urls = append(servers, command), append(urls, "nats://127.0.0.1:"+ports[i])
	}
	began := time.Now()
	join(t, func(name string) (bus.Login, error) {
		key, err := bus.NewKey()
		return bus.Login{URL: strings.Join(urls, ","), Name: name, Key: key, Log: quiet}, err
	}, n)
	joined := time.Since(began)
	conn := connect(t, bus.Login{URL: strings.Join(urls[1:], ","), Name: "test", Log: quiet})
	all := members(t, conn, n)
	before := rehearse(t, all)
	if err := servers[0].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	present(t, conn, n)
	back := time.Since(began)
	after := rehearse(t, all)
	t.Logf("| %d agents on three NATS servers | joined after %.3g s | 99 %% start within %.2g ms (± %.2g ms) | one of the servers killed: all there again after %.3g s | 99 %% start within %.2g ms (± %.2g ms) |",
		n, joined.Seconds(), before.Skew.P99, before.Skew.Bound, back.Seconds(), after.Skew.P99, after.Skew.Bound)
}
