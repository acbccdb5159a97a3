package format

import (
	"cmp"
)

// sysctl is a file of sysctl.d(5).
var sysctl = register(Format{
	Name:  "sysctl",
	About: "a file of sysctl.d",
	For:   isLinux,
	Write: of(func(s *sheet) ([]File, error) {
		s = s.split(s.notInFile(sysctlFile))
		w := &page{comments: hashComments}
		w.line("# ", beginMark)
		s.intro(w, "Install as "+sysctlFile+"; load with: sysctl -p "+sysctlFile)
		s.writeLines(w)
		s.leftOut(w)
		w.line("# ", endMark)
		return []File{hashComments.text("90-fullbore.conf", w.String())}, nil
	}),
	Undo: of(func(s *sheet) ([]File, error) {
		return []File{s.undoLines("undo-sysctl.sh", "sysctl", sysctlFile)}, nil
	}),
})

// What is between these two comments of a file is ours, and an undo takes it out.
const (
	beginMark = "fullbore begin"
	endMark   = "fullbore end"
)

// notInFile says why a setting cannot be a line of a file.
func (s *sheet) notInFile(file string) func(*setting) string {
	return func(one *setting) string {
		if one.keeper(s.host).file == file {
			return ""
		}
		return "it is no line of " + file + "; " + cmp.Or(one.elsewhere(), "it cannot be kept")
	}
}

// elsewhere says how a value is set where a format cannot.
func (s *setting) elsewhere() string {
	words := ""
	if s.entry.Live != "" {
		words = "set it with: " + s.inWords(s.entry.Live, s.To)
	}
	if s.entry.Persist != "" {
		if words != "" {
			words += "; "
		}
		words += s.byHand(s.To)
	}
	return words
}

// writeLines writes the settings as a file has them.
func (s *sheet) writeLines(w *page) {
	for _, one := range s.settings {
		w.blank()
		one.about(w)
		w.line(one.inWords(one.keeper(s.host).line, one.To))
	}
}
