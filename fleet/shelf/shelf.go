// Package shelf keeps what came of jobs on this host's disk, until it is told that somebody else has it:
// whoever ordered them may be gone by the time that they end.
package shelf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/statedir"
)

// Shelf is a folder with a file for each result. It is safe for concurrent use, by one process.
type Shelf struct {
	dir string

	mu    sync.Mutex
	there map[string]bool // keys of results
}

// Bounds of a shelf.
const (
	Most       = 2000 // results: with the largest outcomes some 200 MB
	mostOfFile = 1 << 20
	ending     = ".json"
	damaged    = ".unreadable" // its name ends so, and it is looked at no more
)

// Errors of a shelf.
var (
	ErrFull = fmt.Errorf("%d results wait here to be fetched, the most: is the hub that ordered them running? Those that nobody is to have any more can be removed", Most)
	ErrNone = errors.New("no such result waits here")
)

// Open opens the shelf in a folder, which is made. What was being written when the machine went down is removed.
func Open(dir string) (*Shelf, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep results: %w", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("keep results: %w", err)
	}
	s := &Shelf{dir: dir, there: map[string]bool{}}
	for _, f := range files {
		key, isResult := strings.CutSuffix(f.Name(), ending)
		switch {
		case isResult:
			s.there[key] = true
		case statedir.Unfinished(f.Name()):
			if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
				return nil, fmt.Errorf("keep results: %w", err)
			}
		}
	}
	return s, nil
}

// Room says whether one more result has a place: [ErrFull].
func (s *Shelf) Room() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.there) >= Most {
		return ErrFull
	}
	return nil
}

// Put keeps a result. When it returns, that is on the disk.
func (s *Shelf) Put(r *job.Result) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	key := r.Part.Key()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := statedir.Keep(filepath.Join(s.dir, key+ending), text); err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	s.there[key] = true
	return nil
}

// Keys are the names of all results, in the order of their experiments.
func (s *Shelf) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.there))
}

// Get gives a result: [ErrNone] where there is none of that key. One that cannot be read is put aside, so
// that it is in nobody's way.
func (s *Shelf) Get(key string) (*job.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.there[key] {
		return nil, ErrNone
	}
	path := filepath.Join(s.dir, key+ending)
	r, err := read(path)
	if err != nil {
		delete(s.there, key)
		return nil, fmt.Errorf("the result in %s cannot be read: %w", path, errors.Join(err, os.Rename(path, path+damaged)))
	}
	return r, nil
}

func read(path string) (*job.Result, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	r := new(job.Result)
	if err := json.NewDecoder(io.LimitReader(file, mostOfFile)).Decode(r); err != nil {
		return nil, err
	}
	return r, r.Check()
}

// Drop removes a result that somebody else has now: [ErrNone] where there is none.
func (s *Shelf) Drop(key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.there[key] {
		return ErrNone
	}
	if err := os.Remove(filepath.Join(s.dir, key+ending)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove a result: %w", err)
	}
	delete(s.there, key)
	return nil
}
