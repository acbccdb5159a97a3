package flow

import (
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
)

var resting = diagnose.Finding{
	Cause: diagnose.Unknown, Gain: 1, Evidence: []diagnose.Fact{},
	Says:   "Idle: almost nothing was sent or received since the last look, and nothing waits to be sent. No limit applies to a flow that has nothing to send.",
	Action: "nothing to do",
}

var measuring = diagnose.Finding{
	Cause: diagnose.Unknown, Gain: 1, Evidence: []diagnose.Fact{},
	Says:   "Being measured: the flow has not been seen moving for long enough to say.",
	Action: "look again in a few seconds",
}

var unexamined = diagnose.Finding{
	Cause: diagnose.Unknown, Gain: 1, Evidence: []diagnose.Fact{},
	Says:   "Not examined: many other flows are faster, and examining all of them would cost too much.",
	Action: "watch fewer flows at a time, or let the faster ones end",
}

var tooOld = diagnose.Finding{
	Cause: diagnose.Unknown, Gain: 1, Evidence: []diagnose.Fact{},
	Says:   "This kernel does not count what limits a sender: it is older than Linux 4.10.",
	Action: "watch the flow with a newer kernel, at either end",
}

// lengthWithClocks is that of a struct tcp_info which has tcpi_sndbuf_limited
// (Linux 4.10).
const lengthWithClocks = 192

// span is how far back a verdict looks: long enough to count on, short enough to be
// called now, and ten round trips in any case.
func span(rtt time.Duration) time.Duration {
	return min(max(3*time.Second, 10*rtt), 10*time.Second)
}

// limit names what limits the flow now, by the rules of package diagnose. settings
// are this host's.
func (t *track) limit(settings *host.Facts) diagnose.Finding {
	t.trim(span(t.flow.RTT))
	elapsed := t.last().At - t.history[0].At
	switch {
	case t.flow.Idle:
		return resting
	case t.last().TCP.Length < lengthWithClocks:
		return tooOld
	case len(t.history) < 3 || elapsed < max(400*time.Millisecond, 4*t.flow.RTT) && !t.stands():
		return measuring
	}
	return diagnose.InPassing(t.evidence(settings))
}

// stands says that nothing has moved for a second although data waits.
func (t *track) stands() bool {
	first, last := &t.history[0], t.last()
	moved := last.TCP.BytesReceived - first.TCP.BytesReceived
	if t.flow.Sends {
		moved = last.TCP.BytesAcked - first.TCP.BytesAcked
	}
	return moved == 0 && last.At-first.At > time.Second
}

// evidence is what is known of the flow: one end's samples of one stream. They are
// good until the next sample is added.
func (t *track) evidence(settings *host.Facts) *diagnose.Evidence {
	f := &t.flow
	e := &diagnose.Evidence{
		Direction: bulk.Forward,
		Transfer:  &bulk.Result{},
		Passing:   &diagnose.Passing{Program: f.Process, Local: f.Local.Port(), Remote: f.Remote.Port(), Losses: t.losses},
	}
	end, facts := &e.Transfer.Server, &e.ReceiverHost
	if f.Sends {
		end, facts = &e.Transfer.Client, &e.SenderHost
	}
	*facts = settings
	end.Streams = []bulk.Stream{{
		Sender: f.Sends, Congestion: f.Congestion, Samples: t.history,
		Peaks: bulk.Peaks{MaxSndWnd: int64(t.widest)},
	}}
	return e
}
