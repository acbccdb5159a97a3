package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/unit"
)

// watcher shows progress; end leaves the terminal ready for what comes next.
type watcher interface {
	examine.Watcher
	end()
}

// newWatcher shows progress on stderr: one line that moves on a terminal, plain
// lines anywhere else, nothing when quiet.
func newWatcher(stderr io.Writer, quiet bool) watcher {
	if quiet {
		return silent{}
	}
	if file, ok := stderr.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return &live{w: file}
	}
	return &plain{w: stderr}
}

// silent shows nothing.
type silent struct{}

func (silent) Phase(string)           {}
func (silent) Progress(bulk.Progress) {}
func (silent) Result(string)          {}
func (silent) end()                   {}

// plain writes a line for each phase and result, and the rate every two seconds.
type plain struct {
	w    io.Writer
	last time.Time
	now  smoothed
}

func (p *plain) Phase(text string) {
	p.last, p.now = time.Now(), nil
	_, _ = fmt.Fprintln(p.w, "..", text)
}

func (p *plain) Progress(now bulk.Progress) {
	p.now.add(now.Rate)
	if time.Since(p.last) < 2*time.Second {
		return
	}
	p.last = time.Now()
	_, _ = fmt.Fprintf(p.w, "   %s after %.0f s\n", p.now.rate(), now.At.Seconds())
}

func (p *plain) Result(text string) { _, _ = fmt.Fprintln(p.w, "  ", text) }

// smoothed is the mean of the latest rates. Bytes are acknowledged in bursts, one
// a round trip, which may be longer than the time between two looks.
type smoothed []unit.Rate

// smoothOver so many looks, of 100 ms each: three round trips of 300 ms.
const smoothOver = 9

func (s *smoothed) add(r unit.Rate) {
	*s = append(*s, r)
	*s = (*s)[max(0, len(*s)-smoothOver):]
}

func (s smoothed) rate() unit.Rate {
	var sum unit.Rate
	for _, r := range s {
		sum += r
	}
	return sum / unit.Rate(max(1, len(s)))
}

func (p *plain) end() {}

// live redraws one line: what is being tried, the rate now, a sparkline.
type live struct {
	w     *os.File
	phase string
	rates []float64
	drawn time.Time
	now   smoothed
}

func (l *live) Phase(text string) {
	l.phase, l.rates, l.now = text, nil, nil
	l.draw()
}

// redraw at most this often: more only flickers.
const redraw = 100 * time.Millisecond

// sparkWidth is how many of the latest rates the line shows.
const sparkWidth = 32

func (l *live) Progress(p bulk.Progress) {
	if time.Since(l.drawn) < redraw {
		return
	}
	l.now.add(p.Rate)
	l.rates = append(l.rates, float64(l.now.rate()))
	if len(l.rates) > sparkWidth {
		l.rates = l.rates[1:]
	}
	l.draw()
}

func (l *live) Result(text string) {
	_, _ = fmt.Fprintf(l.w, "\r\x1b[K\x1b[1m%s\x1b[0m\n    %s\n", l.fit(l.phase, 0), text)
}

func (l *live) end() { _, _ = fmt.Fprint(l.w, "\r\x1b[K") }

func (l *live) draw() {
	l.drawn = time.Now()
	status := ""
	if n := len(l.rates); n > 0 {
		status = fmt.Sprintf("  %s %s", printable.Sparkline(l.rates), unit.Rate(l.rates[n-1]))
	}
	_, _ = fmt.Fprintf(l.w, "\r\x1b[K%s%s", l.fit(l.phase, printable.Width(status)), status)
}

// fit shortens text so that it shares the terminal's line with reserved columns.
func (l *live) fit(text string, reserved int) string {
	width, _, err := term.GetSize(int(l.w.Fd()))
	if err != nil || width < 20 {
		width = 80
	}
	return printable.Fit(text, max(10, width-reserved-1))
}
