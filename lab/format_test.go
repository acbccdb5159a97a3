package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/lab/schema"
	"github.com/fullbore/fullbore/lab/wire"
	"github.com/fullbore/fullbore/unit"
)

// structs that have a table in docs/scenario.md, by its heading.
var documented = map[string][]reflect.Type{
	"A direction of the path": {reflect.TypeFor[wire.Direction]()},
	"A host":                  {reflect.TypeFor[HostSpec]()},
	"Competing traffic":       {reflect.TypeFor[Traffic]()},
	"A network":               {reflect.TypeFor[Network](), reflect.TypeFor[Switch](), reflect.TypeFor[Member](), reflect.TypeFor[Trunk](), reflect.TypeFor[Way]()},
	"NFS":                     {reflect.TypeFor[NFSServer](), reflect.TypeFor[NFSLoad]()},
	"The rest":                {reflect.TypeFor[Scenario](), reflect.TypeFor[Path](), reflect.TypeFor[Expect]()},
}

func manual(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/scenario.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestManual: docs/scenario.md has a row for every key, in the order of the
// program, with its example and its range; and no others.
func TestManual(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| (`.+?` \\| `.+?` \\|.*?) \\| .*\\|$")
	chapters := strings.Split(manual(t), "\n## ")[1:]
	if len(chapters) != len(documented) {
		t.Errorf("%d chapters, want %d", len(chapters), len(documented))
	}
	for _, chapter := range chapters {
		title, text, _ := strings.Cut(chapter, "\n")
		var got, want []string
		for _, match := range row.FindAllStringSubmatch(text, -1) {
			got = append(got, match[1])
		}
		for _, in := range documented[title] {
			for key, field := range schema.Keys(in) {
				if len(field.Index) > 1 {
					continue // of a struct that it embeds, which has a table of its own
				}
				if example := field.Tag.Get("example"); example != "" {
					want = append(want, strings.TrimSpace(fmt.Sprintf("`%s` | `%s` | %s", key, example, schema.Range(field))))
				}
			}
		}
		for i := range got {
			got[i] = strings.TrimSpace(got[i])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-program +manual):\n%s", title, diff)
		}
	}
}

// TestManualIsTrue holds what docs/scenario.md says about omitted keys against the
// program, and reads its example.
func TestManualIsTrue(t *testing.T) {
	text := manual(t)
	_, example, _ := strings.Cut(text, "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	if _, err := Parse("scenario.md", []byte(example)); err != nil {
		t.Errorf("the example: %v", err)
	}
	s, err := Parse("x.yaml", []byte("name: x\npath: {a_to_b: {rate: 1gbit, loss: {model: gilbert, p: 1%, r: 1%}}}"))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*s.Path.BToA, s.Path.AToB) {
		t.Errorf("b_to_a is %+v, not as a_to_b", s.Path.BToA)
	}
	for _, says := range []string{
		fmt.Sprintf("omitted: %d |", s.Path.MTU),
		fmt.Sprintf("omitted: 1bdp, at least %d packets", wire.MinQueuePackets),
		fmt.Sprintf("loss within it; omitted: %s)", s.Path.AToB.Loss.Share),
		"# omitted: same as a_to_b",
	} {
		if !strings.Contains(text, says) {
			t.Errorf("docs/scenario.md does not say %q", says)
		}
	}
}

