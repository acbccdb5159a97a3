package peer

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/fullbore/fullbore/host"
)

// Processor is the processor time that a far end, and all of its host, had used at one instant
// of its clock. The difference of two is what something cost.
type Processor struct {
	At      time.Time     `json:"at"`
	Process time.Duration `json:"process_ns"` // the far end's own
	Host    time.Duration `json:"host_ns"`    // all cores together; 0: that system does not report it
}

func (s *Server) processorAPI(api huma.API) {
	huma.Register(api, withToken(s.operation(http.MethodGet, "/v1/processor", "processor", "Processor time that the far end and its host have used")),
		func(ctx context.Context, _ *nothing) (*output[Processor], error) {
			if err := callerOf(ctx).needToken("reading the host's processor time"); err != nil {
				return nil, err
			}
			now, err := host.ReadCPU()
			if err != nil {
				return nil, problem(ErrFailed, "the far end cannot read its processor time: %s", err)
			}
			p := Processor{At: now.At, Process: now.User + now.System}
			for _, core := range now.Cores {
				p.Host += core.Total - core.Idle
			}
			return give(p), nil
		})
}

// Processor asks what the far end and its host have used until now; it needs the token. Its
// errors are those of [Client.Facts].
func (c *Client) Processor(ctx context.Context) (p Processor, err error) {
	if err = c.call(ctx, request{method: http.MethodGet, path: "/v1/processor", answer: &p}); err != nil {
		return p, err
	}
	if p.Process < 0 || p.Host < 0 {
		return p, &failure{kind: ErrNotFullbore, says: fmt.Sprintf("%s reports processor time that cannot be right", c.target)}
	}
	return p, nil
}
