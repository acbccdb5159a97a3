package pattern

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// met counts how often each host sends to each other.
func met(t interface{ Errorf(string, ...any) }, rounds []Round, hosts int) map[Flow]int {
	count := map[Flow]int{}
	for _, round := range rounds {
		for _, f := range round {
			if f.From == f.To || f.From < 0 || f.To < 0 || f.From >= hosts || f.To >= hosts {
				t.Errorf("%+v among %d hosts", f, hosts)
			}
			count[f]++
		}
	}
	return count
}

// TestPairs: each host meets each other once each way, in no more rounds than that takes, and is
// never in two pairs at once.
func TestPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 60).Draw(t, "hosts")
		rounds, err := mustNamed("pairs").Rounds(n, 0)
		if err != nil {
			t.Fatal(err)
		}
		if want := 2 * (n - 1 + n%2); len(rounds) != want {
			t.Errorf("%d rounds for %d hosts, want %d", len(rounds), n, want)
		}
		count := met(t, rounds, n)
		if len(count) != n*(n-1) {
			t.Errorf("%d of %d ways", len(count), n*(n-1))
		}
		for f, times := range count {
			if times != 1 {
				t.Errorf("%+v %d times", f, times)
			}
		}
		for i, round := range rounds {
			busy := map[int]bool{}
			for _, f := range round {
				if busy[f.From] || busy[f.To] {
					t.Errorf("round %d: %+v", i, round)
				}
				busy[f.From], busy[f.To] = true, true
			}
		}
	})
}

func mustNamed(name string) Pattern {
	p, err := Named(name)
	if err != nil {
		panic(err)
	}
	return p
}

// TestPatterns: what each is for three hosts.
func TestPatterns(t *testing.T) {
	for name, want := range map[string][]Round{
		"shift":   {{{0, 1}, {1, 2}, {2, 0}}, {{0, 2}, {1, 0}, {2, 1}}},
		"incast":  {{{0, 1}, {2, 1}}},
		"fan-out": {{{1, 0}, {1, 2}}},
		"all":     {{{0, 1}, {1, 2}, {2, 0}, {0, 2}, {1, 0}, {2, 1}}},
	} {
		got, err := mustNamed(name).Rounds(3, 1)
		if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
	for _, p := range All {
		if p.Says == "" {
			t.Errorf("%s says nothing", p.Name)
		}
		if _, err := p.Rounds(1, 0); err == nil {
			t.Errorf("%s with one host", p.Name)
		}
	}
	if _, err := mustNamed("incast").Rounds(3, 3); err == nil {
		t.Error("incast to a host that is not there")
	}
	if _, err := Named("pair"); err == nil || !strings.Contains(err.Error(), "did you mean pairs?") {
		t.Errorf("%v", err)
	}
}

// TestApart: each flow is there once, no host is in two at once, and no more run at a time than may.
func TestApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, most := rapid.IntRange(2, 40).Draw(t, "hosts"), rapid.IntRange(0, 9).Draw(t, "most")
		count := map[Flow]int{}
		var flows []Flow
		for range rapid.IntRange(0, 50).Draw(t, "flows") {
			from := rapid.IntRange(0, n-1).Draw(t, "from")
			f := Flow{from, (from + rapid.IntRange(1, n-1).Draw(t, "by")) % n}
			flows = append(flows, f)
			count[f]++
		}
		for _, round := range Apart(flows, most) {
			if len(round) == 0 || len(round) > max(1, most) {
				t.Errorf("%d flows at once, at most %d", len(round), most)
			}
			busy := map[int]bool{}
			for _, f := range round {
				if count[f]--; busy[f.From] || busy[f.To] {
					t.Errorf("%v", round)
				}
				busy[f.From], busy[f.To] = true, true
			}
		}
		for f, left := range count {
			if left != 0 {
				t.Errorf("%+v %d times too few", f, left)
			}
		}
	})
}

// TestList: rounds that somebody wrote down, in the order of their first lines; what is wrong is said with
// the line that it is in.
func TestList(t *testing.T) {
	hosts := []string{"node1", "node2", "server"}
	p, err := List(strings.NewReader("# who to whom\na node1 server\nb server node1 # back\n\na node2 server\n"), hosts)
	if err != nil {
		t.Fatal(err)
	}
	rounds, err := p.Rounds(3, 0)
	if err != nil || len(rounds) != 2 || !slices.Equal(rounds[0], Round{{0, 2}, {1, 2}}) || !slices.Equal(rounds[1], Round{{2, 0}}) || p.Mesh || p.Name != Listed {
		t.Errorf("%v, %v", rounds, err)
	}
	for text, want := range map[string]string{
		"":                               "no line with ROUND FROM TO",
		"# nothing\n":                    "no line with ROUND FROM TO",
		"a node1\n":                      "line 1: a line has ROUND FROM TO, not 2 words",
		"a node1 server\na node1 serv\n": "line 2: there is no host serv (did you mean server?)",
		"a node1 node1\n":                "line 1: node1 would send to itself",
		"a node1 server\na node1 server": "line 2: node1 sends to server in this round already",
		strings.Repeat("x", 100_000):     "token too long",
	} {
		if _, err := List(strings.NewReader(text), hosts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	var many strings.Builder
	for i := range mostFlows + 1 {
		fmt.Fprintf(&many, "%d node1 server\n", i)
	}
	if _, err := List(strings.NewReader(many.String()), hosts); err == nil {
		t.Error("more flows than can be")
	}
}
