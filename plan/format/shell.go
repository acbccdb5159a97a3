package format

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// engine are the functions that scripts share, and begin is what each does first:
// POSIX shell, and no newer than what /bin/ksh of Solaris 8 understands.
var (
	//go:embed settings.sh
	engine string
	//go:embed begin.sh
	begin string
)

// scriptKind is what a script is for.
type scriptKind struct {
	how   []string // what its introduction says about its use
	state string   // name of the file that old values are written down in
	keeps bool     // it has the settings outlive a boot, or takes that back
	undo  bool     // it takes them back, and does nothing else
	plan  bool     // it takes back what the plan says, since nothing wrote down old values
	first []string // what an undo does before
}

// script writes a shell script that makes the settings, or takes them back. Only
// what is live, or what it keeps, can be in it.
func (s *sheet) script(kind scriptKind) string {
	s = s.split(func(one *setting) string { return one.notInScript(kind, s) })
	w := &page{comments: hashComments}
	w.line("#!", s.shell())
	s.intro(w, kind.how...)
	if !kind.undo { // what was never set need not be taken back
		s.leftOut(w)
	}
	w.blank()
	w.line("state=${FULLBORE_STATE:-/var/lib/fullbore}")
	if !kind.plan {
		w.line("saved=$state/", kind.state, ".values")
	}
	if !kind.undo && slices.ContainsFunc(s.settings, func(one setting) bool { return one.live() }) {
		w.line("failed=''") // the names of those that could not be set, each behind a bar
	}
	w.line("status=0")
	w.line("PATH=$PATH:/usr/sbin:/sbin:/usr/bin:/bin LC_ALL=C")
	w.line("export PATH LC_ALL")
	main := &page{}
	s.writeMain(main, kind)
	own := &page{}
	if !kind.undo {
		s.writeSettings(own, kind)
	}
	s.writeUndo(own, kind)
	s.writeSteps(own, kind)
	w.WriteString(called(append(functions(own.String()), engineFunctions()...), begin+main.String()))
	w.WriteString(begin)
	w.WriteString(main.String())
	return w.String()
}

// functionHead begins a function, behind its comment.
var functionHead = regexp.MustCompile(`(?m)\n((?:# .*\n)*)([a-z_]+)\(\) \{`)

// function is a shell function and the words in it, some of which are functions
// that it calls.
type function struct {
	name, text string
	words      map[string]bool
}

// functions takes a text apart that has nothing else in it.
func functions(text string) []function {
	var all []function
	heads := functionHead.FindAllStringSubmatchIndex(text, -1)
	for i, at := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		body := text[at[0]:end]
		all = append(all, function{text[at[4]:at[5]], body, shellWords(body)})
	}
	return all
}

var engineFunctions = sync.OnceValue(func() []function { return functions(engine) })

// shellWords are the words of a script outside of comments.
func shellWords(text string) map[string]bool {
	words := map[string]bool{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
			words[word] = true
		}
	}
	return words
}

// called gives those functions that a text calls, and those that they call.
func called(all []function, text string) string {
	reached := map[string]bool{}
	for todo := []map[string]bool{shellWords(text)}; len(todo) > 0; todo = todo[1:] {
		for _, f := range all {
			if todo[0][f.name] && !reached[f.name] {
				reached[f.name] = true
				todo = append(todo, f.words)
			}
		}
	}
	var out strings.Builder
	for _, f := range all {
		if reached[f.name] {
			out.WriteString(f.text)
		}
	}
	return out.String()
}

// shell is one that understands the engine. Before Solaris 11, /bin/sh is the
// Bourne shell, which does not.
func (s *sheet) shell() string {
	if s.host.OS == "solaris" && major(s.host.Version) < 11 {
		return "/bin/ksh"
	}
	return "/bin/sh"
}

// notInScript says why a setting cannot be made, or taken back, by a script.
func (s *setting) notInScript(kind scriptKind, sh *sheet) string {
	switch {
	case kind.keeps && s.keeper(sh.host).file != "":
		return ""
	case !s.live():
		return s.byHand(s.To)
	case kind.plan && s.entry.Check(s.From) != nil:
		return s.noOldValue()
	}
	return ""
}

