package datagram

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// threads counts this process' threads that may use the given CPU only.
func threads(t *testing.T, cpu int) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, _ := os.ReadFile(file) // it may have ended
		if strings.Contains(string(text), "\nCpus_allowed_list:\t"+strconv.Itoa(cpu)+"\n") {
			n++
		}
	}
	return n
}

func TestPin(t *testing.T) {
	var usable unix.CPUSet
	if err := unix.SchedGetaffinity(0, &usable); err != nil {
		t.Fatal(err)
	}
	if usable.Count() < 2 {
		t.Skip("one CPU: all threads are on it")
	}
	cpu := 0
	for !usable.IsSet(cpu) {
		cpu++
	}
	spec := bulk.Spec{
		Protocol: bulk.UDP, Direction: bulk.Both, Streams: 2, Rate: unit.Mbps, Duration: time.Minute,
		ClientCPUs: strconv.Itoa(cpu), ServerCPUs: "nic", SendPath: bulk.SendFile,
	}
	before := threads(t, cpu)
	a, b := flows(t, spec)
	for i := range b {
		b[i].Server = true
	}
	far, near := start(t, spec, b), start(t, spec, a)
	time.Sleep(200 * time.Millisecond)
	if got := threads(t, cpu) - before; got != len(a) {
		t.Errorf("%d threads are pinned, want %d", got, len(a))
	}
	for _, s := range near.Stop().Streams {
		if !slices.Equal(s.CPUs, []int{cpu}) || s.CPUNote != "" {
			t.Errorf("client's flow %d: CPUs %v, %q", s.ID, s.CPUs, s.CPUNote)
		}
		if s.Sender != (s.PathNote == "the bytes were copied: datagrams cannot be moved by sendfile on linux") {
			t.Errorf("client's flow %d: %q", s.ID, s.PathNote)
		}
	}
	for _, s := range far.Stop().Streams {
		if len(s.CPUs) != 0 || s.CPUNote != "not pinned: lo belongs to no NUMA node" {
			t.Errorf("server's flow %d: CPUs %v, %q", s.ID, s.CPUs, s.CPUNote)
		}
	}
	if got := threads(t, cpu); got != before {
		t.Errorf("%d threads stay on one CPU, before %d", got, before)
	}
}

func TestPinRefuses(t *testing.T) {
	spec := bulk.Spec{Protocol: bulk.UDP, Direction: bulk.Forward, Streams: 1, Duration: time.Second, ClientCPUs: "1023"}
	a, b := flows(t, spec)
	defer b[0].UDP.Close()
	if _, err := Start(t.Context(), spec, a, nil); err == nil || !strings.Contains(err.Error(), "pin to CPU 1023") {
		t.Errorf("got %v", err)
	}
}
