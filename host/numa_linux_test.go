package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNodeCPUs(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{
		"sys/class/net/far/device/numa_node":     "1\n",
		"sys/class/net/one/device/numa_node":     "-1\n",
		"sys/class/net/odd/device/numa_node":     "2\n", // a node without a list
		"sys/class/net/wrong/device/numa_node":   "north\n",
		"sys/class/net/virtual/address":          "00:00:00:00:00:00\n",
		"sys/devices/system/node/node1/cpulist":  "8-9,12\n",
		"sys/devices/system/node/node0/cpulist":  "0-7\n",
		"sys/devices/system/node/node1/distance": "21 10\n",
	} {
		full := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for nic, test := range map[string]struct {
		node  int
		cpus  []int
		fails bool
	}{
		"far":     {node: 1, cpus: []int{8, 9, 12}},
		"one":     {node: -1},
		"virtual": {node: -1},
		"absent":  {node: -1},
		"odd":     {node: -1, fails: true},
		"wrong":   {node: -1, fails: true},
		"../far":  {node: -1, fails: true},
	} {
		node, cpus, err := root(dir).nodeCPUs(nic)
		if node != test.node || (err != nil) != test.fails {
			t.Errorf("%s: node %d, %v", nic, node, err)
		}
		if diff := cmp.Diff(test.cpus, cpus); diff != "" {
			t.Errorf("%s (-want +got):\n%s", nic, diff)
		}
	}
}
