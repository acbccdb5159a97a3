package lab

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/fullbore/fullbore/unit"
)

// Queue is the length of a queue, in the one unit it was given in.
type Queue struct {
	Bytes   unit.Size     `json:"bytes,omitempty"`
	Packets int           `json:"packets,omitempty"`
	Time    time.Duration `json:"time_ns,omitempty"` // to drain it at the link's rate
	BDP     float64       `json:"bdp,omitempty"`     // of the direction's rate and the path's RTT
}

// UnmarshalYAML reads 256KB, 100p, 20ms or 1bdp.
func (q *Queue) UnmarshalYAML(node ast.Node) error {
	return scalar(node, func(word string) (err error) {
		*q, err = parseQueue(word)
		return err
	})
}

func parseQueue(word string) (Queue, error) {
	q, err := Queue{}, error(nil)
	lower := strings.ToLower(word)
	switch {
	case strings.HasSuffix(lower, "bdp"):
		q.BDP, err = strconv.ParseFloat(strings.TrimSpace(lower[:len(lower)-len("bdp")]), 64)
		if !(q.BDP >= 0 && q.BDP <= 1000) {
			err = fmt.Errorf("out of range")
		}
	case strings.HasSuffix(lower, "p"):
		q.Packets, err = strconv.Atoi(strings.TrimSpace(lower[:len(lower)-len("p")]))
	case strings.HasSuffix(lower, "s"):
		q.Time, err = parseDuration(lower)
	default:
		q.Bytes, err = unit.ParseSize(word)
	}
	if err != nil || q.Packets < 0 {
		return Queue{}, fmt.Errorf("queue %q is not bytes (256KB), packets (100p), time (20ms) or bandwidth-delay products (1bdp)", word)
	}
	if q == (Queue{}) {
		return Queue{}, fmt.Errorf("queue %q holds nothing: not even the packet on the wire could wait", word)
	}
	return q, nil
}

// String writes the queue as a scenario would.
func (q Queue) String() string {
	switch {
	case q.Packets > 0:
		return strconv.Itoa(q.Packets) + " packets"
	case q.Time > 0:
		return unit.Milliseconds(q.Time)
	case q.BDP > 0:
		return strconv.FormatFloat(q.BDP, 'g', 4, 64) + " bdp"
	default:
		return q.Bytes.String()
	}
}

// size is the queue in bytes, for all but packets.
func (q Queue) size(rate unit.Rate, bdp unit.Size) unit.Size {
	switch {
	case q.Time > 0:
		return rate.BytesIn(q.Time)
	case q.BDP > 0:
		return unit.Size(q.BDP * float64(bdp))
	default:
		return q.Bytes
	}
}
