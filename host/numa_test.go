package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseCPUs(t *testing.T) {
	for list, want := range map[string][]int{
		"0":       {0},
		"0,2-5":   {0, 2, 3, 4, 5},
		"5, 3":    {5, 3},
		"1-3,2-4": {1, 2, 3, 4},
		"1023":    {1023},
	} {
		got, err := ParseCPUs(list)
		if err != nil {
			t.Errorf("%q: %v", list, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", list, diff)
		}
	}
	for _, list := range []string{"", ",", "0,", "a", "-1", "1-", "3-1", "1-2-3", "1024", "0-99999999999999999999", "0x1", "+1"} {
		if got, err := ParseCPUs(list); err == nil {
			t.Errorf("%q was taken for %v", list, got)
		}
	}
}

func FuzzParseCPUs(f *testing.F) {
	f.Add("0,2-5")
	f.Fuzz(func(t *testing.T, list string) {
		cpus, err := ParseCPUs(list)
		if err == nil && (len(cpus) == 0 || len(cpus) > maxCPU+1) {
			t.Errorf("%q: %d CPUs", list, len(cpus))
		}
	})
}
