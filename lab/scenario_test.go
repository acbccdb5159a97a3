package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/internal/golden"
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
			_, err := Load(filepath.FromSlash(file))
			if err == nil {
				t.Fatal("accepted")
			}
			got := strings.ReplaceAll(err.Error(), filepath.FromSlash("testdata/invalid/"), "")
			golden.Check(t, "invalid/"+strings.TrimSuffix(filepath.Base(file), ".yaml")+".error", got+"\n")
		})
	}
}

func TestFullScenario(t *testing.T) {
	got, err := Load(filepath.FromSlash("testdata/full.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Scenario{
		Name:  "full",
		About: "every key of the format",
		Path: Path{
			MTU: 9000,
			AToB: Direction{
				Rate:           1e9,
				Delay:          Duration(75 * time.Millisecond),
				Jitter:         Duration(time.Millisecond),
				Loss:           Loss{Model: "gilbert", P: 0.001, R: 0.25, Loss: 0.5},
				Reorder:        Reorder{Share: 0.02, By: Duration(5 * time.Millisecond)},
				Duplicate:      0.001,
				Corrupt:        0.0001,
				Queue:          Queue{BDP: 0.5},
				Policer:        Policer{Rate: 500e6, Burst: 256000},
				ECN:            ECN{Above: Queue{Packets: 50}},
				BlackHoleAbove: 1400,
				MSSClamp:       1360,
				Strip:          []string{"wscale", "sack", "timestamps"},
				Seed:           7,
			},
			BToA: &Direction{Rate: 20e6, Delay: Duration(5 * time.Millisecond), Queue: Queue{Time: 20 * time.Millisecond}, Loss: Loss{Loss: 0.0001}},
		},
		Hosts: Hosts{
			A: HostSpec{Congestion: "cubic", SlowWriter: 20e6, Shape: 100e6},
			B: HostSpec{Sysctl: map[string]string{"net.ipv4.tcp_rmem": "4096 65536 87380"}, CPUs: 0.5, SlowReader: 50e6},
		},
		Traffic: []Traffic{{From: "a", To: "b", Flows: 2, Start: Duration(1500 * time.Millisecond)}},
		Expect:  Expect{Cause: "receiver-buffer"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	golden.Check(t, "full.txt", got.Draw())
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
			if d := s.Path.direction(&s.Path.AToB); d.Queue.Bytes < unit.Size(s.Path.MTU) && d.Queue.Packets == 0 {
				t.Errorf("queue %v holds no packet", d.Queue)
			}
		})
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
	if got, want := p.direction(&p.AToB).Queue.Bytes, unit.Size(18_750_000); got != want {
		t.Errorf("queue %d, want %d", got, want)
	}
}
