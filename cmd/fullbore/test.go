package main

import (
	"fmt"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/unit"
)

// testCmd has iperf3's flags where the meaning is the same.
type testCmd struct {
	Target
	Time       float64 `short:"t" default:"10" placeholder:"SECONDS" help:"Measured time."`
	Bytes      string  `short:"n" placeholder:"SIZE" help:"Send this much instead of for a time."`
	Parallel   int     `short:"P" default:"1" help:"TCP connections."`
	Reverse    bool    `short:"R" help:"The far end sends."`
	Bidir      bool    `help:"Both ends send at once."`
	Window     string  `short:"w" placeholder:"SIZE" help:"Socket buffers (SO_SNDBUF and SO_RCVBUF) at both ends; switches autotuning off."`
	Congestion string  `short:"C" placeholder:"NAME" help:"Congestion control of the sender."`
	Length     string  `short:"l" placeholder:"SIZE" help:"Bytes a read or write (128K)."`
	MSS        int     `short:"M" name:"set-mss" placeholder:"BYTES" help:"Maximum segment size."`
	Omit       float64 `short:"O" default:"0" placeholder:"SECONDS" help:"Do not measure the first seconds."`
	Interval   float64 `short:"i" default:"1" placeholder:"SECONDS" help:"Time between reported rates."`
	NoDelay    bool    `short:"N" help:"Set TCP_NODELAY."`
	FQRate     string  `name:"fq-rate" placeholder:"RATE" help:"Pace each connection at this rate (SO_MAX_PACING_RATE)."`
	JSON       bool    `short:"J" help:"iperf3's JSON document, with what is ours under .fullbore."`
}

// spec turns the flags into a transfer.
func (c *testCmd) spec() (bulk.Spec, error) {
	spec := bulk.Spec{
		Direction: bulk.Forward, Streams: c.Parallel, Congest: c.Congestion, MSS: c.MSS, NoDelay: c.NoDelay,
		Duration: seconds(c.Time), Omit: seconds(c.Omit),
	}
	if c.Reverse && c.Bidir {
		return spec, usageError("both --reverse and --bidir were given: use one")
	}
	if c.Reverse {
		spec.Direction = bulk.Reverse
	}
	if c.Bidir {
		spec.Direction = bulk.Both
	}
	size := func(flag, text string) (int64, error) {
		if text == "" {
			return 0, nil
		}
		n, err := unit.ParseSize(text)
		if err != nil {
			return 0, usageError("%s: %w", flag, err)
		}
		return int64(n), nil
	}
	bytes, err := size("--bytes", c.Bytes)
	if err != nil {
		return spec, err
	}
	if bytes > 0 {
		spec.Bytes, spec.Duration = bytes, 0
	}
	window, err := size("--window", c.Window)
	if err != nil {
		return spec, err
	}
	length, err := size("--length", c.Length)
	if err != nil {
		return spec, err
	}
	// A size beyond int32 is caught by Check on every platform.
	spec.SendBuf, spec.RecvBuf, spec.Length = int(min(window, 1<<31-1)), int(min(window, 1<<31-1)), int(min(length, 1<<31-1))
	if c.FQRate != "" {
		if spec.Pace, err = unit.ParseRate(c.FQRate); err != nil {
			return spec, usageError("--fq-rate: %w", err)
		}
	}
	if err := spec.Check(); err != nil {
		return spec, usageError("%w", err)
	}
	return spec, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (c *testCmd) Run(app *app) error {
	spec, err := c.spec()
	if err != nil {
		return err
	}
	if c.Lab != "" {
		return inLab(app, c.Lab)
	}
	far, err := c.dial(app)
	if err != nil {
		return err
	}
	defer far.Close()
	began := time.Now()
	watch := func(bulk.Progress) {}
	if !c.JSON {
		watch = c.intervals(app)
	}
	result, err := far.Transfer(app.ctx, spec, watch)
	if result == nil {
		return err
	}
	if c.JSON {
		if err := printJSON(app.stdout, report.IPerf3(result, c.Host, began, err)); err != nil {
			return err
		}
		return err
	}
	report.Transfer(app.stdout, result)
	return err
}

// intervals prints the rate at every interval.
func (c *testCmd) intervals(app *app) func(bulk.Progress) {
	next := seconds(c.Interval)
	return func(p bulk.Progress) {
		if p.At < next || c.Interval <= 0 {
			return
		}
		next += seconds(c.Interval)
		omitted := ""
		if p.Omitting {
			omitted = "  (omitted)"
		}
		_, _ = fmt.Fprintf(app.stderr, "%6.1f s  %10s%s\n", p.At.Seconds(), p.Rate, omitted)
	}
}
