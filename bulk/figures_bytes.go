package bulk

import (
	"fmt"
	"strings"

	"github.com/fullbore/fullbore/unit"
)

// Difference explains why the sending application wrote more or fewer bytes in its
// measured time than the receiving one read in its own: Bytes = After - Before.
type Difference struct {
	Bytes   int64   `json:"bytes"`            // sent less received
	Before  *int64  `json:"before,omitempty"` // in buffers or in flight when the measured time began: read in it, but written before
	After   *int64  `json:"after,omitempty"`  // in buffers or in flight when the measured time ended: written in it, but not read
	Seconds float64 `json:"seconds"`          // the sender's measured time less the receiver's
	Says    string  `json:"says"`
}

// difference compares what both ends counted. How much lay between them follows
// from their counts at the beginning and at the end. Other programs do not report
// what they omitted at the beginning: with them, this is known without Spec.Omit
// only.
func (r *Result) difference(d Direction, f *Figures) Difference {
	diff := Difference{Bytes: f.Sent.Bytes - f.Received.Bytes, Seconds: f.Sent.Seconds - f.Received.Seconds}
	switch senders, receivers := r.Senders(d), r.Receivers(d); {
	case len(senders) == 0 || len(receivers) == 0:
		diff = Difference{Says: "one end's count is not known"}
		return diff
	case f.Datagrams != nil:
		diff.Says = diff.saysDatagrams(f)
		return diff
	case r.Spec.Omit == 0 || r.Client.Software == "" && r.Server.Software == "":
		var before int64
		for _, s := range senders {
			before += s.Omitted
		}
		for _, s := range receivers {
			before -= s.Omitted
		}
		after := diff.Bytes + before
		diff.Before, diff.After = &before, &after
	}
	diff.Says = diff.says(f)
	return diff
}

func (d *Difference) says(f *Figures) string {
	if d.Bytes == 0 {
		return "all that was sent was received" + again(f.Repeated)
	}
	more, than := "sent", "received"
	bytes := d.Bytes
	if bytes < 0 {
		more, than, bytes = "received", "sent", -bytes
	}
	var why []string
	if d.Before != nil && *d.Before > 0 {
		why = append(why, fmt.Sprintf("%s were in flight when the measured time began", unit.Size(*d.Before)))
	}
	if d.After != nil && *d.After > 0 {
		why = append(why, fmt.Sprintf("%s in buffers or in flight when it ended", unit.Size(*d.After)))
	}
	if len(why) == 0 {
		why = []string{fmt.Sprintf("the ends measured different seconds, %.2f s and %.2f s", f.Sent.Seconds, f.Received.Seconds)}
	}
	return fmt.Sprintf("%s more %s than %s: %s%s", unit.Size(bytes), more, than, strings.Join(why, ", "), again(f.Repeated))
}

// again names what was sent again, which is in neither count.
func again(r *Repeated) string {
	if r == nil || r.Bytes == nil || *r.Bytes == 0 {
		return ""
	}
	return fmt.Sprintf("; %s more went over the path, sent again", unit.Size(*r.Bytes))
}

// saysDatagrams takes the mean datagram for the lost ones.
func (d *Difference) saysDatagrams(f *Figures) string {
	if d.Bytes == 0 {
		return "all that was sent was received"
	}
	says := fmt.Sprintf("%d of %d datagrams were lost", f.Datagrams.Lost, f.Datagrams.Packets)
	came := f.Datagrams.Packets - f.Datagrams.Lost
	if came <= 0 {
		return says
	}
	if rest := d.Bytes - f.Received.Bytes/came*f.Datagrams.Lost; rest > 0 {
		says += fmt.Sprintf("; %s were in flight, or lost, when the measured time ended", unit.Size(rest))
	}
	return says
}
