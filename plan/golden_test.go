package plan

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/host/collector"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

// example is testdata/plans/NAME.yaml: a host and a path whose plan is held
// against a source's recipe. NAME.txt beside it is the plan as people read it.
type example struct {
	About    string            `yaml:"about"`     // one line: which source's recipe the plan is held against
	Facts    string            `yaml:"facts"`     // a system as collector.Assume takes it: "solaris10"
	Memory   string            `yaml:"memory"`    // "8GiB"; "": not known
	CPUs     int               `yaml:"cpus"`      // 0: not known
	Forwards bool              `yaml:"forwards"`  // it is a router
	Managers []manager         `yaml:"managers"`  // what else sets tunables there
	Tunables map[string]string `yaml:"tunables"`  // where it differs from what the system comes with; "-": it does not have it
	ReadOnly []string          `yaml:"read_only"` // tunables that cannot be set there
	Most     map[string]int64  `yaml:"most"`      // what devices take
	MTU      int               `yaml:"mtu"`       // of the interface; 0: as path.mtu
	NIC      nic               `yaml:"nic"`       // the interface

	Role        string   `yaml:"role"`        // sender, receiver or both
	Path        way      `yaml:"path"`        // between the two ends
	Streams     int      `yaml:"streams"`     // side by side
	Connections int      `yaml:"connections"` // that the host serves at once
	Workload    Workload `yaml:"workload"`
	Verdict     string   `yaml:"verdict"` // "": not diagnosed
	Baseline    baseline `yaml:"baseline"`
}

type manager struct {
	Name string `yaml:"name"`
	Sets string `yaml:"sets"`
}

type nic struct {
	Name   string `yaml:"name"` // "": eth0
	Speed  string `yaml:"speed"`
	Driver string `yaml:"driver"`
}

type way struct {
	Rate string `yaml:"rate"`
	RTT  string `yaml:"rtt"`
	MTU  int    `yaml:"mtu"`
}

// baseline is what the transfer that was diagnosed had counted on this host.
type baseline struct {
	RxMissed    int64            `yaml:"rx_missed"`
	TxDropped   int64            `yaml:"tx_dropped"`
	Counters    map[string]int64 `yaml:"counters"`
	BusySoftIRQ float64          `yaml:"busy_softirq"` // share of the busiest core's time that goes to the network's interrupts
}

func TestGoldenPlans(t *testing.T) {
	files, err := filepath.Glob("testdata/plans/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < leastExamples {
		t.Errorf("%d examples are too few, there were %d", len(files), leastExamples)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			in := readExample(t, file)
			p := Make(in)
			var text bytes.Buffer
			if err := WriteText(&text, p); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "plans/"+name+".txt", text.String())
			if err := checkPlan(in, p); err != nil {
				t.Error(err)
			}
		})
	}
}

// leastExamples is how many hosts the plans were reviewed for.
const leastExamples = 40

