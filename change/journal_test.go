package change

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func journalled() *Set {
	return &Set{
		ID: "20261120-120000-a1b2c3", State: Applying, Reason: "tune",
		Created:  time.Date(2026, 11, 20, 12, 0, 0, 5, time.UTC),
		Deadline: time.Date(2026, 11, 20, 12, 1, 0, 5, time.UTC), Within: time.Minute,
		BootID: "boot", Namespace: "net:cookie:1",
		Values: []Value{{Tunable: "net.ipv4.tcp_rmem", Old: "1 2 3", New: "1 2 4", State: Applying, Prior: "1 2 3"}},
	}
}

func TestJournalKeepsASet(t *testing.T) {
	text, err := encode(journalled())
	must(t, err)
	set, err := decode(text)
	must(t, err)
	if diff := cmp.Diff(journalled(), set); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	path := filepath.Join(t.TempDir(), "journal")
	must(t, writeDurably(path, []byte("old")))
	must(t, writeDurably(path, text))
}

func TestJournalRefuses(t *testing.T) {
	good, err := encode(journalled())
	must(t, err)
	for _, tc := range []struct{ name, from, to, says string }{
		{"an unknown state", `"state": "applying"`, `"state": "maybe"`, "unknown"},
		{"a path for an id", `"20261120-120000-a1b2c3"`, `"../x"`, "not the id"},
		{"an unknown key", `"reason"`, `"raeson"`, "unknown field"},
		{"another version", schema, "fullbore/change/2", "schema"},
		{"an empty value", `"old": "1 2 3"`, `"old": ""`, "missing"},
		{"something after", "\n}\n", "\n}\n{}", "follows"},
		{"an odd deadline", `"confirm_within_ns": 60000000000`, `"confirm_within_ns": -1`, "without a call"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := strings.Replace(string(good), tc.from, tc.to, 1)
			if text == string(good) {
				t.Fatalf("nothing replaced in:\n%s", good)
			}
			if _, err := decode([]byte(text)); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error is %v, want one that says %q", err, tc.says)
			}
		})
	}
}

// What can be read can be written, and reads the same.
func FuzzDecode(f *testing.F) {
	good, err := encode(journalled())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"schema":"fullbore/change/1","id":"20261120-120000-a1b2c3","state":"live"}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := decode(text)
		if err != nil {
			return
		}
		once, err := encode(set)
		if err != nil {
			t.Fatalf("cannot write what was read: %v", err)
		}
		again, err := decode(once)
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%s", err, once)
		}
		twice, err := encode(again)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("differs (%v):\n%s\n%s", err, once, twice)
		}
	})
}
