package schema

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml/parser"
	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/unit"
)

// every has a key of each kind.
type every struct {
	Word     string            `yaml:"word" of:"this that"`
	Number   int               `yaml:"number" range:"-2 70"`
	Positive uint64            `yaml:"positive"`
	Real     float64           `yaml:"real" range:"0.5 2"`
	Rate     unit.Rate         `yaml:"rate" range:"1kbit 1gbit"`
	Size     unit.Size         `yaml:"size" range:"1KB 1MB"`
	Time     time.Duration     `yaml:"time" range:"1ms 24h"`
	Share    Share             `yaml:"share"`
	Words    []string          `yaml:"words" of:"x y"`
	Numbers  []uint64          `yaml:"numbers" range:"2 3"`
	Map      map[string]string `yaml:"map"`
	Inner    inner             `yaml:"inner"`
	Pointer  *inner            `yaml:"pointer"`
	Inners   []inner           `yaml:"inners"`
	Deeps    []deep            `yaml:"deeps"`
	Deep     *struct {
		Height int `yaml:"height"`
	} `yaml:"deep"`
	NoKey int `range:"1 2"`
}

type deep struct {
	Depth int `yaml:"depth"`
}

type inner struct {
	Share Share `yaml:"share"`
	Least int   `yaml:"least" range:"5 9"`
	Free  int   `yaml:"free"`
}

func (i *inner) Complete() {
	if i.Free == 0 {
		i.Free = 42
	}
}

func decode(t *testing.T, text string) (got every, wrong []string) {
	t.Helper()
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range Decode(file.Docs[0].Body, &got) {
		wrong = append(wrong, err.Error())
	}
	return got, wrong
}

func TestDecode(t *testing.T) {
	got, wrong := decode(t, `
word: this
number: 0x10
positive: 18446744073709551615
real: 1.5
rate: 10mbit
size: 64KB
time: 1h
share: 2 %
words: [x, "y"]
numbers: [2, 3]
map: {a.b: 1, "c": " two words ", d: true}
inner: {share: 0, least: 5}
pointer: {free: 1}
inners: [{least: 6}, {}]
`)
	want := every{
		Word: "this", Number: 16, Positive: math.MaxUint64, Real: 1.5, Rate: 10 * unit.Mbps, Size: 64_000, Time: time.Hour, Share: 0.02,
		Words: []string{"x", "y"}, Numbers: []uint64{2, 3}, Map: map[string]string{"a.b": "1", "c": "two words", "d": "true"},
		Inner: inner{Least: 5, Free: 42}, Pointer: &inner{Free: 1}, Inners: []inner{{Least: 6, Free: 42}, {Free: 42}},
	}
	if diff := cmp.Diff(want, got); diff != "" || wrong != nil {
		t.Errorf("%q, -want +got:\n%s", wrong, diff)
	}
	if got, wrong := decode(t, "word: >-\n  th\n  at\npointer:\nmap: ~\ninner:"); got.Word != "th at" || got.Pointer != nil || got.Map != nil || wrong != nil {
		t.Errorf("got %+v, %q", got, wrong)
	}
}

