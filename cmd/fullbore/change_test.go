package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/change"
)

func TestConfirmWithoutID(t *testing.T) {
	for _, tc := range []struct {
		name    string
		set     change.Set
		persist bool
		want    bool
	}{
		{"live", change.Set{State: change.Live}, false, true},
		{"live elsewhere", change.Set{State: change.Live, Elsewhere: true}, false, false},
		{"confirmed", change.Set{State: change.Confirmed}, false, false},
		{"confirmed, to persist", change.Set{State: change.Confirmed}, true, true},
		{"persisted", change.Set{State: change.Confirmed, Persist: true}, true, false},
		{"persisted, and the file was edited", change.Set{State: change.Confirmed, Persist: true, Values: []change.Value{{New: "1", Now: "1", State: change.Live, Drift: "edited"}}}, true, true},
		{"persisted, and someone else set it", change.Set{State: change.Confirmed, Persist: true, Values: []change.Value{{New: "1", Now: "2", State: change.Live, Drift: "set"}}}, true, false},
		{"reverted", change.Set{State: change.Reverted}, true, false},
	} {
		if got := (&confirmCmd{Persist: tc.persist}).waits(&tc.set); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestChangeErrorsTellWhatToDo(t *testing.T) {
	for _, tc := range []struct {
		err  error
		code int
		hint string
	}{
		{fs.ErrPermission, exitFailed, "sudo"},
		{change.ErrUnknown, exitFailed, "fullbore status"},
		{change.ErrClosed, exitRefused, "again"},
		{change.ErrRefused, exitRefused, ""},
	} {
		var out strings.Builder
		code := conclude(&out, changeError(fmt.Errorf("x: %w", tc.err)))
		if code != tc.code || !strings.Contains(out.String(), tc.hint) {
			t.Errorf("%v: exit code %d, want %d; printed:\n%s", tc.err, code, tc.code, &out)
		}
	}
	if err := changeError(nil); err != nil {
		t.Error(err)
	}
	other := errors.New("other")
	if err := changeError(other); !errors.Is(err, other) {
		t.Error(err)
	}
}