func readExample(t *testing.T, file string) Input {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var e example
	if err := yaml.UnmarshalWithOptions(text, &e, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	in, err := e.input()
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func (e *example) input() (Input, error) {
	if e.About == "" || strings.Contains(e.About, "\n") {
		return Input{}, fmt.Errorf("about: %q: say in one line which recipe the plan is held against", e.About)
	}
	h, err := e.host()
	if err != nil {
		return Input{}, err
	}
	rate, err := unit.ParseRate(e.Path.Rate)
	if err != nil {
		return Input{}, err
	}
	rtt, err := time.ParseDuration(e.Path.RTT)
	if err != nil {
		return Input{}, err
	}
	in := Input{
		Path: Given(rate, rtt, e.Path.MTU), Direction: bulk.Forward, Streams: e.Streams,
		Connections: e.Connections, Workload: e.Workload, OneEnd: e.Role != "both",
	}
	if e.MTU > 0 {
		in.Path.Forward.MTU.Link = e.MTU
	}
	if e.Verdict != "" {
		if !diagnose.Known(e.Verdict) {
			return Input{}, fmt.Errorf("verdict: there is no cause %q", e.Verdict)
		}
		in.Diagnosis = Assumed(e.Verdict)
	}
	switch e.Role {
	case "sender":
		in.Sender = h
	case "receiver":
		in.Receiver = h
	case "both":
		in.Sender, in.Receiver = h, h
	default:
		return Input{}, fmt.Errorf("role: %q is none of sender, receiver, both", e.Role)
	}
	in.Baseline = e.transfer(h)
	return in, nil
}

func (e *example) host() (*host.Facts, error) {
	var memory unit.Size
	if e.Memory != "" {
		var err error
		if memory, err = unit.ParseSize(e.Memory); err != nil {
			return nil, err
		}
	}
	h, err := collector.Assume(e.Facts, int64(memory))
	if err != nil {
		return nil, err
	}
	h.CPUs, h.Forwards, h.ReadOnly, h.Most = e.CPUs, e.Forwards, e.ReadOnly, e.Most
	for _, m := range e.Managers {
		h.Managers = append(h.Managers, host.Manager(m))
	}
	i := host.Interface{Name: e.NIC.Name, MTU: max(e.MTU, e.Path.MTU), Up: true, Driver: e.NIC.Driver, Addresses: []string{"198.18.0.1/24"}}
	if i.Name == "" {
		i.Name = "eth0"
	}
	if e.NIC.Speed != "" {
		speed, err := unit.ParseRate(e.NIC.Speed)
		if err != nil {
			return nil, err
		}
		i.Speed = int(speed / unit.Mbps)
	}
	h.Interfaces = []host.Interface{i}
	for name, value := range e.Tunables {
		if _, ok := tunable.Lookup(h.OS, name); !ok {
			return nil, fmt.Errorf("tunables: the catalogue of %s has no %s", h.OS, name)
		}
		if value == "-" {
			delete(h.Tunables, name)
			continue
		}
		h.Tunables[name] = value
	}
	return h, nil
}

// transfer is the baseline, nil without one.
func (e *example) transfer(h *host.Facts) *bulk.Result {
	b := e.Baseline
	if b.RxMissed == 0 && b.TxDropped == 0 && b.Counters == nil && b.BusySoftIRQ == 0 {
		return nil
	}
	end := bulk.End{Counters: b.Counters, Links: []host.LinkDelta{{Name: h.Interfaces[0].Name, Used: true,
		LinkCounters: host.LinkCounters{RxMissed: b.RxMissed, TxDropped: b.TxDropped}}}}
	end.CPU.Elapsed = 10 * time.Second
	end.CPU.Cores = []bulk.Core{{Busy: b.BusySoftIRQ, SoftIRQ: b.BusySoftIRQ}}
	return &bulk.Result{Client: end, Server: end}
}

// checkPlan says what is wrong with a plan: a value that is lowered, out of
// range or order, above what bounds it or above memory; a step that is empty or
// says nothing; or anything that is left to do once the plan is carried out. It
// restates the rules in the plainest way, on its own.
func checkPlan(in Input, p *Plan) error {
	done := map[*host.Facts]*host.Facts{} // the hosts as the plan leaves them
	for _, h := range []*host.Facts{in.Sender, in.Receiver} {
		if h != nil {
			done[h] = clone(h)
		}
	}
	for _, s := range p.Steps {
		if len(s.Changes) == 0 || s.Idea == "" || s.Risk == "" || s.Predicted < 0 {
			return fmt.Errorf("step without changes, idea or risk: %+v", s)
		}
		for i, c := range s.Changes {
			h := in.HostOf(c)
			if h == nil || h.Forwards {
				return fmt.Errorf("change on a host that is none of ours: %+v", c)
			}
			if err := checkChange(h, done[h], c, in); err != nil {
				return fmt.Errorf("%w: %+v", err, c)
			}
			entry, _ := tunable.Lookup(h.OS, c.Tunable)
			for _, later := range s.Changes[i+1:] {
				base, _ := tunable.Split(later.Tunable)
				if later.onHostOf(c) && slices.Contains(entry.After, base) {
					return fmt.Errorf("%s is set before %s, in the wrong order", c.Tunable, later.Tunable)
				}
			}
			done[h].Tunables[c.Tunable] = c.To
		}
	}
	if len(in.Tried) > 0 { // what is left of the tried is no matter of this plan
		return nil
	}
	if in.Sender != nil {
		in.Sender = done[in.Sender]
	}
	if in.Receiver != nil {
		in.Receiver = done[in.Receiver]
	}
	if again := Make(in); len(again.Steps) != 0 {
		return fmt.Errorf("carried out, the plan still has steps: %+v", again.Steps)
	}
	return nil
}

// checkChange says what is wrong with one change of a host as it was and as the
// plan has it by now.
func checkChange(was, now *host.Facts, c Change, in Input) error {
	entry, ok := tunable.Lookup(was.OS, c.Tunable)
	present, has := now.Tunables[c.Tunable]
	switch {
	case !ok || !has || entry.Leave != "" || !entry.Applies(was.Version):
		return fmt.Errorf("it is not there to be changed")
	case was.CanChange && slices.Contains(was.ReadOnly, c.Tunable):
		return fmt.Errorf("it cannot be set here")
	case c.From != tunable.Normalise(present) || c.From == c.To:
		return fmt.Errorf("not a change from %q", present)
	case entry.Check(c.To) != nil:
		return entry.Check(c.To)
	case was.Most[c.Tunable] > 0 && largest(c.To) > was.Most[c.Tunable]:
		return fmt.Errorf("above the %d that the device takes", was.Most[c.Tunable])
	case c.Why == "" || !strings.Contains(c.Source, "https://"):
		return fmt.Errorf("without reason or source")
	}
	if bound, most := boundary(now, entry, c.Tunable); most > 0 && largest(c.To) > most {
		return fmt.Errorf("above %s, which is %d by then", bound, most)
	}
	if entry.Rising {
		return checkRise(was, now, entry, c, in)
	}
	return nil
}

// checkRise holds a size against the live value, the version's default, and
// memory, element by element.
func checkRise(h, now *host.Facts, entry *tunable.Tunable, c Change, in Input) error {
	from, to := numbers(c.From), numbers(c.To)
	byDefault, _ := entry.Default(h.Version)
	usual := numbers(byDefault)
	all := int64(max(in.Streams, in.Connections, 1))
	for i := range to {
		if len(from) != len(to) {
			break // what was there was no value of this kind
		}
		if to[i] < from[i] {
			return fmt.Errorf("element %d is lowered", i+1)
		}
		if to[i] == from[i] {
			continue
		}
		inOrder := i > 0 && to[i] == to[i-1] || to[i] == h.Most[c.Tunable] // raised only as far as the one before, or the device goes
		if _, most := boundary(now, entry, c.Tunable); len(usual) == len(to) && to[i] < usual[i] && !inOrder && (most <= 0 || to[i] < most) && (entry.Unit != "bytes" || h.Memory <= 0 || to[i] < min(usual[i], int64(in.bound(h)))) {
			return fmt.Errorf("element %d is set below the default of %s, %d", i+1, h.Version, usual[i])
		}
		if !ofConnections(entry) || h.Memory <= 0 || inOrder {
			continue
		}
		if to[i] > max(h.Memory/32/all, tolerated(h, in), below(h, entry)) {
			return fmt.Errorf("%d connections with %d bytes each are more than their part of %d bytes of memory", all, to[i], h.Memory)
		}
	}
	return nil
}

// below is the largest that what lies within a tunable has already: raising the
// bound of that takes no more memory. Neither does a congestion window, which
// is made of what lies in the send buffer.
func below(h *host.Facts, entry *tunable.Tunable) (most int64) {
	bound := entry.Name
	if strings.Contains(entry.Name, "cwnd") {
		bound = entry.Within
	}
	all, _ := tunable.Of(h.OS)
	for i := range all.Tunables {
		if t := &all.Tunables[i]; bound != "" && t.Within == bound {
			most = max(most, largest(h.Tunables[t.Name]))
		}
	}
	return most
}

// ofConnections says whether a size is what each connection may take of memory;
// requests of a file system, packets and the steps by which buffers grow are not.
func ofConnections(t *tunable.Tunable) bool {
	files := strings.Contains(strings.ToLower(t.Name), "nfs") || strings.Contains(t.Name, "smb")
	return t.Unit == "bytes" && !t.Scope.Instanced() && !files && !strings.HasSuffix(t.Name, "_inc")
}

// tolerated is what any socket may have, since the kernel itself would let it.
func tolerated(h *host.Facts, in Input) int64 {
	if in.Connections > 0 {
		return 0
	}
	return h.Memory / 128
}

func numbers(value string) []int64 {
	var out []int64
	for i := range strings.Fields(value) {
		out = append(out, number(value, i))
	}
	return out
}

func largest(value string) int64 {
	if all := numbers(value); len(all) > 0 {
		return slices.Max(all)
	}
	return 0
}

func clone(h *host.Facts) *host.Facts {
	c := *h
	c.Tunables = maps.Clone(h.Tunables)
	return &c
}
