package watch

import (
	tea "charm.land/bubbletea/v2"
)

// key does what a key says, where it was pressed.
func (s *screen) key(m tea.KeyPressMsg) tea.Cmd {
	switch key := m.String(); {
	case key == "ctrl+c":
		return tea.Quit
	case key == "ctrl+z":
		return tea.Suspend
	case s.typing:
		s.typed(m)
	case key == "q":
		return tea.Quit
	case s.opened != nil:
		s.read(key)
	default:
		s.browse(key)
	}
	return nil
}

// typed edits the filter.
func (s *screen) typed(m tea.KeyPressMsg) {
	text := []rune(s.watch.Selection.Text)
	switch m.String() {
	case "enter":
		s.typing = false
	case "esc":
		s.typing = false
		s.filter("")
	case "backspace":
		s.filter(string(text[:max(0, len(text)-1)]))
	case "ctrl+u":
		s.filter("")
	default:
		s.filter(string(text) + m.Text)
	}
}

// browse moves through the table.
func (s *screen) browse(key string) {
	switch key {
	case "up", "k":
		s.move(-1)
	case "down", "j":
		s.move(1)
	case "pgup":
		s.move(-s.rows())
	case "pgdown":
		s.move(s.rows())
	case "home", "g":
		s.move(-len(s.shown))
	case "end", "G":
		s.move(len(s.shown))
	case "enter":
		if s.row < len(s.shown) {
			s.open(&s.shown[s.row])
			s.ended, s.scroll = false, 0
		}
	case "/":
		s.typing = true
	case "esc":
		s.filter("")
	case "a":
		s.watch.Selection.Idle = !s.watch.Selection.Idle
		s.choose()
	case "r":
		s.order(ByRate)
	case "t":
		s.order(ByRTT)
	case "x":
		s.order(ByRetransmissions)
	case "p":
		s.order(ByProcess)
	}
}

// read moves through an explanation. How far it goes, drawing knows.
func (s *screen) read(key string) {
	switch key {
	case "esc", "enter", "left", "backspace":
		s.opened = nil
	case "up", "k":
		s.scroll = max(0, s.scroll-1)
	case "down", "j":
		s.scroll++
	case "pgup":
		s.scroll = max(0, s.scroll-s.height/2)
	case "pgdown":
		s.scroll += s.height / 2
	case "home", "g":
		s.scroll = 0
	}
}
