package host

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

func TestCoreTimes(t *testing.T) {
	cores, err := coreTimes()
	if err != nil {
		t.Fatal(err)
	}
	if len(cores) < runtime.NumCPU() {
		t.Errorf("%d cores of at least %d", len(cores), runtime.NumCPU())
	}
	if !slices.IsSortedFunc(cores, func(a, b CoreTimes) int { return a.ID - b.ID }) {
		t.Error("the cores are out of order")
	}
	for _, c := range cores {
		if c.Total <= 0 || c.Idle > c.Total || c.SoftIRQ+c.Steal > c.Total {
			t.Errorf("core %+v", c)
		}
	}
}

func TestCPUGroup(t *testing.T) {
	type files map[string]string
	for name, test := range map[string]struct {
		v2        bool
		files     files
		quota     float64
		throttled time.Duration
	}{
		"v2 half a CPU": {true, files{"cpu.max": "50000 100000\n", "cpu.stat": "usage_usec 7\nnr_throttled 2\nthrottled_usec 1500\n"}, 0.5, 1500 * time.Microsecond},
		"v2 no limit":   {true, files{"cpu.max": "max 100000\n", "cpu.stat": "throttled_usec 0\n"}, 0, 0},
		"v2 root":       {true, files{}, 0, 0},
		"v1 two CPUs":   {false, files{"cpu.cfs_quota_us": "200000\n", "cpu.cfs_period_us": "100000\n", "cpu.stat": "nr_periods 5\nthrottled_time 2500\n"}, 2, 2500},
		"v1 no limit":   {false, files{"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"}, 0, 0},
		"nonsense":      {true, files{"cpu.max": "-5 0\n", "cpu.stat": "throttled_usec\n\nthrottled_usec x\n"}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range test.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			g := cpuGroup{mount: dir, dir: dir, v2: test.v2}
			if quota, throttled := g.quota(dir), g.throttled(dir); quota != test.quota || throttled != test.throttled {
				t.Errorf("got %v CPUs, throttled for %v, want %v and %v", quota, throttled, test.quota, test.throttled)
			}
		})
	}
}

// The groups around limit as much as the process' own.
func TestTightestLimit(t *testing.T) {
	mount := t.TempDir()
	inner := filepath.Join(mount, "outer", "inner")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	for dir, text := range map[string]string{inner: "200000 100000", filepath.Dir(inner): "150000 100000"} {
		if err := os.WriteFile(filepath.Join(dir, "cpu.max"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if quota, _ := tightest([]cpuGroup{{mount: mount, dir: inner, v2: true}}); quota != 1.5 {
		t.Errorf("got %v CPUs, want the outer group's 1.5", quota)
	}
}
