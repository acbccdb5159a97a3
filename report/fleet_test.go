package report

import (
	"strings"
	"testing"

	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/fleet/pattern"
	"github.com/fullbore/fullbore/fleet/sick"
	"github.com/fullbore/fullbore/internal/golden"
)

func fleetText(r *fleet.Result) string {
	var b strings.Builder
	Fleet(&b, r)
	return b.String()
}

// TestFleet: what people read of an incast, and of a mesh with what is sick in it.
func TestFleet(t *testing.T) {
	incast := &fleet.Result{
		Pattern: "incast", Hosts: []string{"client1", "client2", "client3", "server"},
		Rounds: []fleet.Round{{
			Flows: []fleet.Flow{
				{From: 0, To: 3, Goodput: 606e6, Share: 0.632, LoadedRTT: 1.31, Resent: 0},
				{From: 1, To: 3, Goodput: 353e6, Share: 0.368, LoadedRTT: 1.29, Repeated: 0.0012, Resent: 31},
				{From: 2, To: 3, Error: "connection refused\x1b[31m"},
			},
			Together: &fleet.Together{Goodput: 959e6, Seconds: 4.99, Fairness: 0.935, FirstDone: 6.01, LastDone: 6.02},
			Skew:     &fleet.Skew{P50: 0.042, P99: 0.31, Bound: 0.42, Claimed: true},
		}},
	}
	golden.Check(t, "fleet-incast.txt", fleetText(incast))

	mesh := &fleet.Result{
		Pattern: "pairs", Hosts: []string{"node1", "node2", "node3", "sick"},
		Mesh: &fleet.Mesh{
			Goodput:  sick.Matrix{{0, 96e6, 96e6, 35e6}, {95e6, 0, 42e6, 41e6}, {96e6, 96e6, 0, 0}, {95e6, 96e6, 94e6, 0}},
			LeastRTT: sick.NewMatrix(4),
			Repeated: sick.Matrix{{0, 0, 0, 0.011}, {0, 0, 0.0095, 0.012}, {0, 0, 0, 0.01}, {0, 0, 0, 0}},
		},
		Sick: &sick.Found{
			Hosts: []sick.Host{{Host: 3, Ways: sick.Receives, Median: 38e6, Usual: 96e6, Outlier: 60}},
			Links: []sick.Link{{Flow: pattern.Flow{From: 1, To: 2}, Goodput: 42e6, Usual: 95e6, Outlier: 40}},
		},
		Causes: []fleet.Cause{
			{Flow: pattern.Flow{From: 0, To: 3}, Finding: &job.Finding{Cause: "random-loss", Confidence: 0.93, Says: "1.0 % of the segments are lost at any rate.\x1b[2J"}},
			{Flow: pattern.Flow{From: 1, To: 2}, Error: "node2 went away"},
		},
		Rounds: []fleet.Round{{Flows: []fleet.Flow{{From: 2, To: 3, Error: "sick went away"}}, Skew: &fleet.Skew{P50: 1, P99: 2, Bound: 7}}},
	}
	golden.Check(t, "fleet-mesh.txt", fleetText(mesh))

	golden.Check(t, "fleet-rehearsal.txt", fleetText(&fleet.Result{
		Pattern: fleet.Rehearsal, Hosts: []string{"node1", "node2", "node3"},
		Rounds: []fleet.Round{{Flows: []fleet.Flow{{From: 0, To: 0}, {From: 1, To: 1}, {From: 2, To: 2, Error: "its agent is not connected"}}, Skew: &fleet.Skew{P50: 0.1, P99: 0.4, Bound: 0.9, Claimed: true}}},
	}))

	diagnosed := &fleet.Result{Pattern: "pairs", Hosts: mesh.Hosts, LeftOut: []fleet.LeftOut{{Host: "node9", Why: "not connected"}}}
	for from := range diagnosed.Hosts {
		for to := range diagnosed.Hosts {
			if from != to {
				diagnosed.Causes = append(diagnosed.Causes, fleet.Cause{Flow: pattern.Flow{From: from, To: to}, Finding: &job.Finding{Cause: "path-capacity", Confidence: 0.95, Says: "It carries what the path can.", Goodput: 94e6}})
			}
		}
	}
	diagnosed.Causes[2].Finding = &job.Finding{Cause: "random-loss", Confidence: 0.93, Says: "Packets are lost at random.", Goodput: 35e6}
	diagnosed.Causes[5] = fleet.Cause{Flow: diagnosed.Causes[5].Flow, Error: "node2 went away"}
	golden.Check(t, "fleet-diagnosed.txt", fleetText(diagnosed))

	tuned := &fleet.Result{
		Pattern: "incast", Kind: job.Tuning, Hosts: []string{"node1", "node2", "store"},
		Rounds:  []fleet.Round{{Flows: []fleet.Flow{{From: 0, To: 2, Goodput: 930e6}}}, {Flows: []fleet.Flow{{From: 1, To: 2, Error: "store gives no leave to be tuned"}}}},
		Reports: []fleet.Report{{Flow: pattern.Flow{From: 0, To: 2}, Report: &job.Report{Goodput: 930e6, Says: []string{"930 Mb/s instead of 29.8 Mb/s\x1b[2J", "store: net.ipv4.tcp_rmem is 4096 131072 33554432 instead of 4096 65536 262144"}}}},
	}
	golden.Check(t, "fleet-tuned.txt", fleetText(tuned))

	mesh.Sick = &sick.Found{}
	if text := fleetText(mesh); !strings.Contains(text, "none: no host and no link") {
		t.Errorf("a sound mesh:\n%s", text)
	}
	for len(mesh.Hosts) < 20 {
		mesh.Hosts = append(mesh.Hosts, "more")
	}
	if text := fleetText(mesh); !strings.Contains(text, "20 hosts: --json has") {
		t.Errorf("a large mesh:\n%s", text)
	}
}
