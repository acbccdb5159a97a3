package peer

import (
	"errors"
	"fmt"
)

// What can go wrong between two ends, for callers that branch on it with
// errors.Is. The errors returned carry a whole sentence and what to do.
var (
	ErrUnknownHost = errors.New("unknown host")
	ErrUnreachable = errors.New("nothing answers")
	ErrTimeout     = fmt.Errorf("%w in time", ErrUnreachable)
	ErrNotFullbore = errors.New("not a fullbore far end")
	ErrVersion     = errors.New("another protocol version")
	ErrWrongHost   = errors.New("not the host that token is for")
	ErrToken       = errors.New("token not accepted")
	ErrForbidden   = errors.New("not allowed")
	// ErrMeasuresOnly is ErrForbidden for want of a token: all that goes without
	// one is to measure.
	ErrMeasuresOnly = fmt.Errorf("%w without the token", ErrForbidden)
	ErrLimit        = errors.New("more than the far end allows")
	ErrBusy         = errors.New("far end is busy")
	ErrGone         = errors.New("no such thing at the far end")
	ErrLost         = errors.New("far end went away")
	ErrFailed       = errors.New("the far end failed") // at what it was asked and would do
	ErrTooMuch      = errors.New("the far end says more than it can have to say")
	ErrRefused      = errors.New("refused by the far end") // anything else it says no to
)

// failure is a sentence with the kind of error it is and, where there is one,
// the cause.
type failure struct {
	kind  error
	says  string
	cause error
}

func (f *failure) Error() string {
	if f.cause == nil {
		return f.says
	}
	return f.says + ": " + f.cause.Error()
}

func (f *failure) Unwrap() []error {
	if f.cause == nil {
		return []error{f.kind}
	}
	return []error{f.kind, f.cause}
}
