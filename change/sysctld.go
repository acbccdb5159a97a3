package change

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/tunable"
)

// sysctlDirs are where settings for every boot are looked for, the first
// before the others (sysctl.d(5)). The last is the fourth by another name,
// except where /usr was not merged.
var sysctlDirs = []string{"etc/sysctl.d", "run/sysctl.d", "usr/local/lib/sysctl.d", "usr/lib/sysctl.d", "lib/sysctl.d"}

// sysctlConf is the file of old. systemd reads it only where a link in one of
// the directories points to it; sysctl --system reads it too, and last.
const sysctlConf = "etc/sysctl.conf"

// maxSettings bounds how much of a settings file is read, in bytes; systemd
// bounds a single line so.
const maxSettings = 1 << 20

// Source is what sets a tunable at every boot; the zero Source: nothing does.
type Source struct {
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
	Value string `json:"value,omitempty"`
}

// assignment is a line of a settings file, its key as systemd-sysctl normalises
// it: the path under /proc/sys.
type assignment struct {
	key, file string
	line      int
	value     string
	negative  bool // "-key": nothing sets it, and no pattern does
}

func (a *assignment) source() Source { return Source{a.file, a.line, a.value} }

// bootSettings are the assignments that remain of all files, in the order in
// which systemd-sysctl makes them.
type bootSettings []assignment

// readBoot merges what is under root, in systemd's order: by the files' names,
// whatever their directory; of two with one name, that of the first directory
// counts, even if it is empty or leads to /dev/null (a mask). What text gives
// for a path, if anything, is taken for that file's content.
func readBoot(root string, text map[string][]byte) bootSettings {
	var all bootSettings
	for _, path := range settingFiles(root, text) {
		content, ok := text[path]
		if !ok {
			content = readSettings(filepath.Join(root, path))
		}
		for _, a := range parseSettings("/"+path, string(content)) {
			all = all.with(a)
		}
	}
	return all
}

// with adds an assignment. One that says what was said before, and is not made
// another time, keeps its place; otherwise the last one counts, in its place.
func (b bootSettings) with(a assignment) bootSettings {
	i := slices.IndexFunc(b, func(o assignment) bool { return o.key == a.key })
	if i >= 0 && b[i].negative == a.negative && b[i].value == a.value {
		return b
	}
	if i >= 0 {
		b = slices.Delete(b, i, i+1)
	}
	return append(b, a)
}

// of says what a boot makes of a tunable: the assignment of its very name, or
// of the last pattern that fits; nil if nothing sets it. One that is negative
// keeps patterns off.
func (b bootSettings) of(name string) *assignment { return b.ofKey(normaliseKey(name)) }

func (b bootSettings) ofKey(key string) *assignment {
	var found *assignment
	for i := range b {
		switch {
		case b[i].key == key:
			return &b[i]
		case !b[i].negative && isPattern(b[i].key) && patternFits(b[i].key, key):
			found = &b[i]
		}
	}
	return found
}

// settingFiles gives the files in the order in which a boot reads them, as
// paths under root; those that text has are there in any case.
func settingFiles(root string, text map[string][]byte) []string {
	var files []string
	add := func(path string) {
		same := func(f string) bool { return filepath.Base(f) == filepath.Base(path) }
		if !slices.ContainsFunc(files, same) {
			files = append(files, path)
		}
	}
	for _, dir := range sysctlDirs {
		for path := range text {
			if filepath.Dir(path) == dir {
				add(path)
			}
		}
		entries, _ := os.ReadDir(filepath.Join(root, dir))
		for _, e := range entries {
			if kind := e.Type(); !kind.IsRegular() && kind&os.ModeSymlink == 0 {
				continue
			}
			if name := e.Name(); strings.HasSuffix(name, ".conf") && !strings.HasPrefix(name, ".") {
				add(filepath.Join(dir, name))
			}
		}
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(filepath.Base(a), filepath.Base(b)) })
	return files
}

// readSettings reads one file; what it cannot read, a boot cannot either.
func readSettings(path string) []byte {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() { // a mask, or nothing
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSettings))
	if err != nil {
		return nil
	}
	return text
}

// lineEnds are what systemd takes for the end of a line.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\n\r", "\n", "\r", "\n", "\x00", "\n")

// whitespace is what systemd takes off both ends of lines, names and values.
const whitespace = " \t\n\r"

// parseSettings reads the text of one file as systemd-sysctl does. Lines that
// are not assignments are left out, as they are at boot.
func parseSettings(file, text string) []assignment {
	var all []assignment
	number := 0
	for line := range strings.Lines(lineEnds.Replace(text)) {
		number++
		line = strings.Trim(line, whitespace)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		name, value, isSet := strings.Cut(line, "=")
		name, dash := strings.CutPrefix(name, "-") // before a value: it may fail
		if !isSet && !dash {
			continue
		}
		key := normaliseKey(strings.Trim(name, whitespace))
		if key == "" {
			continue
		}
		all = append(all, assignment{key: key, file: file, line: number, value: tunable.Normalise(value), negative: !isSet})
	}
	return all
}

// normaliseKey writes a name as a path. Names may have dots or slashes between
// their parts; the first one met says which, and the other one is then of a
// part's name (sysctl.d(5)).
func normaliseKey(name string) string {
	if i := strings.IndexAny(name, "/."); i >= 0 && name[i] == '.' {
		name = strings.NewReplacer("/", ".", ".", "/").Replace(name)
	}
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "." })
	return strings.Join(parts, "/")
}

// isPattern reports whether the key stands for all files that fit (glob(7)).
func isPattern(key string) bool { return strings.ContainsAny(key, "*?[") }

// patternFits reports whether glob(7) finds key by the pattern.
func patternFits(pattern, key string) bool {
	fits, err := regexp.Compile("^" + globExpression(pattern) + "$")
	return err == nil && fits.MatchString(key)
}

// globExpression writes a pattern as a regular expression. A bracket that is not
// closed stands for itself.
func globExpression(pattern string) string {
	var out strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			out.WriteString("[^/]*")
		case '?':
			out.WriteString("[^/]")
		case '\\':
			if i+1 < len(pattern) {
				i++
			}
			out.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		case '[':
			class, length := globClass(pattern[i:])
			if length == 0 {
				out.WriteString(`\[`)
				continue
			}
			out.WriteString(class)
			i += length - 1
		default:
			out.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	return out.String()
}

// globClass reads the bracket that s begins with: the same as a class of a
// regular expression, and its length in s; 0 if it is not closed within a part
// of the path.
func globClass(s string) (class string, length int) {
	i, negated := 1, ""
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		i, negated = i+1, "^/"
	}
	var out strings.Builder
	for first := true; i < len(s) && s[i] != '/'; first = false {
		switch {
		case s[i] == ']' && !first:
			return "[" + negated + out.String() + "]", i + 1
		case strings.HasPrefix(s[i:], "[:") && strings.Contains(s[i:], ":]"):
			end := strings.Index(s[i:], ":]") + 2
			out.WriteString(s[i : i+end])
			i += end
			continue
		case s[i] == '\\' && i+1 < len(s):
			i++
			out.WriteString(regexp.QuoteMeta(s[i : i+1]))
		case s[i] == '-' && !first && i+1 < len(s) && s[i+1] != ']':
			out.WriteByte('-')
		default:
			if strings.IndexByte(`\[]^-&~`, s[i]) >= 0 {
				out.WriteByte('\\')
			}
			out.WriteByte(s[i])
		}
		i++
	}
	return "", 0
}
