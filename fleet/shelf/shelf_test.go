package shelf

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fullbore/fullbore/fleet/job"
)

func opened(t *testing.T, dir string) *Shelf {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func result(round int) *job.Result {
	return &job.Result{
		Schema: job.Schema, Kind: job.Transfer, Ended: time.Now().UTC().Truncate(time.Second),
		Part:   job.Part{Experiment: uuid.Must(uuid.NewV7()).String(), Name: "mesh", Round: round, From: "a", To: "b"},
		Status: job.Status{Phase: job.Done, Outcome: &job.Outcome{Goodput: 1e9, Retransmits: -1, Arrived: []job.Point{{After: 1, Bytes: 2}}}},
	}
}

// TestShelf (property): whatever is put there and dropped, by whichever process, what is there is what was put and not
// dropped, as it was.
func TestShelf(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	dir := filepath.Join(t.TempDir(), "state", "results")
	s, want := opened(t, dir), map[string]*job.Result{}
	for step := range 300 {
		var keys []string
		for key := range want {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		switch n := r.IntN(10); {
		case n < 5:
			one := result(step)
			if err := s.Put(one); err != nil {
				t.Fatal(err)
			}
			want[one.Part.Key()] = one
		case n < 8 && len(keys) > 0:
			key := keys[r.IntN(len(keys))]
			if err := s.Drop(key); err != nil {
				t.Fatal(err)
			}
			if err := s.Drop(key); !errors.Is(err, ErrNone) {
				t.Errorf("dropped twice: %v", err)
			}
			delete(want, key)
		case n == 8:
			s = opened(t, dir)
		case len(keys) > 0: // once more, as after a retry
			if err := s.Put(want[keys[0]]); err != nil {
				t.Fatal(err)
			}
		}
	}
	keys := s.Keys()
	if len(keys) != len(want) || len(want) < 10 {
		t.Fatalf("%d results, want %d", len(keys), len(want))
	}
	for _, key := range keys {
		if got, err := s.Get(key); err != nil || !reflect.DeepEqual(got, want[key]) {
			t.Errorf("%s: %+v, %v", key, got, err)
		}
	}
}

// TestDamagedFiles: what was being written when the machine went down is removed, what cannot be read is put aside, and
// nobody reaches other files.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := result(1)
	if err := opened(t, dir).Put(good); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{".unfinished-123": `{"schema":`, "x.1.2.json": `{"schema":`, "y.1.2.json": `{"schema":"fullbore/job/9"}`, "z.json": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := opened(t, dir)
	for _, key := range []string{"x.1.2", "y.1.2", "z"} {
		if _, err := s.Get(key); err == nil || errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", key, err)
		}
		if _, err := s.Get(key); !errors.Is(err, ErrNone) {
			t.Errorf("%s is in the way: %v", key, err)
		}
	}
	for _, key := range []string{"", "..", "../" + filepath.Base(dir) + "/" + good.Part.Key(), ".unfinished-123"} {
		if _, err := s.Get(key); !errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", key, err)
		}
		if err := s.Drop(key); !errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", key, err)
		}
	}
	if keys := opened(t, dir).Keys(); !slices.Equal(keys, []string{good.Part.Key()}) {
		t.Errorf("%v", keys)
	}
	if _, err := os.Stat(filepath.Join(dir, ".unfinished-123")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half a result is still there: %v", err)
	}
}

// TestFullShelf: one that nobody fetches from takes no more, and says what to do.
func TestFullShelf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range Most {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)+ending), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := opened(t, dir)
	if err := s.Room(); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if err := s.Drop("7"); err != nil || s.Room() != nil {
		t.Errorf("%v, %v", err, s.Room())
	}
}
