package html

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	xhtml "golang.org/x/net/html"

	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/record"
)

func written(t testing.TB, runs ...*record.Run) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, runs); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// realRuns are reports as people make them.
func realRuns(t testing.TB) map[string][]*record.Run {
	return map[string][]*record.Run{
		"diagnosis": {diagnosed(t, "lossy-wan")},
		"tuning":    {tuned(t)},
		"test":      {testedRun(t)},
		"compare":   {testedRun(t, "-C cubic", "-C bbr")},
		"sweep":     {sweptRun(t, "sweep-grid")},
		"nfs-test":  {requestsRun(t, 4)}, "nfs-diagnosis": {limitsRun(t)}, "nfs-tuning": {raisedRun(t)}, "nfs-comparison": {requestsRun(t, 1), requestsRun(t, 4)},
		"mesh": {meshRun(t)}, "incast": {incastRun(t)},
		"comparison": {diagnosed(t, "california-uk"), diagnosed(t, "clean-wan")},
	}
}

var pictures = regexp.MustCompile(`(?s)<svg.*?</svg>`)

// What the pages say is in testdata, their pictures only of the diagnosis: how those
// are drawn is figure's. The same runs make the same bytes.
func TestPages(t *testing.T) {
	for name, runs := range realRuns(t) {
		page := written(t, runs...)
		if again := written(t, runs...); !bytes.Equal(page, again) {
			t.Errorf("%s: the same runs make two pages", name)
		}
		shown, _, _ := bytes.Cut(page, []byte(opening))
		if name != "diagnosis" {
			shown = pictures.ReplaceAll(shown, []byte("<svg>…</svg>"))
		}
		shown = regexp.MustCompile(`(?s)<style>.*</style>|sha256-[^;]*`).ReplaceAll(shown, []byte("…"))
		golden.Check(t, name+".html", shown)
		if len(page) > Comfortable {
			t.Errorf("%s: %d bytes, more than the %d that a report commonly has", name, len(page), Comfortable)
		}
	}
}

// A ticket has what the page's first screen has.
func TestMarkdown(t *testing.T) {
	for name, runs := range realRuns(t) {
		var out bytes.Buffer
		if err := Markdown(&out, runs); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name+".md", out.Bytes())
	}
}

// The first screen, without any script, has the verdict, before and after with the
// interval, what was changed, how to undo it, and what tuning cannot fix: in this order,
// and before the first figure.
func TestFirstScreen(t *testing.T) {
	page := string(written(t, tuned(t)))
	at := 0
	for _, want := range []string{"<h1", "receiver-buffer (97 % sure)", "The sender waits for the receiver", "2.78 Mb/s", "193 Mb/s", "(95 %: x 68 to x 70.8)",
		"net.ipv4.tcp_rmem", "4096 65536 67108864", "fullbore revert 20261120-093214-f03da3", "What tuning cannot fix", "ethtool -G eth0 rx 4096", "<svg"} {
		i := strings.Index(page[at:], want)
		if i < 0 {
			t.Fatalf("%q does not follow", want)
		}
		at += i
	}
	if n := strings.Count(page, "<script"); n != 1 || !strings.Contains(page, opening) {
		t.Errorf("%d script elements, want only the run's data", n)
	}
}

// elements are all that a page has, and attributes what they may have.
var elements = strings.Fields("html head meta title style body main header p h1 h2 h3 h4 article span strong div table thead tbody tr th td ul li br code dl dt dd details summary figure figcaption svg desc text path rect section footer script")

var attributes = strings.Fields("lang charset http-equiv content name class type xmlns role tabindex aria-label scope viewbox x y d width height text-anchor")

// audit holds a page against what no text from elsewhere may change: its elements,
// their attributes, a policy that lets nothing load or run, and characters that show
// what they are.
func audit(t testing.TB, page []byte) {
	t.Helper()
	root, err := xhtml.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	policy, style, scripts := "", "", 0
	for n := range root.Descendants() {
		switch n.Type {
		case xhtml.TextNode:
			for _, r := range n.Data {
				if r != '\n' && (r < ' ' || r == 0x7f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069) {
					t.Fatalf("text %.100q has the character %U", n.Data, r)
				}
			}
		case xhtml.ElementNode:
			if !slices.Contains(elements, n.Data) {
				t.Fatalf("element <%s>", n.Data)
			}
			for _, a := range n.Attr {
				if !slices.Contains(attributes, strings.ToLower(a.Key)) {
					t.Fatalf("<%s> has the attribute %s=%.60q", n.Data, a.Key, a.Val)
				}
				if a.Key == "content" && strings.HasPrefix(a.Val, "default-src") {
					policy = a.Val
				}
			}
			switch n.Data {
			case "style":
				style += n.FirstChild.Data
			case "script":
				scripts++
				if n.Attr[0].Val != "application/gzip" || strings.Trim(n.FirstChild.Data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\n") != "" {
					t.Fatal("a script element that is not the run's data")
				}
			}
		}
	}
	sum := sha256.Sum256([]byte(style))
	if want := "default-src 'none'; img-src data:; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"; policy != want {
		t.Errorf("the policy is %q, want %q", policy, want)
	}
	if len(page) > Most {
		t.Errorf("%d bytes, more than %d", len(page), Most)
	}
}

