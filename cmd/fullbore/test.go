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
	Interval   float64 `short:"i" default:"1" placeholder:"SECONDS" help:"Time between reported rates, 0.1 to 60; 0 for none."`
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
	for flag, value := range map[string]float64{"--time": c.Time, "--omit": c.Omit} {
		if !(value >= 0 && value <= bulk.MaxDuration.Seconds()) { // also NaN
			return spec, usageError("%s: %v seconds: use up to %v", flag, value, bulk.MaxDuration.Seconds())
		}
	}
	if !(c.Interval == 0 || c.Interval >= bulk.DefaultInterval.Seconds() && c.Interval <= 60) { // as iperf3's
		return spec, usageError("--interval: %v seconds: use %v to 60, or 0 for none", c.Interval, bulk.DefaultInterval.Seconds())
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
	if c.Bytes != "" {
		if bytes == 0 {
			return spec, usageError("--bytes: there is nothing to send")
		}
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
	if err != nil && len(result.Client.Streams) == 0 {
		return err // it never began
	}
	report.Transfer(app.stdout, result)
	return err
}

// intervals prints the rate of every interval, which is many of the transfer's.
func (c *testCmd) intervals(app *app) func(bulk.Progress) {
	next := seconds(c.Interval)
	var looked, printed time.Duration
	var bits float64 // since it was printed
	return func(p bulk.Progress) {
		bits += float64(p.Rate) * (p.At - looked).Seconds()
		looked = p.At
		if p.At < next || c.Interval <= 0 {
			return
		}
		next += seconds(c.Interval)
		omitted := ""
		if p.Omitting {
			omitted = "  (omitted)"
		}
		rate := unit.Rate(bits / (p.At - printed).Seconds())
		_, _ = fmt.Fprintf(app.stderr, "%6.1f s  %10s%s\n", p.At.Seconds(), rate, omitted)
		bits, printed = 0, p.At
	}
}
