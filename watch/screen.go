package watch

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/printable"
)

// Screen shows the flows on a terminal until the user, ctx or Count ends it.
// However it ends, the terminal is put back by bubbletea.
func (w *Watch) Screen(ctx context.Context, in io.Reader, out io.Writer) error {
	s := &screen{ctx: ctx, watch: w, rates: map[string][]float64{}, width: 80, height: 24}
	program := tea.NewProgram(s, tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
	done := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
			program.Quit()
		case <-done:
		}
	}()
	_, err := program.Run()
	close(done)
	if err != nil {
		return fmt.Errorf("show flows: %w", err)
	}
	return s.failed
}

// screen is what the terminal shows, and what the keys have chosen.
type screen struct {
	ctx   context.Context
	watch *Watch

	latest *flow.Snapshot // nil: not looked yet
	shown  []flow.Flow    // selected of it, sorted
	count  int            // looks with rates
	rates  map[string][]float64
	failed error

	cursor string // ID of the chosen flow, which stays chosen wherever it is sorted to; "": none yet
	row    int    // where it is, or was
	first  int    // row at the top
	typing bool   // keys go to the filter

	opened *flow.Flow // shown with its explanation; nil: the table is
	ended  bool       // the opened flow is there no more
	scroll int        // first line of the explanation

	width, height int
}

type (
	lookedMsg struct {
		look *flow.Snapshot
		err  error
	}
	dueMsg struct{} // for the next look
)

// Init begins with a first look.
func (s *screen) Init() tea.Cmd { return s.lookNow }

func (s *screen) lookNow() tea.Msg {
	look, err := s.watch.look(s.ctx)
	return lookedMsg{look, err}
}

// Update takes in what happened.
func (s *screen) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch m := message.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = m.Width, m.Height
		s.see()
	case dueMsg:
		return s, s.lookNow
	case lookedMsg:
		return s, s.looked(m)
	case tea.PasteMsg:
		if s.typing {
			s.filter(s.watch.Selection.Text + m.Content)
		}
	case tea.KeyPressMsg:
		return s, s.key(m)
	}
	return s, nil
}

// looked takes in a look, and asks for the next.
func (s *screen) looked(m lookedMsg) tea.Cmd {
	if m.err != nil {
		s.failed = unlessOver(s.ctx, m.err)
		return tea.Quit
	}
	s.latest = m.look
	if m.look.Over > 0 {
		s.count++
		s.remember()
	}
	s.choose()
	if s.watch.Count > 0 && s.count >= s.watch.Count {
		return tea.Quit
	}
	return tea.Tick(s.watch.Interval, func(time.Time) tea.Msg { return dueMsg{} })
}

// remembered rates of a flow: as many as the widest sparkline shows.
const remembered = 32

// remember keeps the latest rates of the flows that are still there.
func (s *screen) remember() {
	now := make(map[string][]float64, len(s.rates))
	for i := range s.latest.Flows {
		f := &s.latest.Flows[i]
		rates, known := s.rates[f.ID]
		if f.Goodput <= 0 && !known {
			continue // most flows of a busy host rest
		}
		if len(rates) == remembered {
			copy(rates, rates[1:])
			rates = rates[:remembered-1]
		}
		now[f.ID] = append(rates, float64(f.Goodput))
	}
	s.rates = now
}

// choose applies the selection to the latest look. The cursor stays with its
// flow, or on its row when that is gone.
func (s *screen) choose() {
	if s.latest == nil {
		return
	}
	s.shown = s.watch.Selection.Of(s.latest.Flows)
	if at := slices.IndexFunc(s.shown, func(f flow.Flow) bool { return f.ID == s.cursor }); at >= 0 {
		s.row = at
	}
	s.see()
	if s.opened == nil {
		return
	}
	at := slices.IndexFunc(s.latest.Flows, func(f flow.Flow) bool { return f.ID == s.opened.ID })
	if s.ended = at < 0; !s.ended {
		s.open(&s.latest.Flows[at])
	}
}

// open keeps a copy of the flow: a snapshot's memory is used again.
func (s *screen) open(f *flow.Flow) {
	opened := *f
	s.opened = &opened
}

// move moves the cursor by some rows. Until then it stays at the top.
func (s *screen) move(by int) {
	s.row += by
	s.see()
	if s.row < len(s.shown) {
		s.cursor = s.shown[s.row].ID
	}
}

// see keeps the cursor in the table, and the table where the cursor is seen.
func (s *screen) see() {
	s.row = max(0, min(s.row, len(s.shown)-1))
	s.first = max(0, min(s.first, s.row, len(s.shown)-s.rows()), s.row-s.rows()+1)
}

// longestFilter is more than any address and name.
const longestFilter = 100

// filter shows only what has the text.
func (s *screen) filter(text string) {
	if text = printable.Line(text); utf8.RuneCountInString(text) <= longestFilter {
		s.watch.Selection.Text = text
		s.choose()
	}
}

// order sorts by another figure; the cursor goes to the top.
func (s *screen) order(by Order) {
	s.watch.Selection.Sort = by
	s.cursor, s.row = "", 0
	s.choose()
}