// TestEveryKeyArrives: whatever key a scenario sets in a direction, the wire gets it
// (and TestEveryKeyActs of package wire shows that it acts); it is drawn; and the
// other direction is as it was.
func TestEveryKeyArrives(t *testing.T) {
	read := func(more string) *Scenario {
		s, err := Parse("x.yaml", []byte("name: x\npath:\n  a_to_b: {rate: 10mbit, delay: 20ms}\n  b_to_a:\n    rate: 10mbit\n    delay: 20ms\n"+more))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	without := read("")
	for key, field := range schema.Keys(reflect.TypeFor[wire.Direction]()) {
		if key == "rate" || key == "delay" {
			continue // which are there already
		}
		with := read("    " + key + ": " + field.Tag.Get("example"))
		_, got := with.directions()
		_, before := without.directions()
		if reflect.DeepEqual(reflect.ValueOf(got).FieldByIndex(field.Index).Interface(), reflect.ValueOf(before).FieldByIndex(field.Index).Interface()) {
			t.Errorf("%s does not reach the wire", key)
		}
		if there, _ := with.directions(); !reflect.DeepEqual(there, without.Path.AToB) {
			t.Errorf("%s reaches the other direction", key)
		}
		if with.Draw() == without.Draw() {
			t.Errorf("%s is not drawn", key)
		}
	}
}

// TestFullScenario reads a file that has every key.
func TestFullScenario(t *testing.T) {
	got, err := Load("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "full.json", string(text)+"\n")
	golden.Check(t, "full.txt", got.Draw())
	var present []string
	collect := func(v any) {
		value := reflect.ValueOf(v)
		for key, field := range schema.Keys(value.Type()) {
			if !value.FieldByIndex(field.Index).IsZero() {
				present = append(present, value.Type().Name()+" "+key)
			}
		}
	}
	many, err := LoadAny("testdata/network.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if text, err = json.MarshalIndent(many, "", "  "); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "network.json", string(text)+"\n")
	golden.Check(t, "network.txt", many.Draw())
	collect(*many)
	collect(*many.Network)
	collect(many.Network.Switches[0])
	for _, m := range many.Network.Hosts {
		collect(m)
	}
	collect(many.Network.Trunks[0])
	collect(many.Network.Ways[0])
	collect(*got)
	collect(got.Path)
	collect(got.Path.AToB)
	collect(got.Hosts)
	collect(got.Hosts.A)
	collect(got.Hosts.B)
	collect(got.Traffic[0])
	collect(*got.NFS)
	collect(got.NFS.Server)
	ahead := got.NFS.Load
	ahead.ReadAhead = 128 * unit.KiB // which cannot be beside in_flight
	collect(ahead)
	collect(got.Expect)
	for _, in := range []reflect.Type{
		reflect.TypeFor[Scenario](), reflect.TypeFor[Path](), reflect.TypeFor[wire.Direction](), reflect.TypeFor[Hosts](),
		reflect.TypeFor[HostSpec](), reflect.TypeFor[Traffic](), reflect.TypeFor[NFS](), reflect.TypeFor[NFSServer](), reflect.TypeFor[NFSLoad](), reflect.TypeFor[Expect](),
		reflect.TypeFor[Network](), reflect.TypeFor[Switch](), reflect.TypeFor[Member](), reflect.TypeFor[Trunk](), reflect.TypeFor[Way](),
	} {
		for key := range schema.Keys(in) {
			if !slices.Contains(present, in.Name()+" "+key) {
				t.Errorf("neither testdata/full.yaml nor network.yaml has a %s of a %s", key, in.Name())
			}
		}
	}
}

// TestReportTellsAll: each reason to drop and each other counter that has words
// stands in the line that a lab ends with.
func TestReportTellsAll(t *testing.T) {
	var r Report
	count := uint64(0)
	var want []string
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		for i := range v.NumField() {
			tag := v.Type().Field(i).Tag
			says := tag.Get("says") + tag.Get("fault")
			switch {
			case v.Field(i).Kind() == reflect.Struct:
				fill(v.Field(i))
			case says != "":
				count++
				v.Field(i).SetUint(count)
				want = append(want, fmt.Sprintf("%d %s", count, says))
			case v.Type() == reflect.TypeFor[wire.Drops[uint64]]():
				t.Errorf("segments dropped as %s are not told", v.Type().Field(i).Name)
			}
		}
	}
	fill(reflect.ValueOf(&r.BToA.Counts).Elem())
	for _, says := range want {
		if !strings.Contains(r.String(), says) {
			t.Errorf("%q is not in %q", says, r)
		}
	}
	if total := r.BToA.Drops.Total(); total != 28 { // 1 to 7, as they come first
		t.Errorf("%d drops in all", total)
	}
}

// TestInvalidTellsWhy: packets that the lab itself lost, and hosts that it lost.
func TestInvalidTellsWhy(t *testing.T) {
	if err := (Report{}).Invalid(); err != nil {
		t.Errorf("nothing was lost: %v", err)
	}
	r := Report{RingDropsB: 3, Ended: []string{"a"}}
	r.AToB.WriteErrors = 2
	err := r.Invalid()
	want := "a to b 2 refused by the TUN device, b to a 3 dropped by the TUN ring, host a does not answer"
	if !errors.Is(err, ErrInvalid) || !strings.HasSuffix(err.Error(), ": "+want) || !strings.HasSuffix(r.String(), want) {
		t.Errorf("got %v, in %q", err, r)
	}
}
