package bulk

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/host"
)

// pinned counts this process' threads that may use one CPU only, by CPU.
func pinned(t *testing.T) map[int]int {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		t.Fatal(err)
	}
	threads := map[int]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		_, list, _ := strings.Cut(string(text), "Cpus_allowed_list:")
		list, _, _ = strings.Cut(list, "\n")
		if cpus, err := host.ParseCPUs(strings.TrimSpace(list)); err == nil && len(cpus) == 1 {
			threads[cpus[0]]++
		}
	}
	return threads
}

// usable are the CPUs that this process may use.
func usable(t *testing.T) []int {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	var cpus []int
	for cpu := range 1024 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

func TestPin(t *testing.T) {
	cpus := usable(t)
	if len(cpus) < 2 {
		t.Skip("one CPU: all threads are on it")
	}
	first, second := cpus[0], cpus[1]
	spec := Spec{
		Direction: Forward, Streams: 3, Duration: time.Second,
		ClientCPUs: strconv.Itoa(second), ServerCPUs: strconv.Itoa(first) + "," + strconv.Itoa(second),
	}
	before := pinned(t)
	a, b := connect(t, spec)
	server := start(t.Context(), spec, b, Patience)
	client := start(t.Context(), spec, a, Patience)
	// A busy machine lets the threads begin late.
	got, seen := before, false
	for end := time.Now().Add(20 * time.Second); !seen && time.Now().Before(end); time.Sleep(time.Millisecond) {
		got = pinned(t)
		seen = got[first]-before[first] == 2 && got[second]-before[second] == 4
	}
	if !seen {
		t.Errorf("threads on one CPU: %v, before %v", got, before)
	}
	near, far := wait(t, client), wait(t, server)
	for i, s := range near.Streams {
		if !slices.Equal(s.CPUs, []int{second}) || s.CPUNote != "" {
			t.Errorf("client's stream %d: CPUs %v, %q", s.ID, s.CPUs, s.CPUNote)
		}
		if r := far.Streams[i]; !slices.Equal(r.CPUs, []int{cpus[i%2]}) {
			t.Errorf("server's stream %d: CPUs %v", r.ID, r.CPUs)
		}
	}
	if got = pinned(t); got[first] != before[first] || got[second] != before[second] {
		t.Errorf("threads stay on one CPU: %v, before %v", got, before)
	}
}

func TestPinRefuses(t *testing.T) {
	a, b := connect(t, Spec{Direction: Forward, Streams: 1})
	defer b[0].TCP.Close()
	_, err := Run(t.Context(), Spec{Direction: Forward, Streams: 1, Bytes: 1, ClientCPUs: "0,1023"}, a, nil)
	if err == nil || !strings.Contains(err.Error(), "CPU 1023") || !strings.Contains(err.Error(), "this host has CPUs 0") {
		t.Errorf("got %v", err)
	}
}

// The loopback belongs to no NUMA node.
func TestPinNearNIC(t *testing.T) {
	spec := Spec{Direction: Forward, Streams: 1, Bytes: 1000, ClientCPUs: nicCPUs}
	client, server := transferOver(t, spec)
	if client.err != nil || server.err != nil {
		t.Fatalf("client: %v, server: %v", client.err, server.err)
	}
	if s := client.Streams[0]; len(s.CPUs) != 0 || s.CPUNote != "not pinned: lo belongs to no NUMA node" {
		t.Errorf("CPUs %v, %q", s.CPUs, s.CPUNote)
	}
	if s := server.Streams[0]; s.CPUNote != "" {
		t.Errorf("the server was asked for nothing: %q", s.CPUNote)
	}
}

func TestOnThread(t *testing.T) {
	cpus := usable(t)
	one := cpus[len(cpus)-1:]
	failure := errors.New("that way")
	err := OnThread(one, func() error {
		if got := usable(t); !slices.Equal(got, one) {
			t.Errorf("the thread may use CPUs %v, want %v", got, one)
		}
		return failure
	})
	if !errors.Is(err, failure) || !slices.Equal(usable(t), cpus) {
		t.Errorf("%v; then it may use CPUs %v, before %v", err, usable(t), cpus)
	}
	if err := OnThread([]int{1023}, func() error { return nil }); err == nil || !strings.Contains(err.Error(), "pin to CPU [1023]") {
		t.Errorf("got %v", err)
	}
}
