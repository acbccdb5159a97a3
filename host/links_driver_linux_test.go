package host

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

// What ethtool -S shows of real cards, as people have published it.
func TestDriverCounters(t *testing.T) {
	names, err := filepath.Glob("testdata/ethtool/*.yaml")
	if err != nil || len(names) < 7 {
		t.Fatalf("recordings: %v, %v", names, err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var recorded struct {
				About    string           `yaml:"about"`
				Source   string           `yaml:"source"`
				Counters string           `yaml:"counters"`
				Want     map[string]int64 `yaml:"want"` // as in JSON, but for bytes and packets
			}
			if err := yaml.UnmarshalWithOptions(text, &recorded, yaml.Strict()); err != nil {
				t.Fatal(err)
			}
			counters := map[string]uint64{}
			for line := range strings.Lines(recorded.Counters) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				if counters[name], err = strconv.ParseUint(value, 10, 64); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
			}
			var c LinkCounters
			c.addDriver(counters)
			if diff := cmp.Diff(recorded.Want, notZero(t, c)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// notZero are the counters that are not 0, by their names in JSON.
func notZero(t *testing.T, c LinkCounters) map[string]int64 {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	counters := map[string]int64{}
	if err := json.Unmarshal(text, &counters); err != nil {
		t.Fatal(err)
	}
	for name, n := range counters {
		if n == 0 {
			delete(counters, name)
		}
	}
	return counters
}

// How drivers mark the counters of the port does not matter; what the kernel
// counts counts, too.
func TestDriverCountersJoin(t *testing.T) {
	for _, c := range []struct {
		name string
		want LinkCounters
	}{
		{"rx_crc_errors", LinkCounters{CRC: 5, RxMissed: 1}},                         // igb
		{"port.rx_crc_errors", LinkCounters{CRC: 5, RxMissed: 1}},                    // i40e
		{"rx_crc_errors.nic", LinkCounters{CRC: 5, RxMissed: 1}},                     // ice
		{"rx_fcs_err_frames", LinkCounters{CRC: 5, RxMissed: 1}},                     // bnxt_en
		{"tx_late_collisions", LinkCounters{CRC: 3, RxMissed: 1, LateCollisions: 5}}, // tg3
		{"rx_out_of_buffer", LinkCounters{CRC: 3, RxMissed: 5}},                      // mlx5
		{"rx-0.rx_crc_errors", LinkCounters{CRC: 3, RxMissed: 1}},                    // no driver's
	} {
		got := LinkCounters{CRC: 3, RxMissed: 1}
		got.addDriver(map[string]uint64{c.name: 5, "rx_bytes": 1})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	var got LinkCounters
	got.addDriver(map[string]uint64{"rx_crc_errors": 1<<64 - 1})
	if got.CRC != 1<<63-1 {
		t.Errorf("a counter of -1 becomes %d", got.CRC)
	}
}
