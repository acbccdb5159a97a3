package report

import (
	"bytes"
	"testing"
	"time"

	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// In lists and trends a run about a file has its requests a second, and their payload
// where they have one.
func TestRunsWithRequests(t *testing.T) {
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.Local)
	run := func(i int, kind record.Kind, iops float64, goodput unit.Rate) record.Header {
		return record.Header{ID: "019aa0f1-3c00-7000-8000-00000000000" + string(rune('0'+i)), Kind: kind, State: record.Done, Started: at.Add(time.Duration(i) * time.Hour), From: "filer", To: "here", IOPS: iops, Goodput: goodput}
	}
	runs := []record.Header{run(1, record.NFSTest, 1020, 33.4e6), run(2, record.NFSTest, 234_000, 7.67e9), run(3, record.NFSTest, 9.5, 0), run(4, record.Test, 0, 940e6)}
	var out bytes.Buffer
	Runs(&out, runs)
	out.WriteString("\n")
	Trend(&out, &record.Trend{From: "filer", To: "here", Kind: record.NFSTest, Runs: runs[:2], Levels: []record.Level{
		{Since: runs[0].Started, Runs: 1, IOPS: stat.Interval{Typical: 1020}},
		{Since: runs[1].Started, Runs: 1, IOPS: stat.Interval{Typical: 234_000, Low: 230_000, High: 238_000}},
	}})
	golden.Check(t, "requests.txt", out.Bytes())
}
