package lab

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/fullbore/fullbore/lab/schema"
	"github.com/fullbore/fullbore/lab/wire"
	"github.com/fullbore/fullbore/near"
)

// Causes are what a scenario may expect: the identifiers of packages diagnose and
// nfs/limit. A test of package accuracy holds the lists together.
var Causes = []string{
	"receiver-buffer", "window-scale", "sender-buffer", "slow-receiver", "slow-sender", "application-window",
	"random-loss", "shallow-queue", "policer", "competing-traffic", "path-capacity", "bufferbloat", "reordering",
	"mtu-black-hole", "small-mss", "duplex-mismatch", "link-errors", "reverse-path", "pacing-cap", "sender-cpu",
	"receiver-cpu", "memory-pressure", "short-transfer", "unknown", "healthy",
	"nfs-one-reader", "nfs-slots", "nfs-readahead", "nfs-connections", "nfs-threads", "nfs-disk",
}

var (
	validName   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
	validSysctl = regexp.MustCompile(`^[a-z0-9_-]+([./][A-Za-z0-9_-]+)+$`)
	validWord   = regexp.MustCompile(`^[a-z0-9_-]{1,15}$`) // TCP_CA_NAME_MAX is 16 with the final 0
)

// check finds everything that is well-formed but cannot be meant. What holds for
// one key alone stands beside the key; what holds for a direction, in package wire.
func (s *Scenario) check(root ast.Node) []*schema.Placed {
	c := checker{schema.Checker{Root: root}}
	if s.Network != nil {
		for _, fault := range schema.Check(s) {
			c.Reject(true, fault.Key, "%w", fault.Err)
		}
		c.name(s)
		c.network(s)
		return c.Found
	}
	sameFaults := reflect.DeepEqual(s.Path.BToA, &s.Path.AToB) // mostly as it was omitted
	for _, fault := range schema.Check(s) {
		if !sameFaults || !strings.HasPrefix(fault.Key, "path.b_to_a") {
			c.Reject(true, fault.Key, "%w", fault.Err)
		}
	}
	c.name(s)
	c.direction("path.a_to_b", &s.Path, &s.Path.AToB)
	if !sameFaults {
		c.direction("path.b_to_a", &s.Path, s.Path.BToA)
	}
	c.host("hosts.a", &s.Hosts.A)
	c.host("hosts.b", &s.Hosts.B)
	for i, t := range s.Traffic {
		at := fmt.Sprintf("traffic[%d]", i)
		if t.From == "" || t.To == "" || t.Flows == 0 {
			c.Reject(true, at, "traffic needs from, to and flows")
			continue
		}
		c.Reject(t.From == t.To, at+".to", "traffic from %s to itself does not cross the path", t.From)
	}
	if s.NFS != nil {
		c.nfs(s.NFS)
	}
	if cause := s.Expect.Cause; cause != "" {
		c.Reject(!slices.Contains(Causes, cause), "expect.cause", "unknown cause %q%s", cause, near.DidYouMean(cause, Causes))
	}
	return c.Found
}

func (c *checker) name(s *Scenario) {
	c.Reject(!validName.MatchString(s.Name), "name", "a name of small letters, digits and hyphens is needed, not %q", s.Name)
}

func (c *checker) direction(at string, p *Path, d *wire.Direction) {
	c.Reject(d.Rate == 0, at+".rate", "a rate such as 1gbit is needed")
	for _, fault := range d.Conflicts(p.RTT(), p.MTU) {
		c.Reject(true, at+"."+fault.Key, "%w", fault.Err)
	}
}

func (c *checker) host(at string, h *HostSpec) {
	c.Reject(h.Congestion != "" && !validWord.MatchString(h.Congestion), at+".congestion", "%q is not the name of a congestion control", h.Congestion)
	for _, key := range slices.Sorted(maps.Keys(h.Sysctl)) {
		value := h.Sysctl[key]
		where := fmt.Sprintf("%s.sysctl.'%s'", at, key)
		c.Reject(!validSysctl.MatchString(key), where, "%q is not the name of a sysctl", key)
		c.Reject(value == "" || len(value) > 1024 || strings.ContainsAny(value, "\n\x00"), where, "sysctl %s needs a value of one line", key)
	}
}

// checker knows the parts of a scenario.
type checker struct{ schema.Checker }