// TestDecodeRefuses: every fault is told, with its place.
func TestDecodeRefuses(t *testing.T) {
	for text, want := range map[string][]string{
		"numbr: 1":           {`1:1: unknown key "numbr" (did you mean number or numbers?)`},
		"least: 5":           {`1:1: key "least" does not belong here`},
		"depth: 5":           {`1:1: key "depth" does not belong here`},
		"height: 5":          {`1:1: key "height" does not belong here`},
		"sharee: 5%":         {`1:1: unknown key "sharee" (did you mean share?)`},
		"inner: {rate: 1}":   {`1:9: key "rate" does not belong here`},
		"number: many":       {`1:9: expected a number, not "many"`},
		"number: 1.5":        {`1:9: expected a number, not "1.5"`},
		"positive: -1":       {`1:11: expected a number, not "-1"`},
		"real: x":            {`1:7: expected a number, not "x"`},
		"number: [1]":        {`1:9: expected one value such as 10ms or 1gbit, not a list`},
		"share: {a: 1}":      {`1:8: expected one value such as 10ms or 1gbit, not keys with values`},
		"words: x":           {`1:8: expected a list, not "x"`},
		"inner: 1":           {`1:8: expected keys with values, not "1"`},
		"map: [1]":           {`1:6: expected keys with values, not a list`},
		"map: {a: [1]}":      {`1:10: expected a word, not a list`},
		"- 1":                {`1:1: expected keys with values, not a list`},
		"time: 75":           {`1:7: duration "75" is not a number with a unit such as 75ms or 150us`},
		"rate: -1gbit":       {`1:7: rate "-1gbit" is not a positive number with a unit such as 100mbit or 1gbit`},
		"size: big":          {`1:7: size "big" is not a number with a unit such as 256KB or 4MiB`},
		"share: 1\nwords: x": {`1:8: share "1" is not a number with %, such as 0.01%`, `2:8: expected a list, not "x"`},
		"number: !!int 1":    {`1:9: expected one value such as 10ms or 1gbit, not "!!int"`},
	} {
		if _, got := decode(t, text); !cmp.Equal(want, got) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestShare(t *testing.T) {
	for word, want := range map[string]Share{"0.01%": 0.0001, "100%": 1, "0": 0, "0%": 0, "2 %": 0.02} {
		var got Share
		if err := got.FromWord(word); err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", word, got, err, want)
		}
	}
	for _, word := range []string{"", "%", "0.01", "100.01%", "-0.01%", "NaN%", "Inf%", "1%%"} {
		got := Share(0.5)
		if err := got.FromWord(word); err == nil || got != 0.5 {
			t.Errorf("%q: accepted as %v", word, got)
		}
	}
	if got := Share(0.0123).String(); got != "1.23%" {
		t.Errorf("written %s", got)
	}
}

// TestCheck: a value on the edge of its range is right, one beyond it is wrong, and
// a key that is not given never is.
func TestCheck(t *testing.T) {
	for _, right := range []every{
		{},
		{Word: "this", Number: -2, Real: 0.5, Rate: 1000, Size: 1000, Time: time.Millisecond, Share: 1, NoKey: 7},
		{Word: "that", Number: 70, Real: 2, Rate: unit.Gbps, Size: 1_000_000, Time: 24 * time.Hour, Positive: math.MaxUint64},
		{Words: []string{"x", "y"}, Numbers: []uint64{2, 3}, Inner: inner{Least: 5, Free: -7}, Pointer: &inner{Least: 9}, Inners: []inner{{}}},
	} {
		if found := Check(&right); found != nil {
			t.Errorf("%+v: %v", right, found)
		}
	}
	for want, wrong := range map[string]every{
		`word "other" is not one of this, that`:            {Word: "other"},
		"number -3 is not within -2 and 70":                {Number: -3},
		"number 71 is not within -2 and 70":                {Number: 71},
		"real 0.49 is not within 0.5 and 2":                {Real: 0.49},
		"real 2.01 is not within 0.5 and 2":                {Real: 2.01},
		"real NaN is not within 0.5 and 2":                 {Real: math.NaN()},
		"rate 999 b/s is not within 1kbit and 1gbit":       {Rate: 999},
		"size 999 B is not within 1KB and 1MB":             {Size: 999},
		"time 999.999µs is not within 1ms and 24h":         {Time: time.Millisecond - 1},
		"time 24h0m0.000000001s is not within 1ms and 24h": {Time: 24*time.Hour + 1},
		"share 101% is not within 0% and 100%":             {Share: 1.01},
		"share -1% is not within 0% and 100%":              {Share: -0.01},
		`words[1] "z" is not one of x, y`:                  {Words: []string{"x", "z"}},
		"numbers[0] 1 is not within 2 and 3":               {Numbers: []uint64{1}},
		"numbers[1] 4 is not within 2 and 3":               {Numbers: []uint64{3, 4}},
		"inner.least 4 is not within 5 and 9":              {Inner: inner{Least: 4}},
		"pointer.least 10 is not within 5 and 9":           {Pointer: &inner{Least: 10}},
		"inners[1].share 200% is not within 0% and 100%":   {Inners: []inner{{}, {Share: 2}}},
	} {
		found := Check(&wrong)
		if len(found) != 1 || found[0].Err.Error() != want || found[0].Key != strings.Fields(want)[0] {
			t.Errorf("got %v, want %s", found, want)
		}
	}
}

func TestRange(t *testing.T) {
	want := map[string]string{
		"word": "this, that", "number": "-2 to 70", "positive": "", "real": "0.5 to 2", "rate": "1kbit to 1gbit", "size": "1KB to 1MB", "time": "1ms to 24h",
		"share": "0% to 100%", "words": "x, y", "numbers": "2 to 3", "map": "",
		"inner": "share 0% to 100%; least 5 to 9", "pointer": "share 0% to 100%; least 5 to 9", "inners": "share 0% to 100%; least 5 to 9", "deeps": "", "deep": "",
	}
	got := map[string]string{}
	for key, field := range Keys(reflect.TypeFor[every]()) {
		got[key] = Range(field)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for key := range Keys(reflect.TypeFor[every]()) {
		if key == "number" {
			break // a caller may have seen enough
		}
	}
}

// TestRangeThatCannotBeRead shows whoever declares a key that its range is wrong.
func TestRangeThatCannotBeRead(t *testing.T) {
	defer func() {
		if said := fmt.Sprint(recover()); !strings.Contains(said, `range of time.Duration: duration "1"`) {
			t.Errorf("panic: %s", said)
		}
	}()
	Check(struct {
		Time time.Duration `yaml:"time" range:"1 2"`
	}{time.Second})
}
