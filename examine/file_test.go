package examine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
)

// recorded are examinations of real transfers between Linux hosts, by scenario.
func recorded(t testing.TB) []*Examination {
	files, err := filepath.Glob("../diagnose/testdata/recorded/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	var all []*Examination
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		x := &Examination{Spent: Spent{Time: 7350 * ms, Bytes: 12345678}}
		if err := json.Unmarshal(text, &x.Evidence); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		x.Diagnosis = diagnose.Diagnose(&x.Evidence)
		all = append(all, x)
	}
	return all
}

// same leaves out what a finding keeps to itself, and takes nothing for none.
var same = cmp.Options{cmpopts.IgnoreUnexported(diagnose.Finding{}), cmpopts.EquateEmpty()}

// Evidence that was written and read again gives the same diagnosis, compressed
// or not, whatever trials there were.
func TestFile(t *testing.T) {
	all := recorded(t)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		x := *rapid.SampledFrom(all).Draw(t, "recording")
		x.Evidence.Failed = rapid.SampledFrom([]string{"", "nothing arrived for 3s"}).Draw(t, "failed")
		for i := range rapid.IntRange(0, 3).Draw(t, "trials") {
			other := rapid.SampledFrom(all).Draw(t, "trial").Evidence.Transfer
			tried := diagnose.Trial{Kind: diagnose.TrialPaced, Why: fmt.Sprint(i), Spec: other.Spec, Result: other}
			if rapid.Bool().Draw(t, "trial failed") {
				tried.Result, tried.Failed = nil, "refused"
			}
			x.Evidence.Trials = append(x.Evidence.Trials, tried)
		}
		x.Spent.Time = time.Duration(rapid.IntRange(0, 60_000).Draw(t, "spent")) * ms
		x.Diagnosis = diagnose.Diagnose(&x.Evidence)
		name := filepath.Join(dir, rapid.SampledFrom([]string{"a.json", "a.json.gz"}).Draw(t, "name"))
		if err := Write(name, &x); err != nil {
			t.Fatal(err)
		}
		again, err := Read(name)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(&x, again, same); d != "" {
			t.Errorf("(-written +read):\n%s", d)
		}
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 2 {
		t.Errorf("%d files, %v: want nothing beside the two", len(left), err)
	}
}

// A file that ends in .gz is much smaller.
func TestFileCompressed(t *testing.T) {
	dir := t.TempDir()
	size := func(name string) int64 {
		if err := Write(filepath.Join(dir, name), recorded(t)[0]); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s: others may read it (%v), and it tells of both hosts", name, mode)
		}
		return info.Size()
	}
	if uncompressed, packed := size("a"), size("a.gz"); packed*4 > uncompressed {
		t.Errorf("%d bytes, compressed %d", uncompressed, packed)
	}
}

