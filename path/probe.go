package path

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Ticket lets one host probe another for a while: it names the far end's UDP
// port and the cookie that every probe must carry.
type Ticket struct {
	Cookie       string    `json:"cookie"`        // 128 random bits in hexadecimal
	Port         uint16    `json:"port"`          // of the far end's Responder, UDP
	Expires      time.Time `json:"expires"`       // by the far end's clock
	DontFragment bool      `json:"dont_fragment"` // the far end can send packets that routers must not fragment
}

// Observed is what the far end's Responder saw and did for one cookie.
type Observed struct {
	Received []Train `json:"received"`             // forward trains, in the order they came
	Sent     []Sent  `json:"sent"`                 // reverse trains, in the order they went
	Link     int     `json:"link_mtu,omitempty"`   // MTU of the interface towards the prober, bytes; 0: unknown
	Kernel   int     `json:"kernel_mtu,omitempty"` // path MTU that the far end's kernel believes in, bytes; 0: unknown
	Largest  int     `json:"largest_probe"`        // largest forward MTU probe that came, IP bytes
}

// Helper is the far end as a prober needs it. Package peer implements it over
// its authenticated HTTP API, so that only a client that may test also gets a ticket.
//
// Its answers must come through even where large packets vanish, or a black
// hole stops the very probe that would find it. The dialling end sets TCP_MAXSEG
// to [SafeMSS] before it connects, which keeps the segments of both ends small;
// a listener must not, since the transfers of its port would be small as well.
type Helper interface {
	// OpenProbe asks the far end to answer probes from this host.
	OpenProbe(ctx context.Context) (Ticket, error)
	// Observed asks what the far end's Responder saw so far.
	Observed(ctx context.Context, cookie string) (Observed, error)
}

// SafeMSS is a TCP segment size, in bytes, whose packets pass wherever any do: the
// default where neither end announces another (RFC 9293, section 3.7.1). What a
// helper is asked is short.
const SafeMSS = 536

// Options of a probe. The zero value is good.
type Options struct {
	// Progress gets, in words, what is being measured and the results.
	// nil: progress is not reported.
	Progress func(string)
}

func (o Options) say(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}

// Probe measures the path to a host in at most about five seconds and with a
// few megabytes. The address is that of a TCP port: each RTT sample is a
// connection that is closed again immediately, and a refused one counts as well.
//
// Without a helper only the RTT is measured; MTU is what the kernel believes,
// and the capacity is assumed. The estimate always says which it is.
func Probe(ctx context.Context, to netip.AddrPort, helper Helper, o Options) (*Estimate, error) {
	to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	if !to.IsValid() || to.Port() == 0 {
		return nil, fmt.Errorf("probe %v: not an address with a port", to)
	}
	o.say("round-trip time: connecting %d times to %v", rttSamples, to)
	rtt, shake, err := measureRTT(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("probe %v: %w", to, err)
	}
	o.say("round-trip time: %s (%s)", unit.Milliseconds(rtt.Min), rtt.Method)

	way, err := routeTo(to.Addr())
	if err != nil {
		return nil, fmt.Errorf("probe %v: %w", to, err)
	}
	e := &Estimate{RTT: rtt}
	e.Forward.MTU, e.Reverse.MTU = believedMTUs(way, shake, tcpHeaders(overhead(to.Addr())))

	why := "the far end does not help"
	if helper != nil {
		limited, cancel := context.WithTimeout(ctx, probeTimeout)
		for try := range probeTries {
			if try > 0 {
				o.say("probing again, since %s", why)
			}
			var helps bool
			why, helps = probeWith(limited, to.Addr(), way, helper, e, o)
			if !helps || e.Forward.Capacity.Rate > 0 || limited.Err() != nil {
				break
			}
		}
		cancel()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("probe %v: %w", to, ctx.Err())
		}
	}
	for _, d := range []*Direction{&e.Forward, &e.Reverse} {
		if d.Capacity.Rate == 0 {
			d.Capacity = assumed(way.speed, why)
			o.say("capacity: assuming %v, since %s", d.Capacity.Rate, why)
		}
	}
	return e, nil
}

// probeTimeout ends a probe of a path that is far slower, or more broken, than
// bulk transfers are made for. What is known by then stands.
const probeTimeout = 20 * time.Second

// probeTries is how often a probe is begun that finds nothing: on a busy host the first
// answers can come too late. Where no UDP passes, another try takes some round trips.
const probeTries = 2

// probeWith measures what takes a far end that helps. It leaves what it cannot
// measure as it is, and says why, and whether the far end helps at all.
func probeWith(ctx context.Context, to netip.Addr, way route, helper Helper, e *Estimate, o Options) (why string, helps bool) {
	opening, cancel := context.WithTimeout(ctx, helperTimeout)
	defer cancel()
	ticket, err := helper.OpenProbe(opening)
	if err != nil {
		return fmt.Sprintf("the far end does not let itself be probed: %v", err), false
	}
	s, err := newSession(ctx, to, helper, ticket, e.RTT)
	if err != nil {
		return err.Error(), true
	}
	defer s.close()

	o.say("path MTU: probing both ways")
	passes, err := s.mtus(ctx, way, e)
	if err != nil {
		return err.Error(), true
	}
	if !passes {
		return fmt.Sprintf("UDP to port %d is not answered", ticket.Port), true
	}
	o.say("path MTU: %d bytes forward, %d bytes reverse", e.Forward.MTU.Bytes, e.Reverse.MTU.Bytes)

	for _, d := range []struct {
		name string
		*Direction
		trains func(ctx context.Context, n, packets, size int, spacing time.Duration) ([]measured, error)
	}{
		{"forward", &e.Forward, s.forward},
		{"reverse", &e.Reverse, s.reverse},
	} {
		o.say("capacity %s: sending packet trains", d.name)
		size := d.MTU.Bytes
		if size == 0 {
			size = fallbackPacket
		}
		d.Capacity, err = measureCapacity(ctx, func(ctx context.Context, n, packets int, spacing time.Duration) ([]measured, error) {
			return d.trains(ctx, n, packets, size, spacing)
		}, size)
		if err != nil {
			return err.Error(), true
		}
		o.say("capacity %s: %v (%s)", d.name, d.Capacity.Rate, d.Capacity.Method)
	}
	return "no packet train got through", true
}

// fallbackPacket is the size of train packets where no MTU is known: the
// smallest MTU of IPv6, which passes nearly everywhere (RFC 8200, section 5).
const fallbackPacket = 1280
