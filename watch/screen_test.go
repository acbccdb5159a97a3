package watch

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/unit"
)

// newScreen is a screen of some size after looks at flows.
func newScreen(width, height int, seen ...*flow.Snapshot) *screen {
	s := &screen{watch: &Watch{}, rates: map[string][]float64{}}
	s.Update(tea.WindowSizeMsg{Width: width, Height: height})
	for _, look := range seen {
		s.Update(lookedMsg{look: look})
	}
	return s
}

// press presses keys: names of keys in <>, all else as it is.
func (s *screen) press(keys string) {
	for keys != "" {
		var m tea.KeyPressMsg
		if name, rest, ok := strings.Cut(strings.TrimPrefix(keys, "<"), ">"); ok && keys[0] == '<' {
			m.Code = map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "pgdown": tea.KeyPgDown, "end": tea.KeyEnd, "home": tea.KeyHome, "backspace": tea.KeyBackspace}[name]
			keys = rest
		} else {
			m.Code, m.Text = rune(keys[0]), keys[:1]
			keys = keys[1:]
		}
		s.Update(m)
	}
}

// shows is the screen as text.
func (s *screen) shows() string { return ansi.Strip(s.View().Content) }

// TestWatchScreen holds what the screen looks like.
func TestWatchScreen(t *testing.T) {
	many := watchedFlows()
	for i := range 40 {
		f := many.Flows[0]
		f.ID, f.PID, f.Goodput = fmt.Sprint(i), 100+i, f.Goodput-unit.Rate(i+1)*2e6
		many.Flows = append(many.Flows, f)
	}
	for _, test := range []struct {
		name          string
		width, height int
		look          *flow.Snapshot
		keys          string
	}{
		{"table", 80, 24, watchedFlows(), ""},
		{"table-wide", 200, 10, watchedFlows(), ""},
		{"idle", 80, 10, watchedFlows(), "a"},
		{"many", 80, 12, many, "<end>"},
		{"typing", 80, 10, watchedFlows(), "/slow-r"},
		{"filtered", 80, 10, watchedFlows(), "/ssh<enter>"},
		{"filter-nothing", 80, 10, watchedFlows(), "/sssh<enter>"},
		{"explained", 80, 24, watchedFlows(), "<enter>"},
		{"explained-small", 40, 10, watchedFlows(), "<enter><pgdown>"},
		{"none", 80, 10, &flow.Snapshot{Over: 1}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newScreen(test.width, test.height, test.look)
			s.press(test.keys)
			golden.Check(t, "screen/"+test.name+".txt", s.shows()+"\n")
		})
	}
}

// TestWatchScreenFollows: the cursor stays with its flow when that is sorted
// elsewhere, and an opened flow that ends stays readable.
func TestWatchScreenFollows(t *testing.T) {
	s := newScreen(80, 24, watchedFlows())
	s.press("<down>")
	if s.shown[s.row].ID != "2a" {
		t.Fatalf("the cursor is on %s", s.shown[s.row].ID)
	}
	next := watchedFlows()
	next.Flows[1].Goodput = 999e6
	s.Update(lookedMsg{look: next})
	if s.row != 0 || s.shown[s.row].ID != "2a" {
		t.Errorf("the cursor is on row %d, %s", s.row, s.shown[s.row].ID)
	}
	s.press("<enter>")
	s.Update(lookedMsg{look: &flow.Snapshot{Over: 1}})
	if text := s.shows(); !strings.Contains(text, "has ended") || !strings.Contains(text, "slow-receiver") {
		t.Errorf("an opened flow that has ended:\n%s", text)
	}
	s.press("<esc>")
	if text := s.shows(); !strings.Contains(text, "no TCP flow is open") {
		t.Errorf("no flows:\n%s", text)
	}
	s.press("<enter>") // there is nothing to open
	if s.opened != nil {
		t.Error("nothing was opened")
	}
}

// TestWatchScreenEnds: by --count, by an error, by keys.
func TestWatchScreenEnds(t *testing.T) {
	quits := func(cmd tea.Cmd) bool {
		if cmd == nil {
			return false
		}
		_, ok := cmd().(tea.QuitMsg)
		return ok
	}
	s := newScreen(80, 24)
	s.watch.Count = 1
	if _, cmd := s.Update(lookedMsg{look: watchedFlows()}); !quits(cmd) {
		t.Error("it goes on after --count looks")
	}
	s = newScreen(80, 24)
	s.ctx = t.Context()
	if _, cmd := s.Update(lookedMsg{err: errors.New("no permission")}); !quits(cmd) || s.failed == nil {
		t.Errorf("it goes on after an error, or forgets it: %v", s.failed)
	}
	for _, m := range []tea.KeyPressMsg{{Code: 'q', Text: "q"}, {Code: 'c', Mod: tea.ModCtrl}} {
		if _, cmd := newScreen(80, 24).Update(m); !quits(cmd) {
			t.Errorf("%v does not end it", m)
		}
	}
	s = newScreen(80, 24)
	s.press("/")
	if _, cmd := s.Update(tea.KeyPressMsg{Code: 'q', Text: "q"}); quits(cmd) {
		t.Error("q in a filter ends it")
	}
}

// Whatever keys are pressed at whatever size, it fits the screen.
func TestWatchScreenFits(t *testing.T) {
	keys := []string{"a", "r", "t", "x", "p", "/", "s", "<enter>", "<esc>", "<up>", "<down>", "<pgdown>", "<home>", "<end>", "<backspace>", "k", "j", "g", "G"}
	rapid.Check(t, func(t *rapid.T) {
		s := newScreen(80, 24)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				look := watchedFlows()
				look.Flows = look.Flows[:rapid.IntRange(0, 3).Draw(t, "flows")]
				s.Update(lookedMsg{look: look})
			case 1:
				s.Update(tea.WindowSizeMsg{Width: rapid.IntRange(1, 250).Draw(t, "width"), Height: rapid.IntRange(1, 60).Draw(t, "height")})
			default:
				s.press(rapid.SampledFrom(keys).Draw(t, "key"))
			}
			lines := strings.Split(s.View().Content, "\n")
			if len(lines) > s.height {
				t.Fatalf("%d lines on a screen of %d", len(lines), s.height)
			}
			for _, line := range lines {
				if lipgloss.Width(line) > s.width {
					t.Fatalf("%d columns on a screen of %d: %q", lipgloss.Width(line), s.width, line)
				}
			}
		}
	})
}