func TestNothingIsLoadedNothingRuns(t *testing.T) {
	for _, runs := range realRuns(t) {
		audit(t, written(t, runs...))
	}
}

// nasty are names and errors as a hostile far end may report them.
var nasty = []string{
	"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "' onload='alert(1)", "</script><script>alert(1)</script>", "</style><style>*{display:none}", "</title>", "-->",
	"{{.}}", "\u202egnp.exe", "\u2066x", "a\x00b\x1b[2Jc\x07", "\xff\xfe", strings.Repeat("long", 2500), strings.Repeat("\U0001f4a9", 2500), "]]>", "&lt;", "javascript:alert(1)", "`|*_[x](http://example.net)", "\r\n\r\n# heading", opening,
}

// infect writes a text into every place of a run that another program could have
// filled.
func infect(run *record.Run, text string) {
	run.From, run.To, run.Verdict, run.Version, run.Error, run.Scenario, run.ID = text, text, text, text, text, text, text
	run.Command, run.Tags = []string{"diagnose", text}, []string{text}
	for i := range run.Events {
		run.Events[i].Text = text
	}
	quoted := fmt.Sprintf("%q", strings.ToValidUTF8(text, " "))
	quoted = strings.NewReplacer(`\x00`, `\u0000`, `\x1b`, `\u001b`, `\a`, `\u0007`, `\x07`, `\u0007`, `\U0001f4a9`, "💩").Replace(quoted)
	run.Document = regexp.MustCompile(`"(says|action|host|tunable|effect|why|undo|note|cause|method)":\s*"[^"]*"`).ReplaceAll(run.Document, []byte(`"$1":`+strings.ReplaceAll(quoted, "$", "$$")))
	for i := range run.Transfers {
		t := &run.Transfers[i]
		t.Phase, t.Error = text, text
		if t.Result == nil {
			continue
		}
		r := *t.Result
		r.Client.Host, r.Server.Host, r.Client.Error, r.Server.Error = text, text, text, text
		r.Client.Streams = slices.Clone(r.Client.Streams)
		for j := range r.Client.Streams {
			r.Client.Streams[j].Congestion, r.Client.Streams[j].PathNote = text, text
		}
		t.Result = &r
	}
	for i := range run.Hosts {
		h := *run.Hosts[i].Is
		h.Name, h.OS, h.Distribution, h.CPUModel = text, text, text, text
		h.Tunables = map[string]string{text: text, "net.ipv4.tcp_rmem": text}
		run.Hosts[i].Is = &h
	}
}

// The page of a comparison of variants has both medians, as they were measured.
func TestComparisonOfVariants(t *testing.T) {
	page := string(written(t, testedRun(t, "-C cubic", "-C bbr")))
	for _, want := range []string{"<span>A 58.9 Mb/s</span>", "<strong>B ", "3 runs of each", "processor time of this end&#39;s process", "B is "} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q", want)
		}
	}
}

// Whatever a far end calls itself, and whatever it says went wrong, is text.
func TestHostileTexts(t *testing.T) {
	for _, text := range nasty {
		one, two := diagnosed(t, "california-uk"), tuned(t)
		infect(one, text)
		infect(two, text)
		audit(t, written(t, one))
		page := written(t, one, two)
		audit(t, page)
		if _, err := Read(bytes.NewReader(page)); err != nil {
			t.Errorf("%.40q: %v", text, err)
		}
		var out bytes.Buffer
		if err := Markdown(&out, []*record.Run{one, two}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			plain := withoutCode(strings.TrimSuffix(line, "\n"))
			for _, acted := range []string{"<", "](", "://", "\x1b", "\u202e", "\x00"} {
				if strings.Contains(plain, acted) {
					t.Errorf("the ticket has %q in %.100q", acted, plain)
				}
			}
			if strings.HasPrefix(plain, "#") && !strings.HasPrefix(plain, "## ") && !strings.HasPrefix(plain, "### ") {
				t.Errorf("the ticket has the heading %.100q", plain)
			}
		}
	}
}

// withoutCode is a line of Markdown without what stands between as many backquotes at
// both ends.
func withoutCode(line string) string {
	var plain strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line):
			i++
		case line[i] == '`':
			n := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
			for j := i + n; j < len(line); j++ {
				m := len(line[j:]) - len(strings.TrimLeft(line[j:], "`"))
				if m == n {
					i = j + n - 1
					break
				}
				j += max(0, m-1)
			}
		default:
			plain.WriteByte(line[i])
		}
	}
	return plain.String()
}

// A run that failed says why, first of all, and shows what there is.
func TestFailedRun(t *testing.T) {
	run := diagnosed(t, "clean-wan")
	run.State, run.Error, run.Document, run.Verdict = record.Failed, "peer backup: no answer", nil, ""
	page := string(written(t, run))
	for _, want := range []string{"<h1 class=\"headline \">193 Mb/s</h1>", "It failed: peer backup: no answer. What was measured until then stands.", "Goodput over time"} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q", want)
		}
	}
	empty := &record.Run{Header: record.Header{Kind: record.Tune, State: record.Interrupted}, Document: []byte(`{"kept":`)}
	page = string(written(t, empty))
	for _, want := range []string{"Nothing was measured", "It was interrupted.", "what tune printed cannot be read"} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q", want)
		}
	}
}
