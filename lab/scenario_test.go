package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/lab/schema"
	"github.com/fullbore/fullbore/lab/wire"
	"github.com/fullbore/fullbore/unit"
)

// TestInvalid: every file in testdata/invalid is wrong, and the error beside it
// says where and how.
func TestInvalid(t *testing.T) {
	files, err := filepath.Glob("testdata/invalid/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := LoadAny(filepath.FromSlash(file))
			if err == nil {
				t.Fatal("accepted")
			}
			got := strings.ReplaceAll(err.Error(), filepath.FromSlash("testdata/invalid/"), "")
			golden.Check(t, "invalid/"+strings.TrimSuffix(filepath.Base(file), ".yaml")+".error", got+"\n")
		})
	}
}

func TestDraw(t *testing.T) {
	for _, name := range []string{"california-uk", "lossy-wan", "clean-lan"} {
		scenario, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name+".txt", scenario.Draw())
	}
}

func TestUnknownName(t *testing.T) {
	for name, want := range map[string]string{
		"california":           `unknown scenario "california" (did you mean california-uk?): see fullbore lab list, or name a .yaml file`,
		"lan-jumbp":            `unknown scenario "lan-jumbp" (did you mean lan-jumbo?): see fullbore lab list, or name a .yaml file`,
		"nothing-alike-at-all": `unknown scenario "nothing-alike-at-all": see fullbore lab list, or name a .yaml file`,
	} {
		_, err := Load(name)
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	if _, err := Load("no/such/file"); !os.IsNotExist(unwrapped(err)) {
		t.Errorf("no/such/file: got %v", err)
	}
}

func unwrapped(err error) error {
	if w, ok := err.(interface{ Unwrap() error }); ok {
		return w.Unwrap()
	}
	return err
}

// TestBuiltin holds for every scenario that comes with the program: its hosts
// do not depend on the settings of the machine it runs on.
func TestBuiltin(t *testing.T) {
	for _, s := range Builtin() {
		t.Run(s.Name, func(t *testing.T) {
			if s.About == "" || s.Path.MTU == 0 || s.Path.BToA == nil || s.Expect.Cause == "" {
				t.Error("incomplete")
			}
			if _, err := scenarioFiles.Open("scenarios/" + s.Name + ".yaml"); err != nil {
				t.Errorf("file has another name: %v", err)
			}
			for name, h := range map[string]HostSpec{"a": s.Hosts.A, "b": s.Hosts.B} {
				if h.Congestion == "" || h.Sysctl["net.ipv4.tcp_rmem"] == "" || h.Sysctl["net.ipv4.tcp_wmem"] == "" {
					t.Errorf("host %s follows the machine's settings", name)
				}
			}
		})
	}
}

// TestHostBounds: what is checked of a host by hand, on both sides of each bound.
func TestHostBounds(t *testing.T) {
	for value, wrong := range map[string]bool{
		"congestion: " + strings.Repeat("c", 15):             false,
		"congestion: " + strings.Repeat("c", 16):             true,
		"sysctl: {net.a: " + strings.Repeat("1", 1024) + "}": false,
		"sysctl: {net.a: " + strings.Repeat("1", 1025) + "}": true,
		`sysctl: {net.a: "1\n2"}`:                            true,
		`sysctl: {net.a: "1\0"}`:                             true,
		"sysctl: {net: 1}":                                   true,
	} {
		_, err := Parse("x.yaml", []byte("name: "+strings.Repeat("n", 64)+"\npath: {a_to_b: {rate: 1gbit}}\nhosts: {b: {"+value+"}}"))
		if (err != nil) != wrong {
			t.Errorf("%.30s…: %v", value, err)
		}
	}
	file := filepath.Join(t.TempDir(), "x.yaml")
	for size, wrong := range map[int]bool{schema.MaxFile: false, schema.MaxFile + 1: true} {
		text := "name: x\npath: {a_to_b: {rate: 1gbit}} #"
		if err := os.WriteFile(file, []byte(text+strings.Repeat("#", size-len(text))), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(file); (err != nil) != wrong {
			t.Errorf("a file of %d bytes: %v", size, err)
		}
	}
	if _, err := Parse("x.yaml", []byte("name: "+strings.Repeat("n", 65)+"\npath: {a_to_b: {rate: 1gbit}}")); err == nil {
		t.Error("a name of 65 letters was accepted")
	}
}

func TestPath(t *testing.T) {
	s, err := Load("california-uk")
	if err != nil {
		t.Fatal(err)
	}
	p := &s.Path
	if got, want := p.RTT(), 150*time.Millisecond; got != want {
		t.Errorf("RTT %s, want %s", got, want)
	}
	if got, want := p.BDP(&p.AToB), unit.Size(18_750_000); got != want {
		t.Errorf("BDP %d, want %d", got, want)
	}
	if got, want := p.Goodput(&p.AToB).String(), "965 Mb/s"; got != want {
		t.Errorf("goodput %s, want %s", got, want)
	}
}

// FuzzParse: whatever the file, the answer is a complete scenario or an error,
// never a panic. A scenario can be drawn and given to the wire.
func FuzzParse(f *testing.F) {
	for _, s := range Builtin() {
		data, err := scenarioFiles.ReadFile("scenarios/" + s.Name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("name: x\npath: {a_to_b: {rate: 1gbit, loss: {model: gilbert, p: 1%, r: 2%}}}\ntraffic: [{from: a, to: b, flows: 1}]\n"))
	f.Add([]byte("name: x\npath: {a_to_b: {rate: 1gbit, outage: {every: 1h, for: 1s}, strip: [sack], black_hole_above: 1400}}\n"))
	f.Add([]byte("~"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("fuzz.yaml", data)
		if err != nil {
			return
		}
		if s.Path.MTU == 0 || s.Path.BToA == nil || s.Name == "" {
			t.Errorf("incomplete: %+v", s)
		}
		_ = s.Draw()
		for _, d := range []*wire.Direction{&s.Path.AToB, s.Path.BToA} {
			if faults := d.Faults(s.Path.RTT(), s.Path.MTU); faults != nil {
				t.Errorf("the wire refuses it: %v", faults)
			}
		}
	})
}