func (s *setting) noOldValue() string {
	return fmt.Sprintf("the plan does not know its old value, only %q", s.From)
}

// live reports whether a setting can be made at once, and read back.
func (s *setting) live() bool { return s.entry.Live != "" && s.entry.Read != "" }

// writeSettings writes the function that makes all settings, each with its reason.
func (s *sheet) writeSettings(w *page, kind scriptKind) {
	w.blank()
	w.line("settings() {")
	body := &page{comments: hashComments, indent: "\t"}
	for i, one := range s.settings {
		one.about(body)
		k := one.keeper(s.host)
		if kind.keeps && one.live() && k.file == "" && k.command == "" {
			body.comment("It holds until the next boot; " + one.byHand(one.To) + ".")
		}
		how := "switch"
		if one.entry.Rising {
			how = "raise"
		}
		if !one.live() {
			body.line("\tlater ", strconv.Itoa(i+1), " ", shellWord(one.Tunable), " ", shellWord(one.To), " ", how)
			continue
		}
		words := []string{"\tsetting", strconv.Itoa(i + 1), shellWord(one.Tunable), shellWord(one.To), how}
		for _, name := range one.after(s.settings) {
			words = append(words, shellWord(name))
		}
		body.line(strings.Join(words, " "))
	}
	body.line("\t:")
	w.WriteString(body.String())
	w.line("}")
}

// writeUndo writes the function that takes all settings back, the last first.
func (s *sheet) writeUndo(w *page, kind scriptKind) {
	w.blank()
	w.line("unset_all() {")
	for i := len(s.settings) - 1; i >= 0; i-- {
		switch one := &s.settings[i]; {
		case !one.live():
		case kind.plan && one.entry.Check(one.From) != nil:
			c := &page{comments: hashComments, indent: "\t"}
			c.comment(one.Tunable + " stays as it is: " + one.noOldValue())
			w.WriteString(c.String())
		case kind.plan:
			w.line("\tput_back ", strconv.Itoa(i+1), " ", shellWord(one.Tunable), " ", shellWord(one.From), " ", shellWord(one.To), " ''")
		default:
			w.line("\ttake_back ", strconv.Itoa(i+1), " ", shellWord(one.Tunable))
		}
	}
	w.line("\t:")
	w.line("}")
}

// writeSteps writes the functions that read, set and keep, by number.
func (s *sheet) writeSteps(w *page, kind scriptKind) {
	files := s.files()
	commands := kind.keeps && !kind.plan
	s.dispatch(w, "read_now() { # N", func(one *setting, _ keeper) string {
		return one.exactRead()
	})
	s.dispatch(w, "set_now() { # N VALUE ON", func(one *setting, _ keeper) string {
		return one.inShell(one.entry.Live, "2", "3")
	})
	s.dispatch(w, "keep() { # N VALUE ON new|same", func(one *setting, k keeper) string {
		switch {
		case !kind.keeps || kind.undo:
			return ""
		case k.file != "":
			line := fill(k.line, func(placeholder string) string {
				if placeholder == "{value}" || placeholder == "{on}" {
					return placeholder
				}
				return one.word(placeholder, "")
			})
			line = strings.NewReplacer("{value}", "${2}", "{on}", "${3}").Replace(doubleQuoted.Replace(line))
			return fmt.Sprintf("keep_line %d \"%s\"", slices.Index(files, k.file)+1, line)
		case k.command != "":
			return "[ \"$4\" = same ] || " + one.inShell(k.command, "2", "3")
		}
		return "[ \"$4\" = same ] || say " + shellWord(one.byHand(one.To))
	})
	s.dispatch(w, "kept_now() { # N", func(one *setting, k keeper) string {
		if k.kept == "" || !commands {
			return ""
		}
		return one.inShell(k.kept, "2", "3")
	})
	s.dispatch(w, "unkeep() { # N WAS ON KEPT", func(one *setting, k keeper) string {
		if k.command == "" || !commands {
			return ""
		}
		return one.unkeep(k, s)
	})
}

