package format

import (
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
		if !f.comments.are(strings.TrimSpace(line)) {
			out.WriteString(line)
		}
	}
	return out.String()
}

// attacks are texts that mean something to one of the formats' readers.
var attacks = []string{
	"$(touch /tmp/x) `touch /tmp/x`", "a\nreboot\n", "a\r\nformat c:\r\n", "--> <evil/> <!--", "{{ lookup('pipe', 'id') }}", "*/ end", "' \" ''", "%~1 & del *", "${builtins.currentTime}",
	"’; Remove-Item C:\\ #", "#> evil <#", "trailing \\", "trailing ^", "-", "---", "\x00\x1b[2J", "\u2028x\u0085y", "{% raw %}", "]]>", "\xff\xfe", "fullbore end", "", strings.Repeat("long ", 200), strings.Repeat("x", 20000) + "&del", strings.Repeat("x", 9000),
}

// TestTexts: whatever facts and plans say of themselves, it stays in comments,
// on lines of printable text.
func TestTexts(t *testing.T) {
	t.Parallel()
	for _, p := range pairs() {
		for _, text := range attacks {
			p.stays(t, text, text)
		}
	}
}

// FuzzTexts is TestTexts with any two texts. It begins with one attack a pair:
// what it begins with takes the fuzzer longer than what it makes of it.
func FuzzTexts(f *testing.F) {
	all := pairs()
	for i := range all {
		f.Add(attacks[i%len(attacks)], attacks[(i+7)%len(attacks)], uint8(i))
	}
	f.Fuzz(func(t *testing.T, text, other string, which uint8) {
		all[int(which)%len(all)].stays(t, text, other)
	})
}

// stays writes the pair with texts of somebody else's in it.
func (p *pair) stays(t *testing.T, text, other string) {
	t.Helper()
	facts := *p.host
	facts.Name, facts.Distribution, facts.Managers = text, other, []host.Manager{{Name: "tuned", Sets: "profile " + text}}
	hostile := example{host: &facts, plan: &plan.Plan{Notes: []string{text}}}
	for _, s := range p.plan.Steps {
		for _, ch := range s.Changes {
			ch.Host, ch.Why, ch.Source = text, text+other, other
			hostile.plan.Steps = append(hostile.plan.Steps, plan.Step{Idea: text, Risk: other, Changes: []plan.Change{ch}})
		}
	}
	for i, file := range written(t, p.format, hostile) {
		if got := unnamed(uncommented(file)); got != p.lines[i] {
			t.Fatalf("%s, %s, %s: the texts change more than comments (-benign +hostile):\n%s", p.name, p.format.Name, file.Name, cmp.Diff(p.lines[i], got))
		}
		printed(t, p.format, file)
	}
}

// pair is an example, of which a few changes are enough, one of its formats, and
// the lines that matter of the files.
type pair struct {
	example
	format Format
	lines  []string
}

var pairs = sync.OnceValue(func() []pair {
	var all []pair
	for _, c := range examples() {
		c.host.Managers = nil
		if n := len(c.plan.Steps); n > 3 { // the last is one that the host does not have, or the like
			c.plan.Steps = append(c.plan.Steps[:2:2], c.plan.Steps[n-1])
		}
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
		if len(line) > 4*longest {
			t.Fatalf("%s, %s: a line has %d bytes: %.100s...", f.Name, file.Name, len(line), line)
		}
		if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) && r != '\t' }); i >= 0 {
			t.Fatalf("%s, %s: %q cannot be printed", f.Name, file.Name, line)
		}
	}
}

// TestPattern: a play is for the plan's host, and asks where that cannot be named.
func TestPattern(t *testing.T) {
	const ask = `"{{ fullbore_host }}"`
	for name, want := range map[string]string{
		"host-a": "host-a", "192.0.2.1": "!unsafe '192.0.2.1'", "no": "!unsafe 'no'",
		"": ask, "all": ask, "{{ x }}": ask, "all:!b": ask, "a\nb": ask, "-x": ask, "'": ask, "~x": ask, "a,b": ask, strings.Repeat("x", 256): ask, "fd00::1": ask, "ungrouped": ask,
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
		"profile a b": "", "profile " + strings.Repeat("x", 256): "", "profile a\nexec=x": "", "profile ${f:exec:id}": "", "profile ../x": "", "profile -x": "", "profile x/../../../tmp/y": "",
	} {
		if got := (&sheet{host: &host.Facts{Managers: []host.Manager{{Name: "TuneD", Sets: sets}}}}).profile(); got != want {
			t.Errorf("%q: profile %q, want %q", sets, got, want)
		}
	}
}

// TestHostileOldValues: an old value that the catalogue would not take is as good
// as one that is not known.
func TestHostileOldValues(t *testing.T) {
	lines := func(c example, f Format, from string) string {
		altered := example{host: c.host, plan: &plan.Plan{}}
		for _, s := range c.plan.Steps {
			ch := s.Changes[0]
			ch.From = from
			altered.plan.Steps = append(altered.plan.Steps, plan.Step{Changes: []plan.Change{ch}})
		}
		var out strings.Builder
		for _, file := range written(t, f, altered) {
			for line := range strings.Lines(uncommented(file)) {
				if !strings.Contains(line, "Former = ") { // quoted, and see TestPowerShellStrings
					out.WriteString(line)
				}
			}
		}
		return out.String()
	}
	for _, c := range examples() {
		for _, f := range All() {
			if !f.For(c.host) {
				continue
			}
			want := lines(c, f, "")
			for _, from := range []string{"$(touch /tmp/x)", "1500; reboot", "1500 & del *", "a\nreboot\n", "'; Remove-Item C:\\; '", "{{ lookup('pipe', 'id') }}", "1|2"} {
				if d := cmp.Diff(want, lines(c, f, from)); d != "" {
					t.Errorf("%s, %s: an old value of %q counts (-unknown +hostile):\n%s", c.name, f.Name, from, d)
				}
			}
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
