package examine

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2/maybe"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/version"
)

// Schema is the version of a file of evidence.
const Schema = "fullbore/evidence/1"

// file is everything that a verdict rests on, to be diagnosed again anywhere.
type file struct {
	Schema   string            `json:"schema"`
	Version  string            `json:"version"` // of the fullbore that wrote it
	Time     time.Duration     `json:"test_ns"`
	Bytes    int64             `json:"test_bytes"`
	Evidence diagnose.Evidence `json:"evidence"`
}

// mostUnpacked bounds a file that is read, after gzip: some hundred times what
// an examination with all its trials makes.
const mostUnpacked = 64 << 20

// Writable says early whether [Write] can make or replace a file. It replaces no
// device, pipe or symbolic link.
func Writable(name string) error {
	err := regular(os.Lstat(name))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = creatable(filepath.Dir(name))
	}
	if err != nil {
		return fmt.Errorf("write evidence to %s: %w", name, reason(err))
	}
	return nil
}

// reason is an error of the system without the name of a file, which may be that
// of a temporary one.
func reason(err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		return of.Err
	}
	return err
}

func regular(f os.FileInfo, err error) error {
	if err == nil && !f.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	return err
}

// creatable makes a file in a folder, as writing one does, and removes it.
func creatable(folder string) error {
	f, err := os.CreateTemp(folder, ".evidence")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Write puts all evidence into a file, compressed if its name ends in .gz. The
// file is there whole or not at all. It holds names, addresses and settings of
// both hosts.
func Write(name string, x *Examination) error {
	if err := Writable(name); err != nil {
		return err
	}
	text, err := Encode(x)
	if err == nil && strings.HasSuffix(name, ".gz") {
		text, err = pack(text)
	}
	if err == nil {
		err = maybe.WriteFile(name, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write evidence to %s: %w", name, reason(err))
	}
	return nil
}

func pack(text []byte) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(text)
	err = errors.Join(err, w.Close())
	return packed.Bytes(), err
}

// Encode is the text of such a file.
func Encode(x *Examination) ([]byte, error) {
	text, err := json.Marshal(file{
		Schema: Schema, Version: version.String(), Time: x.Spent.Time, Bytes: x.Spent.Bytes, Evidence: x.Evidence,
	})
	return append(text, '\n'), err
}

// Read takes a file that Write made, and diagnoses what it holds.
func Read(name string) (*Examination, error) {
	x, err := read(name)
	if err != nil {
		return nil, fmt.Errorf("read evidence from %s: %w", name, reason(err))
	}
	return x, nil
}

// read does not open a pipe, which might never be written to.
func read(name string) (*Examination, error) {
	if err := regular(os.Stat(name)); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Decode(f)
}

// Decode reads such a file's text, compressed or not, and diagnoses it.
func Decode(r io.Reader) (*Examination, error) {
	text, err := unpack(r)
	if err != nil {
		return nil, err
	}
	var is struct {
		Schema  string `json:"schema"`
		Version string `json:"version"`
	}
	if err := json.Unmarshal(text, &is); err != nil {
		return nil, fmt.Errorf("not a JSON document: %w", err)
	}
	if is.Schema != Schema {
		return nil, fmt.Errorf("schema is %q, not %q: write such a file with fullbore diagnose HOST --evidence FILE", is.Schema, Schema)
	}
	var read file
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&read); err != nil {
		return nil, fmt.Errorf("%w (written by fullbore %q, read by %q)", err, is.Version, version.String())
	}
	if err := check(&read); err != nil {
		return nil, err
	}
	return &Examination{
		Evidence: read.Evidence, Diagnosis: diagnose.Diagnose(&read.Evidence),
		Spent: Spent{read.Time, read.Bytes},
	}, nil
}

// unpack reads all there is, within bounds.
func unpack(r io.Reader) ([]byte, error) {
	most := int64(mostUnpacked)
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && bytes.HasPrefix(text, []byte{0x1f, 0x8b}) { // RFC 1952, section 2.3.1
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(text)); err == nil {
			text, err = io.ReadAll(io.LimitReader(z, most+1))
		}
	}
	switch {
	case err != nil:
		return nil, err
	case int64(len(text)) > most:
		return nil, fmt.Errorf("more than %d MiB", mostUnpacked>>20)
	}
	return text, nil
}
