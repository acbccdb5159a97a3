package html

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/fullbore/fullbore/record"
)

// Limits of a report that is read: its file and the runs in it come from anywhere.
const (
	mostFile     = 16 << 20
	mostUnpacked = 64 << 20
)

// ErrNoRun is returned for a file without an embedded run.
var ErrNoRun = errors.New("no run of fullbore is embedded in this file: use one that `fullbore report` wrote")

// Read gives the runs that are embedded in a report. It refuses one of more than
// 16 MB, or with more than 64 MB of runs.
func Read(r io.Reader) ([]*record.Run, error) {
	page, err := io.ReadAll(io.LimitReader(r, mostFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	if len(page) > mostFile {
		return nil, fmt.Errorf("the file is larger than %d MB: reports are not", mostFile>>20)
	}
	var runs []*record.Run
	left := mostUnpacked
	for {
		_, rest, found := bytes.Cut(page, []byte(opening))
		if !found {
			break
		}
		packed, rest, found := bytes.Cut(rest, []byte(closing))
		if !found {
			return nil, fmt.Errorf("run %d has no end: the file was cut off", len(runs)+1)
		}
		if len(runs) == MostRuns {
			return nil, fmt.Errorf("the file has more than %d runs", MostRuns)
		}
		run, size, err := unpack(packed, left)
		if err != nil {
			return nil, fmt.Errorf("run %d of the report: %w", len(runs)+1, err)
		}
		left -= size
		runs = append(runs, run)
		page = rest
	}
	if len(runs) == 0 {
		return nil, ErrNoRun
	}
	return runs, nil
}

func unpack(packed []byte, most int) (*record.Run, int, error) {
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(bytes.TrimSpace(packed))))
	if err != nil {
		return nil, 0, fmt.Errorf("it is damaged: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(z, int64(most)+1))
	if err != nil {
		return nil, 0, fmt.Errorf("it is damaged: %w", err)
	}
	if len(text) > most {
		return nil, 0, fmt.Errorf("it is larger than %d MB", mostUnpacked>>20)
	}
	var run record.Run
	if err := json.Unmarshal(text, &run); err != nil {
		return nil, 0, fmt.Errorf("it is not a run: %w", err)
	}
	if run.Schema != record.Schema {
		return nil, 0, fmt.Errorf("its schema is %.40q, this version reads %q", run.Schema, record.Schema)
	}
	return &run, len(text), nil
}
