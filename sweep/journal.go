package sweep

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Journal is a Store in a file: a line of JSON that says of which experiment it is, and
// one for each transfer. A process that is killed while it writes leaves a line without
// an end, which is left out.
type Journal struct {
	file *os.File
	kept []Measured
}

// journalSchema is the version of its lines.
const journalSchema = "fullbore/sweep-journal/1"

// opening line of a journal.
type journalHeader struct {
	Schema      string `json:"schema"`
	Experiment  string `json:"experiment"`
	Fingerprint string `json:"fingerprint"` // of all that decides what is measured
	Seed        uint64 `json:"seed"`
}

// maxJournal and maxLine bound what is read of a journal, in bytes. A transfer of an
// hour has a series of some 100 KB.
const (
	maxJournal = 256 << 20
	maxLine    = 4 << 20
)

// ErrOther says that a journal is of another experiment.
var ErrOther = errors.New("the journal is of another experiment")

// OpenJournal opens the journal of an experiment, or begins one, and gives the spec the
// seed that the journal has. more is whatever else decides what is measured: the far
// end, a scenario. It is not safe for two processes at a time.
func OpenJournal(path string, spec *Spec, more ...string) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	j := &Journal{file: file}
	if err := j.begin(spec, more); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	return j, nil
}

func (j *Journal) begin(spec *Spec, more []string) error {
	for spec.Seed == 0 {
		spec.Seed = drawSeed()
	}
	want := journalHeader{journalSchema, spec.Name, fingerprint(spec, more), spec.Seed}
	lines := bufio.NewReaderSize(io.LimitReader(j.file, maxJournal), 64<<10)
	whole := int64(0) // bytes of lines that have an end
	for first := true; ; first = false {
		line, err := readLine(lines)
		switch {
		case errors.Is(err, io.EOF):
			return j.goOn(whole, first, want)
		case err != nil:
			return err
		case first:
			var has journalHeader
			if err := json.Unmarshal(line, &has); err != nil || has.Schema != journalSchema {
				return fmt.Errorf("it does not begin as one of version %s does: name another file", journalSchema)
			}
			if has.Fingerprint != want.Fingerprint {
				return fmt.Errorf("%w, %.64q, or of this one before it was changed: name another file, or remove it", ErrOther, has.Experiment)
			}
			spec.Seed = has.Seed
		default:
			var m Measured
			if err := json.Unmarshal(line, &m); err != nil {
				return fmt.Errorf("byte %d: %w", whole, err)
			}
			j.kept = append(j.kept, m)
		}
		whole += int64(len(line)) + 1
	}
}

// readLine gives one line without its end; io.EOF also where the end is missing.
func readLine(from *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := from.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("a line is longer than %d bytes", maxLine)
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, err
		default:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		}
	}
}

// goOn writes behind the last whole line; of a new journal, the first one.
func (j *Journal) goOn(whole int64, fresh bool, header journalHeader) error {
	if whole >= maxJournal {
		return fmt.Errorf("it is larger than %d bytes", maxJournal)
	}
	if err := j.file.Truncate(whole); err != nil {
		return err
	}
	if _, err := j.file.Seek(whole, io.SeekStart); err != nil {
		return err
	}
	if fresh {
		return j.write(header)
	}
	return nil
}

func (j *Journal) write(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return err
	}
	return j.file.Sync()
}

// Kept are the transfers that it has.
func (j *Journal) Kept() []Measured { return j.kept }

// Keep adds one.
func (j *Journal) Keep(m Measured) error { return j.write(m) }

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }

// fingerprint of all that decides what is measured, and in which order, but the seed.
// A budget may change, and so may the number of blocks: more of them go on where fewer
// ended.
func fingerprint(spec *Spec, more []string) string {
	own := *spec
	own.Seed, own.Budget, own.Smallest, own.About, own.Law = 0, 0, 0, "", ""
	if own.Plan == Grid {
		own.Blocks = 0
	} else { // it decides how a search goes on
		own.Smallest = spec.Smallest
	}
	text, err := json.Marshal(struct {
		Spec *Spec
		More []string
	}{&own, more})
	if err != nil {
		panic(err) // of a spec that was read: its values are words and finite numbers
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Memory is a Store that is gone with the process.
type Memory struct{ All []Measured }

// Kept are those that it has.
func (m *Memory) Kept() []Measured { return m.All }

// Keep adds one.
func (m *Memory) Keep(one Measured) error {
	m.All = append(m.All, one)
	return nil
}
