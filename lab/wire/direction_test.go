package wire

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/unit"
)

func TestCheckNamesTheField(t *testing.T) {
	for _, tt := range []struct {
		want string // part of the error; "": none
		d    Direction
	}{
		{"", Direction{}},
		{"", Direction{Rate: unit.Gbps, Delay: time.Second, Queue: Queue{Packets: 1}, MSSClamp: 1200, Strip: []string{"sack", "wscale"}}},
		{"rate -1", Direction{Rate: -1}},
		{"rate NaN", Direction{Rate: unit.Rate(math.NaN())}},
		{"loss 1.1", Direction{Loss: Loss{Random: 1.1}}},
		{"corrupt NaN", Direction{Corrupt: math.NaN()}},
		{"gilbert r is 0", Direction{Loss: Loss{Gilbert: Gilbert{P: 0.1}}}},
		{"delay -1s", Direction{Delay: -time.Second}},
		{"jitter 2ms is above the delay", Direction{Delay: time.Millisecond, Jitter: 2 * time.Millisecond}},
		{"reorder by is 0", Direction{Reorder: Reorder{Share: 0.1}}},
		{"policer burst 1000", Direction{Policer: Policer{Rate: unit.Mbps, Burst: 1000}}},
		{"queue of 1000 bytes", Direction{Rate: unit.Mbps, Queue: Queue{Bytes: 1000}}},
		{"ecn needs a rate", Direction{ECN: ECN{AbovePackets: 5}}},
		{"mss clamp 40", Direction{MSSClamp: 40}},
		{`strip "mss" is not one of sack, timestamps, wscale`, Direction{Strip: []string{"mss"}}},
	} {
		err := tt.d.Check(1500)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%+v: %v", tt.d, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
}
