package format

import (
	"path"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/plan"
)

// uncommented gives the lines of a file that are no comments, as the file's own
// reader tells them apart.
func uncommented(f File) string {
	var out strings.Builder
	for line := range strings.Lines(f.Text) {
		start := strings.TrimLeft(line, " \t")
		comment := false
		switch path.Ext(f.Name) {
		case ".xml", ".plist": // in one line each: what is after the comment counts
			if strings.HasPrefix(start, "<!--") {
				_, after, closed := strings.Cut(start[4:], "--")
				comment = closed && after == ">\n"
			}
		case ".cmd":
			comment = strings.HasPrefix(start, "rem ") && !strings.ContainsAny(start, "%!^&|<>\"") || start == "rem\r\n"
		case "":
			comment = strings.HasPrefix(start, "#") || strings.HasPrefix(start, "* ") && f.Name == "etc-system"
		default:
			comment = strings.HasPrefix(start, "#") && start != "#cloud-config\n"
		}
		if !comment {
			out.WriteString(line)
		}
	}
	return out.String()
}

// FuzzTexts: whatever facts and plans say of themselves, it stays in comments,
// on lines of printable text.
func FuzzTexts(f *testing.F) {
	for _, text := range []string{
		"$(touch /tmp/x) `touch /tmp/x`", "a\nreboot\n", "a\r\nformat c:\r\n", "--> <evil/> <!--", "{{ lookup('pipe', 'id') }}", "*/ end", "' \" ''", "%~1 & del *", "${builtins.currentTime}",
		"’; Remove-Item C:\\ #", "#> evil <#", "trailing \\", "trailing ^", "-", "---", "\x00\x1b[2J", "\u2028x\u0085y", "{% raw %}", "]]>", "\xff\xfe", "fullbore end", "", strings.Repeat("long ", 200),
	} {
		for i := range pairs() {
			f.Add(text, text, uint8(i))
		}
	}
	all := pairs()
	f.Fuzz(func(t *testing.T, text, other string, which uint8) {
		one := all[int(which)%len(all)]
		facts := *one.host
		facts.Name, facts.Distribution, facts.Managers = text, other, []host.Manager{{Name: "tuned", Sets: "profile " + text}}
		hostile := example{host: &facts, plan: &plan.Plan{Notes: []string{text}}}
		for _, s := range one.plan.Steps {
			for _, ch := range s.Changes {
				ch.Host, ch.Why, ch.Source = text, text+other, other
				hostile.plan.Steps = append(hostile.plan.Steps, plan.Step{Idea: text, Risk: other, Changes: []plan.Change{ch}})
			}
		}
		for i, file := range written(t, one.format, hostile) {
			if got := unnamed(uncommented(file)); got != one.lines[i] {
				t.Fatalf("%s, %s, %s: the texts change more than comments (-benign +hostile):\n%s", one.name, one.format.Name, file.Name, cmp.Diff(one.lines[i], got))
			}
			printed(t, one.format, file)
		}
	})
}

// pair is an example, one of its formats, and the lines that matter of the files.
type pair struct {
	example
	format Format
	lines  []string
}

var pairs = sync.OnceValue(func() []pair {
	var all []pair
	for _, c := range examples() {
		c.host.Managers = nil
		for _, f := range All() {
			if !f.For(c.host) {
				continue
			}
			p := pair{example: c, format: f}
			for _, write := range []func(*plan.Plan, *host.Facts) ([]File, error){f.Write, f.Undo} {
				files, err := write(c.plan, c.host)
				if err != nil {
					panic(err)
				}
				for _, file := range files {
					p.lines = append(p.lines, unnamed(uncommented(file)))
				}
			}
			all = append(all, p)
		}
	}
	return all
})

// unnamed leaves out what may hold a host's or a profile's name, which
// TestPattern and TestProfile look at, and the lines between blocks.
func unnamed(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if start := strings.TrimSpace(line); start != "" && !strings.HasPrefix(start, "hosts: ") && !strings.HasPrefix(start, "include=") &&
			!strings.HasPrefix(start, "tuned-adm ") {
			out.WriteString(line)
		}
	}
	return out.String()
}

func printed(t *testing.T, f Format, file File) {
	t.Helper()
	for line := range strings.Lines(file.Text) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) && r != '\t' }); i >= 0 {
			t.Fatalf("%s, %s: %q cannot be printed", f.Name, file.Name, line)
		}
	}
}

func TestPattern(t *testing.T) {
	for name, want := range map[string]string{
		"host-a": "host-a", "192.0.2.1": "!unsafe '192.0.2.1'", "no": "!unsafe 'no'",
		"": "all", "{{ x }}": "all", "all:!b": "all", "a\nb": "all", "-x": "all", "'": "all", "~x": "all", "a,b": "all", "fd00::1": "all",
	} {
		got := (&sheet{host: &host.Facts{Name: name}}).pattern()
		got, _, _ = strings.Cut(got, " #")
		if got != want {
			t.Errorf("%q: hosts: %s, want %s", name, got, want)
		}
	}
}

func TestProfile(t *testing.T) {
	for sets, want := range map[string]string{
		"profile network-throughput": "network-throughput", "network-throughput": "", "profile fullbore": "", "profile ": "",
		"profile a b": "", "profile a\nexec=x": "", "profile ${f:exec:id}": "", "profile ../x": "", "profile -x": "",
	} {
		if got := (&sheet{host: &host.Facts{Managers: []host.Manager{{Name: "TuneD", Sets: sets}}}}).profile(); got != want {
			t.Errorf("%q: profile %q, want %q", sets, got, want)
		}
	}
}

// TestHostileNames: names of instances that no system has are left out, and so
// are values that the catalogue refuses.
func TestHostileNames(t *testing.T) {
	for _, c := range []plan.Change{
		change("link.mtu@-s", "1500", "9000"), change("link.mtu@../x", "1500", "9000"), change("link.mtu@a\nb", "1500", "9000"),
		change("link.mtu@", "1500", "9000"), change("link.mtu", "1500", "9000"), change("link.mtu@a|b", "1500", "9000"),
		change("link.mtu@"+strings.Repeat("e", 256), "1500", "9000"), change("link.mtu@\xff", "1500", "9000"),
		change("net.ipv4.tcp_sack@eth0", "0", "1"), change("net.ipv4.tcp_sack", "0", "1; reboot"), change("net.ipv4.tcp_sack", "0", "$(id)"),
		change("net.ipv4.tcp_congestion_control", "cubic", "bbr'"), change("net.ipv4.tcp_rmem", "1 2 3", "3 2 1"), change("x\ny", "0", "1"),
	} {
		e := made("one", "linux", "6.18", c)
		if s := newSheet(e.plan, e.host); len(s.settings) != 0 || len(s.left) != 1 {
			t.Errorf("%+q = %q is not left out: %+v", c.Tunable, c.To, s)
		}
	}
}