// What is not such a file is refused with what is wrong.
func TestDecodeRefuses(t *testing.T) {
	good, err := Encode(recorded(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	changed := func(change func(*file)) string {
		var f file
		if err := json.Unmarshal(good, &f); err != nil {
			t.Fatal(err)
		}
		change(&f)
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	bomb, err := pack(bytes.Repeat([]byte(" "), mostUnpacked+1))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ text, says string }{
		"empty":              {"", "not a JSON document"},
		"text":               {"hello", "not a JSON document"},
		"another document":   {`{"schema": "fullbore/diagnose/1"}`, `schema is "fullbore/diagnose/1", not "fullbore/evidence/1": write such a file with fullbore diagnose HOST --evidence FILE`},
		"an unknown key":     {strings.Replace(string(good), `"evidence":{`, `"evidence":{"colour":1,`, 1), `unknown field "colour" (written by fullbore`},
		"a wrong type":       {strings.Replace(string(good), `"direction":"forward"`, `"direction":7`, 1), "cannot unmarshal number"},
		"two documents":      {string(good) + string(good), "not a JSON document"},
		"cut short":          {string(good[:len(good)/2]), "not a JSON document"},
		"a broken gzip":      {"\x1f\x8b and no more", "gzip"},
		"too large":          {strings.Repeat(" ", mostUnpacked+1), "more than 64 MiB"},
		"too large unpacked": {string(bomb), "more than 64 MiB"},
		"no transfer":        {changed(func(f *file) { f.Evidence.Transfer = nil }), "no transfer"},
		"both directions":    {changed(func(f *file) { f.Evidence.Direction = bulk.Both }), `direction "both": must be forward or reverse`},
		"another direction":  {changed(func(f *file) { f.Evidence.Direction = bulk.Reverse }), "the transfer went forward, the evidence is of reverse"},
		"negative cost":      {changed(func(f *file) { f.Time = -1 }), "test_ns -1"},
		"too many trials":    {changed(func(f *file) { f.Evidence.Trials = make([]diagnose.Trial, mostTrials+1) }), "101 trials: at most 100"},
		"an empty trial": {changed(func(f *file) { f.Evidence.Trials = []diagnose.Trial{{Spec: f.Evidence.Transfer.Spec}} }),
			"trial 1: neither a result nor why there is none"},
		"a trial's other result": {changed(func(f *file) {
			spec := f.Evidence.Transfer.Spec
			spec.Pace++
			f.Evidence.Trials = []diagnose.Trial{{Spec: spec, Result: f.Evidence.Transfer}}
		}), "trial 1: its result is of another transfer"},
		"streams nobody asked for": {changed(func(f *file) {
			f.Evidence.Transfer.Client.Streams = make([]bulk.Stream, 3)
		}), "3 streams at one end, 1 were asked for"},
		"negative bytes":        {changed(func(f *file) { f.Evidence.Transfer.Client.Streams[0].Bytes = -1 }), "bytes or times out of range"},
		"time runs back":        {changed(func(f *file) { f.Evidence.Transfer.Client.Streams[0].Samples[1].At = 0 }), "sample 2 is earlier"},
		"a spec that cannot be": {changed(func(f *file) { f.Evidence.Transfer.Spec.Streams = 0 }), "0 streams: use 1 to 256"},
	} {
		t.Run(name, func(t *testing.T) {
			x, err := Decode(strings.NewReader(test.text))
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v, error %v, want one that says %q", x, err, test.says)
			}
		})
	}
}

// What is just within the bounds of a file is read.
func TestDecodeBorders(t *testing.T) {
	x := *recorded(t)[0]
	again := diagnose.Trial{Kind: diagnose.TrialAgain, Spec: x.Evidence.Transfer.Spec, Failed: "refused"}
	x.Evidence.Trials = slices.Repeat([]diagnose.Trial{again}, mostTrials)
	x.Spent = Spent{}
	text, err := Encode(&x)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(bytes.NewReader(text)); err != nil {
		t.Errorf("with %d trials that took and brought nothing: %v", mostTrials, err)
	}
	if _, err := unpack(bytes.NewReader(make([]byte, mostUnpacked))); err != nil {
		t.Errorf("%d bytes: %v", mostUnpacked, err)
	}
}

// Each end may have as many streams as were asked for, in both directions, and each
// of them what a transfer can take; none of it may be less than nothing.
func TestCheckResult(t *testing.T) {
	spec := bulk.Spec{Direction: bulk.Both, Streams: 2, Duration: s}
	for n, ok := range map[int]bool{0: true, 4: true, 5: false} {
		if err := checkResult(&bulk.Result{Spec: spec, Server: bulk.End{Streams: make([]bulk.Stream, n)}}); (err == nil) != ok {
			t.Errorf("%d streams at the far end, two each way were asked for: %v", n, err)
		}
	}
	at := func(times ...time.Duration) (samples []bulk.Sample) {
		for _, t := range times {
			samples = append(samples, bulk.Sample{At: t})
		}
		return samples
	}
	for _, test := range []struct {
		stream bulk.Stream
		ok     bool
	}{
		{bulk.Stream{}, true},
		{bulk.Stream{Elapsed: 2 * bulk.MaxDuration}, true},
		{bulk.Stream{Elapsed: 2*bulk.MaxDuration + 1}, false},
		{bulk.Stream{Bytes: -1}, false},
		{bulk.Stream{Omitted: -1}, false},
		{bulk.Stream{Began: -1}, false},
		{bulk.Stream{Elapsed: -1}, false},
		{bulk.Stream{Samples: at(0, 5, 5, 6)}, true},
		{bulk.Stream{Samples: at(0, 5, 4, 6)}, false},
	} {
		if err := checkStream(&test.stream); (err == nil) != test.ok {
			t.Errorf("%+v: %v", test.stream, err)
		}
	}
}

func TestReadWriteFail(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing", "a.json")
	if _, err := Read(missing); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "read evidence from "+missing+": ") {
		t.Errorf("error %v", err)
	}
	if err := Write(missing, recorded(t)[0]); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "write evidence to "+missing+": ") {
		t.Errorf("error %v", err)
	}
	// Where there is something else than a file, it stays.
	link := filepath.Join(dir, "link")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Skipf("needs symbolic links: %v", err)
	}
	for _, name := range []string{dir, link} {
		if err := Write(name, recorded(t)[0]); err == nil || !strings.HasSuffix(err.Error(), "not a regular file") {
			t.Errorf("%s: error %v", name, err)
		}
		if _, err := Read(name); err == nil || !strings.HasSuffix(err.Error(), "not a regular file") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if at, err := os.Readlink(link); err != nil || at != os.DevNull {
		t.Errorf("the link leads to %q, %v", at, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v: want nothing beside the link", left, err)
	}
}

// Whatever a file holds: an error, or a diagnosis that survives being written.
func FuzzDecode(f *testing.F) {
	for _, x := range recorded(f) {
		for _, end := range []*bulk.End{&x.Evidence.Transfer.Client, &x.Evidence.Transfer.Server} {
			for i, stream := range end.Streams {
				end.Streams[i].Samples = stream.Samples[:min(9, len(stream.Samples))] // as many as a diagnosis wants
			}
			end.Counters = nil
		}
		x.Evidence.SenderHost, x.Evidence.ReceiverHost = nil, nil
		text, err := Encode(x)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"schema":"fullbore/evidence/1","evidence":{"direction":"forward","transfer":{"spec":{"direction":"forward","streams":1}}}}`))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		x, err := Decode(bytes.NewReader(text))
		if err != nil {
			return
		}
		written, err := Encode(x)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(bytes.NewReader(written))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(x.Diagnosis, again.Diagnosis, same); d != "" {
			t.Errorf("(-read +read again):\n%s", d)
		}
	})
}
