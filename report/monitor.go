package report

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

// Monitor shows people what goes on; End leaves the terminal ready for what comes
// next.
type Monitor interface {
	examine.Watcher
	End()
}

// NewMonitor shows what goes on, on stderr: one line that moves on a terminal, lines for
// a log anywhere else, nothing when quiet.
func NewMonitor(stderr io.Writer, quiet bool) Monitor {
	if quiet {
		return silent{}
	}
	if file, ok := stderr.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return &moving{w: file}
	}
	return &logged{w: stderr}
}

// silent shows nothing.
type silent struct{}

func (silent) Phase(string)           {}
func (silent) Progress(bulk.Progress) {}
func (silent) Result(string)          {}
func (silent) End()                   {}

// logged writes a line for each phase and result, and the rate every two seconds.
type logged struct {
	w    io.Writer
	last time.Time
	now  smoothed
}

func (l *logged) Phase(text string) {
	l.last, l.now = time.Now(), nil
	_, _ = fmt.Fprintln(l.w, "..", text)
}

func (l *logged) Progress(now bulk.Progress) {
	l.now.add(now.Rate)
	if time.Since(l.last) < 2*time.Second {
		return
	}
	l.last = time.Now()
	_, _ = fmt.Fprintf(l.w, "   %s after %.0f s\n", l.now.rate(), now.At.Seconds())
}

func (l *logged) Result(text string) { _, _ = fmt.Fprintln(l.w, "  ", text) }

func (l *logged) End() {}

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

// moving redraws one line: what is being tried, the rate now, a sparkline.
type moving struct {
	w     *os.File
	phase string
	named bool // the phase stands above its results
	rates []float64
	drawn time.Time
	now   smoothed
}

func (m *moving) Phase(text string) {
	m.phase, m.named, m.rates, m.now = text, false, nil, nil
	m.draw()
}

// redraw at most this often: more only flickers.
const redraw = 100 * time.Millisecond

// sparkWidth is how many of the latest rates the line shows.
const sparkWidth = 32

func (m *moving) Progress(p bulk.Progress) {
	if time.Since(m.drawn) < redraw {
		return
	}
	m.now.add(p.Rate)
	m.rates = append(m.rates, float64(m.now.rate()))
	if len(m.rates) > sparkWidth {
		m.rates = m.rates[1:]
	}
	m.draw()
}

func (m *moving) Result(text string) {
	_, _ = fmt.Fprint(m.w, "\r\x1b[K")
	if !m.named {
		_, _ = fmt.Fprintf(m.w, "\x1b[1m%s\x1b[0m\n", m.fit(m.phase, 0))
	}
	m.named, m.rates, m.now = true, nil, nil
	_, _ = fmt.Fprintf(m.w, "    %s\n", text)
}

func (m *moving) End() { _, _ = fmt.Fprint(m.w, "\r\x1b[K") }

func (m *moving) draw() {
	m.drawn = time.Now()
	status := ""
	if n := len(m.rates); n > 0 {
		status = fmt.Sprintf("  %s %s", printable.Sparkline(m.rates), unit.Rate(m.rates[n-1]))
	}
	_, _ = fmt.Fprintf(m.w, "\r\x1b[K%s%s", m.fit(m.phase, printable.Width(status)), status)
}

// fit shortens text so that it shares the terminal's line with reserved columns.
func (m *moving) fit(text string, reserved int) string {
	width, _, err := term.GetSize(int(m.w.Fd()))
	if err != nil || width < 20 {
		width = 80
	}
	return printable.Fit(text, max(10, width-reserved-1))
}
