package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/lab"
)

// illness is what a port or a way may suffer from, and what a diagnosis may call it.
type illness struct {
	yaml   string
	causes []string
}

// ill draws one. A narrower link is full and nothing else: that it is narrow is what the verdict says. Of a
// port it is the sender's own queue, which is what the lab makes it of.
func ill(r *rand.Rand) illness {
	switch r.IntN(3) {
	case 0:
		return illness{fmt.Sprintf("rate: 100mbit, loss: %.2f%%", 0.6+1.9*r.Float64()), []string{diagnose.RandomLoss}}
	case 1:
		rate := 20 + r.IntN(60)
		return illness{fmt.Sprintf("rate: 100mbit, policer: {rate: %dmbit, burst: 64KB}", rate), []string{diagnose.Policer}}
	}
	return illness{fmt.Sprintf("rate: %dmbit", 20+r.IntN(60)), []string{diagnose.Healthy, diagnose.PathCapacity, diagnose.PacingCap}}
}

// drawnMesh is a variant of mesh-8: which host and which way are ill, and of what, is drawn, and so is how
// far apart the hosts are.
type drawnMesh struct {
	yaml     string
	host     string
	from, to string
	hostHas  illness
	wayHas   illness
}

func drawMesh(seed uint64) drawnMesh {
	r := rand.New(rand.NewPCG(seed, 8))
	order := r.Perm(8)
	name := func(i int) string { return fmt.Sprintf("host%d", order[i]+1) }
	m := drawnMesh{host: name(0), from: name(1), to: name(2), hostHas: ill(r), wayHas: ill(r)}
	common := fmt.Sprintf("delay: %dus, queue: 128KB", 200+r.IntN(1800))
	var text strings.Builder
	fmt.Fprintf(&text, "name: drawn-%d\nnetwork:\n  mtu: 1500\n  switches: [{name: fabric}]\n  hosts:\n", seed)
	for i := range 8 {
		host, port := fmt.Sprintf("host%d", i+1), "rate: 100mbit"
		if host == m.host {
			port = m.hostHas.yaml + fmt.Sprintf(", seed: %d", seed)
		}
		fmt.Fprintf(&text, "    - {name: %s, port: {%s, %s}, congestion: cubic}\n", host, port, common)
	}
	fmt.Fprintf(&text, "  ways: [{from: %s, to: %s, link: {%s, queue: 128KB, seed: %d}}]\n", m.from, m.to, m.wayHas.yaml, seed+1)
	m.yaml = text.String()
	return m
}

// TestIntegrationMeshes: in meshes that are drawn the host and the way that are ill are named, with what they
// suffer from, and nobody else is. FULLBORE_MESHES of them (make meshes, docs/fleet.md); without that, that
// they can be run.
func TestIntegrationMeshes(t *testing.T) {
	count, _ := strconv.Atoi(os.Getenv("FULLBORE_MESHES"))
	right := 0
	for seed := uint64(1); seed <= uint64(max(count, 20)); seed++ {
		m := drawMesh(seed)
		file := scenarioFile(t, m.yaml)
		if s, err := lab.LoadAny(file); err != nil || s.Network == nil {
			t.Fatalf("%v:\n%s", err, m.yaml)
		}
		if seed > uint64(count) {
			continue
		}
		r := runFleet(t, "--lab", file, "-t", "1s", "-O", "500ms")
		var wrong []string
		if len(r.Sick.Hosts) != 1 || r.Host(r.Sick.Hosts[0].Host) != m.host {
			wrong = append(wrong, fmt.Sprintf("the host is not named, or others are: %+v", r.Sick.Hosts))
		}
		if len(r.Sick.Links) != 1 || r.Host(r.Sick.Links[0].From) != m.from || r.Host(r.Sick.Links[0].To) != m.to {
			wrong = append(wrong, fmt.Sprintf("the way is not named, or others are: %+v", r.Sick.Links))
		}
		for i, want := range []illness{m.hostHas, m.wayHas} {
			if i >= len(r.Causes) || r.Causes[i].Finding == nil || !slices.Contains(want.causes, r.Causes[i].Cause) {
				said := "none"
				if i < len(r.Causes) {
					said = r.Causes[i].String()
				}
				wrong = append(wrong, fmt.Sprintf("cause %d is not %v: %s", i+1, want.causes, said))
			}
		}
		came := "right"
		if len(wrong) == 0 {
			right++
		} else {
			came = strings.Join(wrong, "; ")
		}
		t.Logf("%d: %s has {%s}, %s to %s {%s}: %s", seed, m.host, m.hostHas.yaml, m.from, m.to, m.wayHas.yaml, came)
	}
	t.Logf("%d of %d are right", right, count)
	if right < count-count/20 {
		t.Errorf("%d of %d are right", right, count)
	}
}
