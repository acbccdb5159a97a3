package mounted

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Period is what a mount did between two looks.
type Period struct {
	Took       time.Duration
	Operations []Activity // those that were asked for, what took most time first
	Sends      uint64     // over all connections
	Again      uint64     // requests that were sent more than once
	Unexpected uint64     // answers that nobody waited for

	// What each request found when it was sent, on average over all connections.
	InFlight float64 // other requests without an answer
	Backlog  float64 // requests that waited for a slot of the connection
	Sending  float64 // requests that waited for room in the socket

	Connections []Share // the same of each
}

// Share is what one connection did.
type Share struct {
	Port              uint64
	Sends             uint64
	InFlight, Backlog float64 // found by each request that was sent, on average
}

// Activity is what one kind of request did.
type Activity struct {
	Name     string
	Requests uint64
	Rate     float64 // a second
	Sent     float64 // bytes of a request, with headers
	Received float64 // bytes of an answer
	Errors   uint64

	// Of a request on average.
	Queue, RTT, Execute time.Duration

	// By Little's law (J. D. C. Little, Operations Research 9, 1961): how many were
	// there at once, on average over the period.
	Waiting float64 // to be sent
	Flying  float64 // for their answer
	Open    float64 // altogether
}

// ErrMountedAnew says that counters began again between two looks.
var ErrMountedAnew = errors.New("it was mounted anew in between")

// Between says what a mount did from one look to a later one.
func Between(before, after Mount, took time.Duration) (*Period, error) {
	if after.Age < before.Age || after.Device != before.Device {
		return nil, fmt.Errorf("%s: %w", after.Point, ErrMountedAnew)
	}
	p := &Period{Took: took}
	for name, o := range after.Operations {
		a, again, err := activity(name, before.Operations[name], o, took)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", after.Point, err)
		}
		if a.Requests > 0 {
			p.Operations = append(p.Operations, a)
			p.Again += again
		}
	}
	slices.SortFunc(p.Operations, func(a, b Activity) int { return cmp.Or(cmp.Compare(b.Open, a.Open), cmp.Compare(a.Name, b.Name)) })
	p.transports(before.Transports, after.Transports)
	return p, nil
}

func activity(name string, before, after Operation, took time.Duration) (a Activity, again uint64, err error) {
	if after.Requests < before.Requests || after.Queue < before.Queue || after.RTT < before.RTT || after.Execute < before.Execute ||
		after.Sent < before.Sent || after.Received < before.Received || after.Transmissions < before.Transmissions || after.Errors < before.Errors {
		return a, 0, ErrMountedAnew
	}
	n := after.Requests - before.Requests
	if n == 0 || took <= 0 {
		return a, 0, nil
	}
	each := func(before, after time.Duration) time.Duration {
		return time.Duration(float64(after-before) / float64(n))
	}
	at := func(before, after time.Duration) float64 { return float64(after-before) / float64(took) }
	a = Activity{
		Name: name, Requests: n, Rate: float64(n) / took.Seconds(), Errors: after.Errors - before.Errors,
		Sent: float64(after.Sent-before.Sent) / float64(n), Received: float64(after.Received-before.Received) / float64(n),
		Queue: each(before.Queue, after.Queue), RTT: each(before.RTT, after.RTT), Execute: each(before.Execute, after.Execute),
		Waiting: at(before.Queue, after.Queue), Flying: at(before.RTT, after.RTT), Open: at(before.Execute, after.Execute),
	}
	if sent := after.Transmissions - before.Transmissions; sent > n {
		again = sent - n
	}
	return a, again, nil
}

// transports adds up the connections. They are told apart by their place: the port of one
// that was connected anew is another.
func (p *Period) transports(before, after []Transport) {
	var inFlight, backlog, sending uint64
	for i, t := range after {
		was := Transport{}
		if i < len(before) && before[i].Sends <= t.Sends && before[i].InFlight <= t.InFlight && before[i].Backlog <= t.Backlog && before[i].Sending <= t.Sending && before[i].BadXIDs <= t.BadXIDs {
			was = before[i]
		}
		l := Share{Port: t.Port, Sends: t.Sends - was.Sends}
		l.InFlight, l.Backlog = mean(t.InFlight-was.InFlight, l.Sends), mean(t.Backlog-was.Backlog, l.Sends)
		p.Connections = append(p.Connections, l)
		p.Sends += l.Sends
		p.Unexpected += t.BadXIDs - was.BadXIDs
		inFlight, backlog, sending = inFlight+t.InFlight-was.InFlight, backlog+t.Backlog-was.Backlog, sending+t.Sending-was.Sending
	}
	p.InFlight, p.Backlog, p.Sending = mean(inFlight, p.Sends), mean(backlog, p.Sends), mean(sending, p.Sends)
}

func mean(sum, n uint64) float64 {
	if n == 0 {
		return 0
	}
	return float64(sum) / float64(n)
}
