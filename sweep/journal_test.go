package sweep

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestJournal: what was kept is there when the journal is opened again, with the seed;
// fewer or more blocks and another budget are the same experiment, another duration is
// not.
func TestJournal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "journal")
	open := func(text string) (*Journal, *Spec, error) {
		spec, err := Parse("x.yaml", []byte("name: x\nfactors: {connections: [1, 2]}\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		j, err := OpenJournal(file, spec, "host b")
		if j != nil {
			defer j.Close()
		}
		return j, spec, err
	}
	spec, err := Parse("x.yaml", []byte("name: x\nfactors: {connections: [1, 2]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	j, err := OpenJournal(file, spec, "host b")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := Run(t.Context(), spec, newWorld(), j, &log{})
	if err != nil {
		t.Fatal(err)
	}
	_ = j.Close()
	again, same, err := open("blocks: 5\nbudget: 1h\nlaw: scalability\n")
	if err != nil || same.Seed != spec.Seed || len(again.Kept()) != 6 || spec.Seed == 0 {
		t.Fatalf("%v: seed %d, was %d; %d are there", err, same.Seed, spec.Seed, len(again.Kept()))
	}
	whole, err := Run(t.Context(), spec, newWorld(), &Memory{again.Kept()}, &log{})
	if err != nil || whole.Spent.Resumed != 6 {
		t.Fatalf("%v: %+v", err, whole.Spent)
	}
	if diff := cmp.Diff(comparable(doc), comparable(whole)); diff != "" {
		t.Error(diff)
	}
	for _, other := range []string{"measure: {duration: 3s}\n", "scenario: clean-lan\n"} {
		if _, _, err := open(other); !errors.Is(err, ErrOther) {
			t.Errorf("%s: %v", other, err)
		}
	}
	if _, err := OpenJournal(file, spec, "host c"); !errors.Is(err, ErrOther) {
		t.Error(err)
	}
	if err := os.WriteFile(file, []byte("name,goodput\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := open(""); err == nil || !strings.Contains(err.Error(), "name another file") {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "name,goodput\n" {
		t.Errorf("a file that is no journal was written to: %q", text)
	}
}

// TestFailedAreTriedAgain when an experiment goes on.
func TestFailedAreTriedAgain(t *testing.T) {
	spec := parse(t, "factors: {connections: [1, 2]}")
	w := newWorld()
	w.breaks = func(n int) error {
		if n%2 == 0 {
			return errors.New("not now")
		}
		return nil
	}
	store := &Memory{}
	if doc, err := Run(t.Context(), spec, w, store, &log{}); err != nil || doc.Spent.Failed != 3 {
		t.Fatal(err)
	}
	again := newWorld()
	doc, err := Run(t.Context(), spec, again, store, &log{})
	if err != nil || doc.Spent.Resumed != 3 || len(again.set) != 3 || doc.Spent.Failed != 0 {
		t.Errorf("%v: %+v, %d measured", err, doc.Spent, len(again.set))
	}
}

// TestValues: a value is written to JSON and read as it was, and none is NaN.
func TestValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := number(rapid.Float64().Draw(t, "number"))
		if rapid.Bool().Draw(t, "word") {
			v = word(rapid.String().Draw(t, "text"))
		}
		text, err := json.Marshal(map[string]Value{"v": v})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]Value
		if err := json.Unmarshal(text, &got); err != nil || !got["v"].Equal(v) && strings.ToValidUTF8(v.Word, "\uFFFD") != got["v"].Word {
			t.Fatalf("%v: %s, %v", v, text, err)
		}
	})
	for _, c := range []struct {
		kind Kind
		text string
		want string
	}{
		{Bytes, "64KiB", "64 KiB"}, {Bytes, "1448", "1448 B"}, {Bytes, "4MiB", "4 MiB"}, {Bytes, "18750", "18750 B"}, {BitRate, "100mbit", "100 Mb/s"}, {Seconds, "150ms", "150 ms"},
		{Seconds, "75us", "0.075 ms"}, {Share, "0.01%", "0.01 %"}, {Count, "10", "10"}, {Count, "all", "all"}, {Name, "cubic", "cubic"}, {Tunable, "4096 1 2", "4096 1 2"},
		{Tunable, "00000003", "00000003"}, {Tunable, "3", "3"}, {Bytes, "present", "present"},
	} {
		v, err := c.kind.read(c.text)
		if err != nil || v.Text(c.kind) != c.want {
			t.Errorf("%s: %q, %v, want %q", c.text, v.Text(c.kind), err, c.want)
		}
	}
}

// FuzzJournal: whatever is in a file, it is read as a journal or refused, never a panic.
func FuzzJournal(f *testing.F) {
	spec := parse(f, "factors: {connections: [1, 2]}")
	header, err := json.Marshal(journalHeader{journalSchema, spec.Name, fingerprint(spec, nil), 7})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(nil))
	f.Add(append(header, '\n'))
	f.Add(append(header, "\n{\"block\":0,\"point\":\"connections=1\",\"run\":{\"goodput_bps\":1e9}}\n{\"block\""...))
	f.Add(append(header, "\n[]\n"...))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "journal")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		own := *spec
		j, err := OpenJournal(file, &own)
		if err != nil {
			return
		}
		defer j.Close()
		before := len(j.Kept())
		doc, err := Run(t.Context(), &own, newWorld(), j, &log{})
		if err != nil || doc.Spent.Resumed > before {
			t.Errorf("%v: %+v of %d", err, doc, before)
		}
	})
}
