// Command bench compares fullbore's engine with iperf3, iperf2, nuttcp and a
// raw loop of blocking writes and reads, the kernel's own limit: the same
// transfer over the same link, one tool after the other, round by round, so
// that whatever else the machine does meets them all alike.
//
// It prints a Markdown table: docs/bench.md is made so. Every figure is the
// median over the rounds with the least and the most; ratios are medians of the
// ratios within a round.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/fullbore/fullbore/record"
)

// options is what the command line says.
type options struct {
	rounds   int
	seconds  float64
	streams  []int
	links    []string
	only     []string
	fullbore string
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == rawCommand { // this program is also one of the tools
		if err := raw(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "raw loop:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	o, err := parse(os.Args[1:])
	if err != nil {
		return err
	}
	if err := os.Setenv(record.Variable, record.Nowhere); err != nil { // these are no runs of this user's
		return err
	}
	if o.fullbore == "" {
		remove, err := o.build(ctx)
		if err != nil {
			return err
		}
		defer remove()
	}
	all := tools(o.fullbore)
	if len(o.only) > 0 {
		all = pick(all, o.only)
	}
	if err := freePort(); err != nil {
		return err
	}
	fmt.Print(machine())
	for _, name := range o.links {
		link, err := links[name]()
		if err != nil {
			return fmt.Errorf("make link %s: %w", name, err)
		}
		for _, streams := range o.streams {
			results, err := o.compare(ctx, link, all, streams)
			if err != nil {
				link.remove()
				return err
			}
			fmt.Printf("\n### %s, %d %s\n\n%s", name, streams, plural(streams, "stream"), table(results))
		}
		link.remove()
	}
	return nil
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.IntVar(&o.rounds, "rounds", 7, "rounds; the first one more is not counted")
	flags.Float64Var(&o.seconds, "time", 3, "seconds of each transfer")
	flags.StringVar(&o.fullbore, "fullbore", "", "the binary to test; empty: built from this checkout")
	streams := flags.String("streams", "1,8", "numbers of streams")
	over := flags.String("links", "loopback,veth", "links: loopback, veth")
	only := flags.String("tools", "", "only these tools, comma-separated; empty: all that are installed")
	_ = flags.Parse(args) // it exits
	for text := range strings.SplitSeq(*streams, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 128 {
			return o, fmt.Errorf("-streams: %q is not a number from 1 to 128", text)
		}
		o.streams = append(o.streams, n)
	}
	for name := range strings.SplitSeq(*over, ",") {
		if links[name] == nil {
			return o, fmt.Errorf("-links: there is no %q: use loopback or veth", name)
		}
		o.links = append(o.links, name)
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	if o.rounds < 1 || o.seconds < 0.2 {
		return o, fmt.Errorf("use one round or more, of 0.2 seconds or more")
	}
	return o, nil
}

// compare runs every tool once a round, in an order drawn anew each time.
func (o options) compare(ctx context.Context, l *link, all []tool, streams int) ([]series, error) {
	results := make([]series, len(all))
	for i, t := range all {
		results[i] = series{tool: t}
	}
	for round := range o.rounds + 1 {
		for _, i := range rand.Perm(len(all)) {
			slog.Info("run", "link", l.name, "streams", streams, "round", round, "of", o.rounds, "tool", all[i].name)
			figure, err := l.run(ctx, all[i], streams, o.seconds)
			if err != nil {
				return nil, fmt.Errorf("%s over %s: %w", all[i].name, l.name, err)
			}
			if round > 0 { // caches and clocks are warm from then on
				results[i].figures = append(results[i].figures, figure)
			}
			time.Sleep(100 * time.Millisecond) // what the last one left behind ends
		}
	}
	return results, nil
}

func plural(n int, thing string) string {
	if n == 1 {
		return thing
	}
	return thing + "s"
}