// unkeep is the command that takes back what a command keeps.
func (s *setting) unkeep(k keeper, sh *sheet) string {
	if k.kept != "" { // what was kept is known; ipadm prints nothing where nothing was
		return "if [ -n \"$4\" ]; then " + s.inShell(k.command, "4", "3") + "; else " + s.inShell(k.unset, "2", "3") + "; fi"
	}
	again := s.inShell(k.command, "2", "3")
	if standard, ok := s.entry.Default(sh.host.Version); ok {
		return "if [ \"$2\" = " + shellWord(standard) + " ]; then " + s.inShell(k.unset, "2", "3") + "; else " + again + "; fi"
	}
	return again
}

// dispatch writes a function that does one thing for each setting.
func (s *sheet) dispatch(w *page, head string, do func(*setting, keeper) string) {
	cases := &page{}
	for i := range s.settings {
		one := &s.settings[i]
		if command := do(one, one.keeper(s.host)); command != "" {
			cases.line("\t", strconv.Itoa(i+1), ") ", command, " ;;")
		}
	}
	w.blank()
	if cases.Len() == 0 {
		name, _, _ := strings.Cut(head, " ")
		w.line(name, " { :; }")
		return
	}
	w.line(head)
	w.line("\tcase $1 in")
	w.WriteString(cases.String())
	w.line("\t*) : ;;")
	w.line("\tesac")
	w.line("}")
}

// files are those that lines are kept in.
func (s *sheet) files() []string {
	var files []string
	for i := range s.settings {
		if k := s.settings[i].keeper(s.host); k.file != "" && !slices.Contains(files, k.file) {
			files = append(files, k.file)
		}
	}
	return files
}

// writeMain writes what the script does in the end.
func (s *sheet) writeMain(w *page, kind scriptKind) {
	puts := func() {
		for i, file := range s.files() {
			if kind.keeps {
				w.line("\tput ", strconv.Itoa(i+1), " ", shellWord(file), " '", commentsOf(file).mark, "'")
			}
		}
	}
	unset := func() {
		for _, line := range kind.first {
			w.line("\t", line)
		}
		w.line("\tunset_all")
		puts()
		if !kind.plan {
			w.line("\t[ -s \"$saved\" ] || rm -f \"$saved\"")
		}
		w.line("\t;;")
	}
	w.blank()
	w.line("case ${1-} in")
	w.line("'')")
	if kind.undo {
		unset()
		w.line("*) die \"usage: $0\" ;;")
	} else {
		w.line("\tsettings")
		puts()
		w.line("\t;;")
		w.line("--undo)")
		unset()
		w.line("*) die \"usage: $0 [--undo]\" ;;")
	}
	w.line("esac")
	w.line("exit \"$status\"")
}

// exactRead is a command that prints the present value and nothing else.
func (s *setting) exactRead() string {
	if s.entry.Read == "" {
		return ""
	}
	filter := ""
	switch read := s.entry.Read; {
	case strings.HasSuffix(read, "| mdb -k"): // "clnt_max_conns: 1", below a line of its own name; END has no fields in older awks
		filter = ` | awk '{last = $NF} END {print last}'`
	case strings.HasPrefix(read, "networksetup -getMTU") && !strings.Contains(read, "|"): // "Active MTU: 1500 (Current Setting: 1500)"
		filter = ` | sed -n 's/.*Active MTU: \([0-9]*\).*/\1/p'`
	case strings.HasPrefix(read, "ifconfig") && !strings.Contains(read, "|"): // "em0: flags=8843<UP,...> metric 0 mtu 1500"
		filter = ` | sed -n 's/.* mtu \([0-9]*\).*/\1/p'`
	case strings.HasPrefix(read, "sharectl get") && !strings.Contains(read, "|"): // "servers=16"
		filter = ` | sed 's/.*=//'`
	}
	return s.inShell(s.entry.Read, "2", "3") + filter
}
