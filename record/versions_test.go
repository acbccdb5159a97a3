package record

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fullbore/fullbore/host"
)

var updateStore = flag.Bool("update-store", false, "write testdata/version-N.db.gz and .sql.gz, stores of this version: before a migration is added, never after")

// A store of each version that there was is brought to this one, with the run in it. The
// files are never made again: they are what that version wrote, SQLite's as it lay there,
// PostgreSQL's as pg_dump gives it.
func TestStoresOfAllVersions(t *testing.T) {
	texts, err := steps()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []struct {
		name, ending string
		place        func() string
		write        func(t *testing.T, place string) []byte
		read         func(t *testing.T, data []byte, place string)
	}{
		{"SQLite", "db", func() string { return filepath.Join(t.TempDir(), "record.db") }, readFile, func(t *testing.T, data []byte, place string) {
			if err := os.WriteFile(place, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"PostgreSQL", "sql", func() string { return newDatabase(t) }, dumped, restore},
	} {
		t.Run(kind.name, func(t *testing.T) {
			name := func(version int) string {
				return filepath.Join("testdata", fmt.Sprintf("version-%d.%s.gz", version, kind.ending))
			}
			if *updateStore {
				place := kind.place()
				keepOne(t, place)
				zipped(t, name(len(texts)), kind.write(t, place))
			}
			for version := 1; version <= len(texts); version++ {
				place := kind.place()
				kind.read(t, unzipped(t, name(version)), place)
				isKept(t, version, opened(t, place))
			}
		})
	}
}

// isKept: the run of keepOne is there, and whole.
func isKept(t *testing.T, version int, s *Store) {
	t.Helper()
	runs, err := s.List(t.Context(), Filter{Tag: "kept"})
	if err != nil || len(runs) != 1 {
		t.Fatalf("version %d: %d runs, %v", version, len(runs), err)
	}
	r, err := s.Load(t.Context(), runs[0].ID)
	if err != nil {
		t.Fatalf("version %d: %v", version, err)
	}
	if r.Kind != Tune || r.State != Done || r.From != "a" || r.To != "b" || r.Goodput != 9e8 || r.Verdict != "receiver-buffer" || string(r.Document) != `{"gain":300}` {
		t.Errorf("version %d: %+v, %s", version, r.Header, r.Document)
	}
	if len(r.Events) != 2 || len(r.Hosts) != 2 || len(r.Changes) != 1 || len(r.Transfers) != 1 {
		t.Fatalf("version %d: %d steps, %d hosts, %d changes, %d transfers", version, len(r.Events), len(r.Hosts), len(r.Changes), len(r.Transfers))
	}
	samples := r.Transfers[0].Result.Server.Streams[1].Samples
	if len(samples) != 50 || samples[49].Bytes != 49<<20 || samples[49].TCP.SndCwnd != 59 {
		t.Errorf("version %d: samples %+v", version, samples)
	}
	if version < withFlows {
		return
	}
	if len(r.Flows) != 1 || r.Flows[0].From != "a" || r.Flows[0].Goodput != 1 || string(r.Flows[0].Data) != `{"goodput":1e+09}` {
		t.Errorf("version %d: flows %+v", version, r.Flows)
	}
	if shifts, err := s.Shifts(t.Context(), "mesh", 10); err != nil || len(shifts) != 1 || shifts[0].After != 5e8 {
		t.Errorf("version %d: shifts %+v, %v", version, shifts, err)
	}
}

// withFlows is the first version that keeps flows.
const withFlows = 4

// keepOne keeps one run of everything.
func keepOne(t *testing.T, place string) {
	r := Start(place, Header{Kind: Tune, Command: []string{"tune", "b"}, Version: "1", Far: "1", From: "a", To: "b", Tags: []string{"kept"}})
	r.Host(Host{Side: Near, When: Before, Is: &host.Facts{Name: "a", Version: "6.1", Tunables: map[string]string{"net.core.rmem_max": "212992"}}})
	r.Event(Phase, "try")
	r.Transfer(time.Now(), aTransfer("try"))
	r.Event(Result, "x 300")
	r.Host(Host{Side: Near, When: After, Is: &host.Facts{Name: "a", Version: "6.1", Tunables: map[string]string{"net.core.rmem_max": "4000000"}}})
	if err := r.End(Outcome{State: Done, Goodput: 9e8, Verdict: "receiver-buffer", Document: []byte(`{"gain":300}`), Changes: []Change{{"a", "net.core.rmem_max", "212992", "4000000", ByTune}}}); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.KeepFlows(t.Context(), "mesh", []Flow{aFlow(r.ID(), "a", "b", 0, 1e9)})
	shift := Shift{Experiment: "mesh", Kind: ShiftSends, From: "a", Since: time.Unix(1e9, 0), Run: r.ID(), Found: time.Unix(2e9, 0), Before: 9e8, After: 5e8}
	if err := errors.Join(err, s.KeepShifts(t.Context(), []Shift{shift}), s.Close()); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, place string) []byte {
	data, err := os.ReadFile(place) // it is closed: its log is in it
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// dumped is the store as SQL. What begins with a backslash is for psql only.
func dumped(t *testing.T, place string) []byte {
	program, err := exec.LookPath("pg_dump")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "--schema", "fullbore", "--inserts", "--no-owner", place).Output()
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^\\.*\n`).ReplaceAll(out, nil)
}

func restore(t *testing.T, data []byte, place string) {
	conn, err := pgx.Connect(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.PgConn().Exec(t.Context(), string(data)).Close(); err != nil {
		t.Fatal(err)
	}
}

func zipped(t *testing.T, name string, data []byte) {
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zip.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func unzipped(t *testing.T, name string) []byte {
	file, err := os.Open(name)
	if err != nil {
		t.Fatalf("%v: make it with -update-store, before anything else changes", err)
	}
	defer file.Close()
	zip, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
