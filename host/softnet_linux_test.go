package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSoftnet(t *testing.T) {
	const text = "0003bfa7 00000001 0000000a 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n" +
		"00049c15 00000002 ffffffff 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001 00000000 00000000\n"
	got := map[string]int64{}
	if err := parseSoftnet(text, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int64{"Softnet.Dropped": 3, "Softnet.TimeSqueeze": 0xffffffff + 10}, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"1 2\n", "1 x 3\n", "1 2 100000000\n"} {
		if err := parseSoftnet(bad, map[string]int64{}); err == nil {
			t.Errorf("%q was understood", bad)
		}
	}
	counters, err := Counters()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := counters["Softnet.TimeSqueeze"]; !ok {
		t.Error("Counters does not tell of them")
	}
}
