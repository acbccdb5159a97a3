package pattern

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/fullbore/fullbore/near"
)

// Listed is the name of the pattern that somebody wrote down.
const Listed = "list"

// mostFlows is how many a list may have: those of 300 hosts, each with each.
const mostFlows = 100_000

// List reads a pattern: a line for each flow, ROUND FROM TO, with the names of hosts. Flows of one round,
// whatever that is called, run together; rounds follow each other in the order of their first lines. What
// follows a # is not read. Errors name the line.
func List(from io.Reader, hosts []string) (Pattern, error) {
	type listed struct {
		round int
		flow  Flow
	}
	var rounds []Round
	places, seen, known := map[string]int{}, map[listed]bool{}, map[string]int{}
	for i, name := range hosts {
		known[name] = i
	}
	lines := bufio.NewScanner(from)
	for number := 1; lines.Scan(); number++ {
		bad := func(format string, args ...any) (Pattern, error) {
			return Pattern{}, fmt.Errorf("line %d: %w", number, fmt.Errorf(format, args...))
		}
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		if len(words) != 3 {
			return bad("a line has ROUND FROM TO, not %d words", len(words))
		}
		var ends [2]int
		for i, name := range words[1:] {
			var ok bool
			if ends[i], ok = known[name]; !ok {
				return bad("there is no host %s%s", name, near.DidYouMean(name, hosts))
			}
		}
		flow := Flow{ends[0], ends[1]}
		round, ok := places[words[0]]
		if !ok {
			round = len(rounds)
			places[words[0]], rounds = round, append(rounds, nil)
		}
		switch {
		case flow.From == flow.To:
			return bad("%s would send to itself", words[1])
		case seen[listed{round, flow}]:
			return bad("%s sends to %s in this round already: more TCP streams of a flow are --parallel", words[1], words[2])
		}
		if len(seen) == mostFlows {
			return bad("more than %d flows", mostFlows)
		}
		seen[listed{round, flow}] = true
		rounds[round] = append(rounds[round], flow)
	}
	if err := lines.Err(); err != nil {
		return Pattern{}, err
	}
	if len(seen) == 0 {
		return Pattern{}, errors.New("no line with ROUND FROM TO")
	}
	return Pattern{Name: Listed, Says: "as a file lists it", rounds: func(int, int) []Round { return rounds }}, nil
}
