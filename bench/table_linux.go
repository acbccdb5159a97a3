package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/stat"
)

// series is one tool over all rounds.
type series struct {
	tool    tool
	figures []figure
}

// table writes the tools' figures. The ratios are to the raw loop, and of
// fullbore to the best other tool that copies as much as it does: the best by
// the median.
func table(all []series) string {
	var b strings.Builder
	b.WriteString("| tool | goodput, Gb/s | of the raw loop | CPU-s/GB | of the raw loop | of it in the processes |\n|---|---|---|---|---|---|\n")
	limit := best(all, func(t tool) bool { return t.name == rawName })
	for _, s := range all {
		rates, costs := column(s, rate), column(s, cpu)
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %.3f |\n", s.tool.name,
			spread(rates, "%.1f", 1e-9), against(s, limit, rate), spread(costs, "%.3f", 1), against(s, limit, cpu), stat.Median(column(s, own)))
	}
	for _, fastest := range []bool{false, true} {
		ours := best(all, func(t tool) bool { return t.ours() && t.fastest == fastest })
		// A way that avoids copies need not be a tool's fastest.
		peers := func(t tool) bool { return !t.ours() && t.name != rawName && (fastest || !t.fastest) }
		quickest, thriftiest := best(all, peers), leastCPU(all, peers)
		if ours == nil || quickest == nil {
			continue
		}
		fmt.Fprintf(&b, "\n%s: %s the goodput of the fastest other, %s; %s the CPU-s/GB of the other that needs least, %s.\n",
			ours.tool.name, against(*ours, quickest, rate), quickest.tool.name, against(*ours, thriftiest, cpu), thriftiest.tool.name)
	}
	return b.String()
}

func rate(f figure) float64 { return f.rate }
func cpu(f figure) float64  { return f.cpu }
func own(f figure) float64  { return f.own }

// best is the one with the highest median goodput of those that are asked for;
// nil: there are none.
func best(all []series, of func(tool) bool) *series { return choose(all, of, rate, 1) }

// leastCPU is the one that takes the least processor time.
func leastCPU(all []series, of func(tool) bool) *series { return choose(all, of, cpu, -1) }

func choose(all []series, of func(tool) bool, by func(figure) float64, sign float64) *series {
	var chosen *series
	for i, s := range all {
		if of(s.tool) && (chosen == nil || sign*stat.Median(column(s, by)) > sign*stat.Median(column(*chosen, by))) {
			chosen = &all[i]
		}
	}
	return chosen
}

func column(s series, of func(figure) float64) []float64 {
	var out []float64
	for _, f := range s.figures {
		out = append(out, of(f))
	}
	return out
}

// against is the median of the ratios within each round.
func against(s series, other *series, of func(figure) float64) string {
	if other == nil {
		return "–"
	}
	var ratios []float64
	for i := range s.figures {
		ratios = append(ratios, of(s.figures[i])/of(other.figures[i]))
	}
	return fmt.Sprintf("%.2f x", stat.Median(ratios))
}

// spread writes the median with the least and the most.
func spread(x []float64, format string, scale float64) string {
	return fmt.Sprintf(format+" ("+format+" to "+format+")", stat.Median(x)*scale, slices.Min(x)*scale, slices.Max(x)*scale)
}

// machine is what the figures were measured on.
func machine() string {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	congestion, _ := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	return fmt.Sprintf("%d CPUs, Linux %s, %s\n", runtime.NumCPU(), strings.TrimSpace(string(release)), strings.TrimSpace(string(congestion)))
}
