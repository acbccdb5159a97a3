package peer

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/printable"
)

// problems are the errors that cross the control API, as RFC 9457 problem
// types. Both ends use this table.
var problems = []struct {
	kind   error
	name   string
	status int
}{
	{ErrToken, "token", http.StatusUnauthorized},
	{ErrForbidden, "forbidden", http.StatusForbidden},
	{ErrLimit, "limit", http.StatusUnprocessableEntity},
	{ErrBusy, "busy", http.StatusTooManyRequests},
	{ErrGone, "gone", http.StatusNotFound},
	{ErrFailed, "failed", http.StatusInternalServerError},
	{ErrRefused, "refused", http.StatusConflict},
	{path.ErrTickets, "tickets", http.StatusTooManyRequests},
	{change.ErrRefused, "change-refused", http.StatusConflict},
	{change.ErrUnknown, "change-unknown", http.StatusNotFound},
	{change.ErrClosed, "change-closed", http.StatusConflict},
	{change.ErrLost, "change-lost", http.StatusConflict},
}

const problemType = "urn:fullbore:"

// problem is an error the far end answers with.
func problem(kind error, format string, args ...any) error {
	for _, p := range problems {
		if errors.Is(kind, p.kind) {
			return &huma.ErrorModel{
				Type: problemType + p.name, Status: p.status, Title: http.StatusText(p.status),
				Detail: fmt.Sprintf(format, args...),
			}
		}
	}
	return huma.Error500InternalServerError(fmt.Sprintf(format, args...))
}

// understand turns a problem document into the error it was at the far end.
func understand(p *huma.ErrorModel) error {
	says := []string{p.Detail}
	for _, detail := range p.Errors {
		says = append(says, detail.Error())
	}
	kind := ErrRefused
	if p.Status >= 500 {
		kind = ErrFailed
	}
	for _, known := range problems {
		if problemType+known.name == p.Type {
			kind = known.kind
		}
	}
	return &failure{kind: kind, says: oneLine(strings.Join(says, "; "))}
}

// oneLine makes text from the network fit to be shown: one line, not too long.
func oneLine(s string) string {
	const most = 500
	s = strings.TrimSpace(printable.Line(s))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// busyError says how long until there is a place.
type busyError struct {
	running int
	from    netip.Addr // only one client's are counted: one may not have all places
	soonest time.Duration
}

func (e *busyError) Error() string {
	from := ""
	if e.from.IsValid() {
		from = fmt.Sprintf(" from %v", e.from)
	}
	return fmt.Sprintf("%d transfers%s are running, the most allowed at once; a place is free in at most %v",
		e.running, from, e.soonest.Round(time.Second))
}

// answer makes any error one of the API.
func answer(err error) error {
	var busy *busyError
	var status huma.StatusError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &status):
		return err
	case errors.As(err, &busy):
		seconds := fmt.Sprint(int(busy.soonest.Seconds()) + 1)
		return huma.ErrorWithHeaders(problem(ErrBusy, "%s", busy), http.Header{"Retry-After": {seconds}})
	}
	for _, p := range problems {
		if errors.Is(err, p.kind) {
			return problem(p.kind, "%s", err)
		}
	}
	return problem(ErrRefused, "%s", err)
}
