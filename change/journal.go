package change

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// schema is the journal's format. A journal of another one is never guessed at.
const schema = "fullbore/change/1"

// maxJournal bounds a journal's length in bytes; a set of every tunable there
// is has some 10 KiB.
const maxJournal = 1 << 20

// journal is a change set as its file has it.
type journal struct {
	Schema string `json:"schema"`
	Set
}

// ids are the names of change sets: the time they were made, UTC, and some
// chance. They sort by age.
var ids = regexp.MustCompile(`^[0-9]{8}-[0-9]{6}-[0-9a-f]{6}$`)

func journalPath(dir, id string) string { return filepath.Join(dir, id+".json") }

// encode writes a set as its journal.
func encode(set *Set) ([]byte, error) {
	j := journal{Schema: schema, Set: *set}
	j.Elsewhere, j.Booted, j.Trouble = false, false, ""
	j.Values = slices.Clone(set.Values)
	for i := range j.Values {
		j.Values[i].Now, j.Values[i].Drift = "", ""
	}
	data, err := json.MarshalIndent(j, "", "  ")
	return append(data, '\n'), err
}

// decode reads a journal, and takes nothing that encode could not have written.
func decode(data []byte) (*Set, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var j journal
	if err := decoder.Decode(&j); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it is empty")
		}
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the change set")
	}
	if j.Schema != schema {
		return nil, fmt.Errorf("it has schema %.40q, this fullbore knows %q", j.Schema, schema)
	}
	return &j.Set, j.check()
}

func (s *Set) check() error {
	if !ids.MatchString(s.ID) {
		return fmt.Errorf("%.40q is not the id of a change set", s.ID)
	}
	if !s.Kept() && s.State != Reverted && s.State != Lost {
		return fmt.Errorf("state %.40q is unknown", s.State)
	}
	if s.Within < 0 || s.Within > maxWithin {
		return fmt.Errorf("it may go without a call for %v, which is not within 0..%v", s.Within, maxWithin)
	}
	seen := map[string]bool{}
	for _, v := range s.Values {
		if v.Tunable == "" || seen[v.Tunable] {
			return fmt.Errorf("tunable %.40q is there twice, or has no name", v.Tunable)
		}
		seen[v.Tunable] = true
		if !slices.Contains([]State{Applying, Live, Reverted, Lost}, v.State) {
			return fmt.Errorf("%.40s: state %.40q is unknown", v.Tunable, v.State)
		}
		if v.Old == "" || v.New == "" || v.Now != "" || v.Drift != "" {
			return fmt.Errorf("%.40s: a value is missing, or one too many", v.Tunable)
		}
		// It becomes part of a rule that udev carries out.
		if v.Device != nil && v.Device.MAC != "" && !macs.MatchString(v.Device.MAC) {
			return fmt.Errorf("%.40s: %.40q is not a hardware address", v.Tunable, v.Device.MAC)
		}
	}
	return nil
}

// readSet reads one journal. That it does not exist is ErrUnknown; any other
// error says what to do.
func readSet(dir, id string) (*Set, error) {
	if !ids.MatchString(id) {
		return nil, fmt.Errorf("%.40q: %w", id, ErrUnknown)
	}
	path := journalPath(dir, id)
	data, err := readJournal(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", id, ErrUnknown)
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("journal %s cannot be read: %w: run this as root", path, fs.ErrPermission)
	}
	var set *Set
	if err == nil {
		set, err = decode(data)
	}
	if err == nil && set.ID != id {
		err = fmt.Errorf("it is that of change set %s", set.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("journal %s cannot be read: %w; it is left as it is: repair it, or move it away", path, err)
	}
	return set, nil
}

// readJournal reads a file that may be a journal. Opening anything else than a
// file could wait for ever, as a named pipe does.
func readJournal(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxJournal+1))
	if err == nil && len(data) > maxJournal {
		err = fmt.Errorf("it is longer than %d bytes", maxJournal)
	}
	return data, err
}

// trouble is what is wrong with one set.
type trouble struct {
	id  string
	err error
}

// joined makes one error of all troubles.
func joined(troubles []trouble) error {
	var all []error
	for _, t := range troubles {
		all = append(all, t.err)
	}
	return errors.Join(all...)
}

// readAll reads every journal, oldest set first, and reports those that cannot
// be read. The error is that of the directory.
func readAll(dir string) (sets []*Set, bad []trouble, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list change sets: %w", err)
	}
	for _, entry := range entries {
		id, ok := strings.CutSuffix(entry.Name(), ".json")
		if !ok || !ids.MatchString(id) {
			continue
		}
		set, err := readSet(dir, id)
		if err != nil {
			bad = append(bad, trouble{id, err})
			continue
		}
		sets = append(sets, set)
	}
	slices.SortFunc(sets, compare)
	return sets, bad, nil
}

// writeDurably replaces a file whole, so that after a crash, of the process or
// the machine, there is either the old or the new one.
func writeDurably(path string, data []byte) error {
	if err := replaceFile(path, data); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// beside is where a file's new content is written before it takes its place.
func beside(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
}

// makeDir makes a directory and those above it, durably.
func makeDir(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	above := filepath.Dir(path)
	if above != path {
		if err := makeDir(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// If it is there but is no directory, this says so.
	if _, err := os.ReadDir(path); err != nil {
		return err
	}
	return syncDir(above)
}

// idTime is how an id begins: when the set was made, in UTC.
const idTime = "20060102-150405"

// newID makes the id of a change set that begins now.
func newID(now time.Time, chance [3]byte) string {
	return fmt.Sprintf("%s-%x", now.UTC().Format(idTime), chance)
}

// madeAt is when the set of that id was made, to the second; zero if the id is
// not one.
func madeAt(id string) time.Time {
	if !ids.MatchString(id) {
		return time.Time{}
	}
	made, _ := time.Parse(idTime, id[:len(idTime)]) // zero where there is no such day
	return made
}
