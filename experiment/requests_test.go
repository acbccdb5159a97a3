package experiment

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/unit"
)

// Runs of requests are repeated as transfers are: by what their requests a second are, with
// the same interval.
func TestRequestsAreRepeatedAsTransfersAre(t *testing.T) {
	var requests []Requests
	var transfers []Run
	for _, iops := range []float64{1000, 1010, 995, 1003} {
		requests = append(requests, NewRequests(time.Now(), &nfs.Document{IOPS: iops, Goodput: 32768 * iops, Latency: nfs.LatencySummary{P50: 1000 / iops, P99: 2000 / iops}}))
		transfers = append(transfers, Run{Goodput: unit.Rate(iops)})
		for _, p := range []Repetition{{}, {Times: 3}, {UntilCI: 0.02}, {UntilCI: 0.001}} {
			if a, b := p.EnoughRequests(requests), p.Enough(transfers); a != b {
				t.Errorf("after %d runs of %+v: enough is %v, of transfers %v", len(requests), p, a, b)
			}
		}
	}
	p := Repetition{UntilCI: 0.02}
	r, same := p.RepeatRequests(requests), p.Repeat(transfers)
	if r.IOPS.Median != same.Goodput.Median || *r.IOPS.Interval != *same.Goodput.Interval || r.Runs != 4 || !*r.Settled {
		t.Errorf("%+v, of transfers %+v", r, same)
	}
	if r.Goodput == nil || r.Goodput.Median != 32768*r.IOPS.Median || r.Latency.P50.Median < 0.99 || r.Latency.P99.Median < 1.98 {
		t.Errorf("%+v", r)
	}
	if p.RepeatRequests(nil) != nil {
		t.Error("no runs have a summary")
	}
}

// What moves no data has no goodput.
func TestRequestsWithoutData(t *testing.T) {
	text, err := json.Marshal(Repetition{Times: 2}.RepeatRequests([]Requests{{IOPS: 10}, {IOPS: 11}}))
	if err != nil || strings.Contains(string(text), "goodput") {
		t.Errorf("%s, %v", text, err)
	}
}
