package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/peer/iperf3/document"
	"github.com/fullbore/fullbore/unit"
)

// recorded is a transfer of two streams in each direction, 100 Mb/s each, half a
// second of it omitted, with a row a second.
func recorded(protocol bulk.Protocol, direction bulk.Direction) document.Record {
	spec := bulk.Spec{Protocol: protocol, Direction: direction, Streams: 2, Duration: 1500 * time.Millisecond, Omit: 500 * time.Millisecond}
	r := document.Record{
		Result: &bulk.Result{Spec: spec}, Host: "b.example", Port: 5201, Began: time.Unix(1_795_228_995, 500e6),
		Rows: document.NewRows(spec, time.Second),
	}
	for tick := range 20 {
		at := time.Duration(tick+1) * 100 * time.Millisecond
		p := bulk.Progress{At: at}
		for _, s := range carried(spec, at, false) {
			p.Streams = append(p.Streams, bulk.Look{ID: s.ID, Sender: s.Sender, Sample: s.Samples[0]})
		}
		r.Rows.Add(p)
	}
	cpu := bulk.CPU{Elapsed: spec.Duration, User: 50 * time.Millisecond, System: 750 * time.Millisecond}
	r.Result.Client = bulk.End{Host: "a", Streams: carried(spec, 2*time.Second, false), CPU: cpu}
	r.Result.Server = bulk.End{Host: "b", Streams: carried(spec, 2*time.Second, true), CPU: cpu}
	return r
}

// carried are the streams of one end at a moment, with their latest sample.
func carried(spec bulk.Spec, at time.Duration, server bool) []bulk.Stream {
	var all []bulk.Stream
	bytes := func(d time.Duration) int64 { return int64((100 * unit.Mbps).BytesIn(d)) }
	for _, d := range spec.Directions() {
		for range spec.Streams {
			s := bulk.Stream{
				ID: len(all) + 1, Sender: (d == bulk.Forward) != server, Bytes: bytes(at - spec.Omit), Omitted: bytes(spec.Omit),
				Began: spec.Omit, Elapsed: at - spec.Omit, Retransmits: -1,
			}
			sample := bulk.Sample{At: at, Omitted: at < spec.Omit, Bytes: bytes(at)}
			switch {
			case spec.Protocol == bulk.UDP:
				s.Datagrams = &bulk.Datagrams{Packets: bytes(at-spec.Omit) / 1250, Omitted: bulk.Counts{Packets: bytes(spec.Omit) / 1250}}
				if at < spec.Omit {
					s.Datagrams = &bulk.Datagrams{Omitted: bulk.Counts{Packets: bytes(at) / 1250}}
				}
				if !s.Sender {
					s.Datagrams.Lost, s.Datagrams.OutOfOrder, s.Datagrams.Jitter = s.Datagrams.Packets/100, 2, 0.000_25
				}
				sample.UDP = s.Datagrams
			case s.Sender:
				s.Retransmits, s.Peaks = 3, bulk.Peaks{MaxSndCwnd: 1 << 20, MaxSndWnd: 3 << 20, MinRTT: 20_000, MeanRTT: 22_000, MaxRTT: 25_000}
				sample.TCP = bulk.TCPInfo{Length: 280, SndMSS: 1448, SndCwnd: 500, SndWnd: 3 << 20, RTT: 21_000, RTTVar: 300, PMTU: 1500,
					TotalRetrans: uint32(at / (500 * time.Millisecond)), ReordSeen: 1}
			}
			s.Samples = []bulk.Sample{sample}
			all = append(all, s)
		}
	}
	return all
}

func TestCSV(t *testing.T) {
	for _, protocol := range []bulk.Protocol{bulk.TCP, bulk.UDP} {
		var out bytes.Buffer
		if err := CSV(&out, recorded(protocol, bulk.Both)); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, string(protocol)+".csv", out.Bytes())
	}
}

// Every row has all columns, what must be a number is one, and the sums are those
// of the streams.
func TestCSVAddsUp(t *testing.T) {
	for _, direction := range []bulk.Direction{bulk.Forward, bulk.Reverse, bulk.Both} {
		var out bytes.Buffer
		if err := CSV(&out, recorded(bulk.TCP, direction)); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&out).ReadAll() // also checks that all are of one length
		if err != nil {
			t.Fatal(err)
		}
		sums, streams := map[string]int64{}, map[string]int64{}
		column := map[string]int{}
		for i, name := range rows[0] {
			column[name] = i
		}
		for _, row := range rows[1:] {
			bytes, err := strconv.ParseInt(row[column["bytes"]], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			key := row[column["row"]] + row[column["direction"]] + row[column["counted_by"]] + row[column["omitted"]] + row[column["start_s"]]
			if row[column["stream"]] == "sum" {
				sums[key] += bytes
			} else {
				streams[key] += bytes
			}
		}
		if len(sums) == 0 {
			t.Fatalf("%s: there are no sums", direction)
		}
		for key, sum := range sums {
			if sum != streams[key] || sum == 0 {
				t.Errorf("%s: the sum of %s is %d, its streams have %d", direction, key, sum, streams[key])
			}
		}
	}
}

// What nobody knows has no cell, and what never began no row.
func TestCSVOfLittle(t *testing.T) {
	r := recorded(bulk.TCP, bulk.Forward)
	r.Rows, r.Result.Server = nil, bulk.End{}
	for i := range r.Result.Client.Streams {
		s := &r.Result.Client.Streams[i]
		s.Retransmits, s.Peaks, s.Samples = -1, bulk.Peaks{}, nil
	}
	var out bytes.Buffer
	for _, record := range []document.Record{r, {Failed: errors.New("no answer")}} {
		if err := CSV(&out, record); err != nil {
			t.Fatal(err)
		}
	}
	golden.Check(t, "little.csv", out.Bytes())
}

// closed is a pipe whose reader went away.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestWritersFail(t *testing.T) {
	if err := CSV(closed{}, recorded(bulk.TCP, bulk.Forward)); err == nil {
		t.Error("CSV is written to a closed pipe")
	}
	if err := Prometheus(closed{}, recorded(bulk.TCP, bulk.Forward)); err == nil {
		t.Error("metrics are written to a closed pipe")
	}
}
