package html

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/fleet/pattern"
	"github.com/fullbore/fullbore/fleet/sick"
	"github.com/fullbore/fullbore/record"
)

// fleetRun is a kept run of many hosts.
func fleetRun(t testing.TB, from, to string, r any, args ...string) *record.Run {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return &record.Run{
		Header: record.Header{Schema: record.Schema, ID: "019aa0f1-3c00-7000-8000-000000000009", Kind: record.Fleet, State: record.Done, Started: began, Ended: began.Add(79 * time.Second),
			Command: append([]string{"fleet", "run"}, args...), Version: "0.9.0", From: from, To: to, Goodput: 96e6, Tags: []string{}},
		Document: text,
		Events:   []record.Event{{Kind: record.Phase, Text: "round 1 of 7: 4 flows at once"}, {At: 7 * time.Second, Kind: record.Result, Text: "383 Mb/s together"}},
	}
}

// meshRun is one of eight hosts with a sick host and a sick way.
func meshRun(t testing.TB) *record.Run {
	t.Helper()
	const hosts = 8
	r := &fleet.Result{Schema: fleet.Schema, Pattern: "pairs", Streams: 1, Seconds: 1,
		Mesh: &fleet.Mesh{Goodput: sick.NewMatrix(hosts), LeastRTT: sick.NewMatrix(hosts), Repeated: sick.NewMatrix(hosts)},
		Sick: &sick.Found{
			Hosts: []sick.Host{{Host: 5, Ways: sick.Both, Median: 40e6, Usual: 96e6, Outlier: 80}},
			Links: []sick.Link{{Flow: pattern.Flow{From: 1, To: 2}, Goodput: 45e6, Usual: 96e6, Outlier: 70}},
		},
		Causes: []fleet.Cause{
			{Flow: pattern.Flow{From: 5, To: 0}, Finding: &job.Finding{Cause: "random-loss", Confidence: 0.95, Says: "1 % of the segments are lost, whatever the rate is.", Goodput: 41e6}},
			{Flow: pattern.Flow{From: 1, To: 2}, Error: "host-2.lab.example went away"},
		},
		Rounds:  []fleet.Round{{Flows: []fleet.Flow{{From: 0, To: 1, Goodput: 96e6}}, Skew: &fleet.Skew{P50: 0.2, P99: 1.1, Bound: 2.2, Claimed: true}}},
		LeftOut: []fleet.LeftOut{{Host: "host-9.lab.example", Why: "not connected"}},
	}
	for i := range hosts {
		r.Hosts = append(r.Hosts, "host-"+string(rune('1'+i))+".lab.example")
		for j := range hosts {
			switch {
			case i == j:
				continue
			case i == 5 || j == 5:
				r.Mesh.Goodput[i][j], r.Mesh.Repeated[i][j] = 40e6, 0.01
			case i == 1 && j == 2:
				r.Mesh.Goodput[i][j], r.Mesh.Repeated[i][j] = 45e6, 0.01
			default:
				r.Mesh.Goodput[i][j] = 96e6
			}
		}
	}
	run := fleetRun(t, "8 hosts", "each other", r, "--hub", "broker.lab.example:5202", "-t", "1s")
	run.Shifts = []record.Shift{{Experiment: "mesh", Kind: record.ShiftLink, From: "host-2.lab.example", To: "host-3.lab.example", Since: run.Started.Add(-6 * time.Hour), Run: run.ID, Found: run.Started, Before: 96e6, After: 45e6}}
	run.Flows = []record.Flow{{Run: run.ID, From: "host-10.lab.example", To: "host-1.lab.example", Kind: "transfer", Data: json.RawMessage(`{"error":"host-10.lab.example went away"}`)}}
	return run
}

// incastRun is one of three hosts that send to one.
func incastRun(t testing.TB) *record.Run {
	t.Helper()
	return fleetRun(t, "3 hosts", "server", &fleet.Result{Schema: fleet.Schema, Pattern: "incast", Hosts: []string{"client1", "client2", "client3", "server"}, Streams: 2, Seconds: 5,
		Rounds: []fleet.Round{{
			Flows:    []fleet.Flow{{From: 0, To: 3, Goodput: 606e6, Share: 0.632}, {From: 1, To: 3, Goodput: 353e6, Share: 0.368}, {From: 2, To: 3, Error: "connection refused"}},
			Together: &fleet.Together{Goodput: 959e6, Seconds: 4.99, Fairness: 0.935, FirstDone: 6.01, LastDone: 6.02},
			Skew:     &fleet.Skew{P50: 0.042, P99: 0.31, Bound: 0.42, Claimed: true},
		}}}, "--hosts", "/home/ann/hosts.txt", "--pattern", "incast", "--at", "server")
}

// TestOddFleets: documents that say nothing, or anything, make a page all the same.
func TestOddFleets(t *testing.T) {
	for _, document := range []string{`{}`, `null`, `[]`, `{"schema":"fullbore/fleet/1"}`, `{"schema":"fullbore/fleet/9","hosts":["a"]}`,
		`{"schema":"fullbore/fleet/1","hosts":["a"],"mesh":{"goodput_bps":[[1,2],[3]]}}`, `{"schema":"fullbore/fleet/1","hosts":["a","b"],"rounds":[{"flows":[{"from":-1,"to":9}]},{"together":{}}]}`,
		`{"schema":"fullbore/fleet/1","hosts":["<script>","b"],"rounds":[{"flows":[{"from":0,"to":1,"goodput_bps":1e300,"error":"<b>"}],"together":{"goodput_bps":-1}}],"sick":{"hosts":[{"host":5}]}}`,
		`{"schema":"fullbore/fleet/1","hosts":["a","b"],"mesh":{"goodput_bps":[[0,1e308],[-1,0]],"least_rtt_ms":[[0,0],[0,0]],"repeated_share":[[0,9],[0,0]]},"sick":{"hosts":[{"host":1,"ways":"?"}],"links":[{"from":0,"to":1}]},"causes":[{"from":0,"to":1}]}`,
	} {
		run := fleetRun(t, "2 hosts", "each other", json.RawMessage(document))
		audit(t, written(t, run))
		if page := string(written(t, run)); strings.Contains(page, strings.Repeat("0", 40)) {
			t.Errorf("%s: a number is written out", document)
		}
	}
}

// TestRedactFleet: names of hosts are redacted, that of the hub too; a count of hosts is no name.
func TestRedactFleet(t *testing.T) {
	all, err := Redact([]*record.Run{meshRun(t), incastRun(t)})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(all)
	if err != nil || strings.Contains(string(text), "lab.example") || strings.Contains(string(text), "client1") || strings.Contains(string(text), "ann") {
		t.Errorf("%v: %s", err, text)
	}
	for _, stays := range []string{`"from":"8 hosts"`, `"to":"each other"`, `"pattern":"incast"`, `["fleet","run","--hub"`} {
		if !strings.Contains(string(text), stays) {
			t.Errorf("%s does not stay in %s", stays, text)
		}
	}
}
