package examine

import (
	"errors"
	"fmt"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
)

// mostTrials is more than an examination ever runs.
const mostTrials = 100

// check says what is wrong with a file whose keys and types are right, or nil.
func check(f *file) error {
	e := &f.Evidence
	switch {
	case f.Time < 0 || f.Bytes < 0:
		return fmt.Errorf("test_ns %d, test_bytes %d: must not be negative", f.Time, f.Bytes)
	case e.Direction != bulk.Forward && e.Direction != bulk.Reverse:
		return fmt.Errorf("direction %q: must be forward or reverse", e.Direction)
	case e.Transfer == nil:
		return errors.New("there is no transfer in it")
	case e.Transfer.Spec.Direction != e.Direction:
		return fmt.Errorf("the transfer went %s, the evidence is of %s", e.Transfer.Spec.Direction, e.Direction)
	case len(e.Trials) > mostTrials:
		return fmt.Errorf("%d trials: at most %d", len(e.Trials), mostTrials)
	}
	if err := checkResult(e.Transfer); err != nil {
		return fmt.Errorf("transfer: %w", err)
	}
	for i := range e.Trials {
		if err := checkTrial(&e.Trials[i]); err != nil {
			return fmt.Errorf("trial %d: %w", i+1, err)
		}
	}
	return nil
}

func checkTrial(t *diagnose.Trial) error {
	if err := t.Spec.Check(); err != nil {
		return err
	}
	switch {
	case t.Result == nil && t.Failed == "":
		return errors.New("neither a result nor why there is none")
	case t.Result == nil:
		return nil
	case t.Result.Spec != t.Spec:
		return errors.New("its result is of another transfer")
	}
	return checkResult(t.Result)
}

// checkResult holds for what came from either end.
func checkResult(r *bulk.Result) error {
	if err := r.Spec.Check(); err != nil {
		return err
	}
	for _, end := range []*bulk.End{&r.Client, &r.Server} {
		if len(end.Streams) > 2*r.Spec.Streams {
			return fmt.Errorf("%d streams at one end, %d were asked for", len(end.Streams), r.Spec.Streams)
		}
		for i := range end.Streams {
			if err := checkStream(&end.Streams[i]); err != nil {
				return fmt.Errorf("stream %d at %q: %w", end.Streams[i].ID, end.Host, err)
			}
		}
	}
	return nil
}

func checkStream(s *bulk.Stream) error {
	if s.Bytes < 0 || s.Omitted < 0 || s.Began < 0 || s.Elapsed < 0 || s.Elapsed > 2*bulk.MaxDuration {
		return errors.New("bytes or times out of range")
	}
	for i := 1; i < len(s.Samples); i++ {
		if s.Samples[i].At < s.Samples[i-1].At {
			return fmt.Errorf("sample %d is earlier than the one before it", i+1)
		}
	}
	return nil
}
