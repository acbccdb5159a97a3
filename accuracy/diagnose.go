package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/unit"
)

// verdictDocument is what is read of `fullbore diagnose --json` (docs/json.md).
type verdictDocument struct {
	Goodput unit.Rate `json:"goodput_bps"`
	Seconds float64   `json:"test_seconds"`
	diagnose.Diagnosis
}

// diagnose makes one run: again if the lab itself failed, but not more than once.
func (b *bench) diagnose(ctx context.Context, j *job) outcome {
	out := newOutcome(j.entry, j.run)
	scenario := j.document.clone()
	scenario.reseed(j.run)
	file, err := scenario.write(b.dir, j.name())
	if err != nil {
		out.Problem = err.Error()
		return out
	}
	var document verdictDocument
	for range 2 {
		document = verdictDocument{}
		err = b.call(ctx, &document, "diagnose", "--json", "--evidence", evidenceFile(b.keep, j), "--lab", file)
		if !errors.Is(err, lab.ErrInvalid) {
			break
		}
	}
	if err != nil {
		out.Problem = err.Error()
	}
	if out.Invalid = errors.Is(err, lab.ErrInvalid); out.Invalid || document.Verdict.Cause == "" {
		_ = os.Remove(evidenceFile(b.keep, j)) // of a run that does not count, mostly not there
		return out
	}
	out.judged(&document.Diagnosis, document.Goodput)
	out.Traffic = time.Duration(document.Seconds * float64(time.Second))
	if b.gain && liftable(j.Expect.Cause) {
		if out.Healed, err = b.healed(ctx, j); err != nil {
			out.Problem = "heal: " + err.Error()
		}
	}
	return out
}

// call runs the binary once; what it writes to standard output becomes
// document. An error wraps [lab.ErrInvalid] if the lab failed, and ends with what
// the program said last.
func (b *bench) call(ctx context.Context, document any, args ...string) error {
	ctx, stop := context.WithTimeout(ctx, b.deadline)
	defer stop()
	command := exec.CommandContext(ctx, b.fullbore, args...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	// It takes its lab down first.
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second
	err := command.Run()
	switch {
	case strings.Contains(stderr.String(), lab.ErrInvalid.Error()):
		return fmt.Errorf("%w: %s", lab.ErrInvalid, lastLine(stderr.String()))
	case ctx.Err() != nil:
		return fmt.Errorf("not done within %v: %w", b.deadline, ctx.Err())
	}
	if wrote := json.Unmarshal(stdout.Bytes(), document); wrote != nil && err == nil {
		return fmt.Errorf("read what it wrote: %w", wrote)
	}
	if err != nil { // then the document may tell more
		return fmt.Errorf("%w: %s", err, lastLine(stderr.String()))
	}
	return nil
}

// lastLine is the last line that is not of the lab's report.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for len(lines) > 1 && strings.HasPrefix(strings.TrimSpace(lines[len(lines)-1]), "lab ") {
		lines = lines[:len(lines)-1]
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
