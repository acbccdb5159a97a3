package lab

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/fullbore/fullbore/near"
)

// Causes that a scenario may expect: the identifiers of the design, which
// never change.
var causes = []string{
	"receiver-buffer", "window-scale", "sender-buffer", "slow-receiver", "slow-sender", "application-window",
	"random-loss", "shallow-queue", "policer", "competing-traffic", "path-capacity", "bufferbloat", "reordering",
	"mtu-black-hole", "small-mss", "duplex-mismatch", "link-errors", "reverse-path", "pacing-cap", "sender-cpu",
	"receiver-cpu", "memory-pressure", "short-transfer", "unknown", "healthy",
}

// Options that Strip takes from SYNs.
var strippable = []string{"wscale", "sack", "timestamps"}

// Bounds of a link's MTU: IPv6 needs 1280 (RFC 8200, 5); an IP packet has 65535
// at most.
const (
	minMTU = 1280
	maxMTU = 65535
)

// maxFlows bounds competing traffic: each flow has a thread at both ends.
const maxFlows = 64

var (
	validName   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
	validSysctl = regexp.MustCompile(`^[a-z0-9_-]+([./][A-Za-z0-9_-]+)+$`)
	validWord   = regexp.MustCompile(`^[a-z0-9_-]{1,15}$`) // TCP_CA_NAME_MAX is 16 with the final 0
)

// check finds everything that is well-formed but cannot be meant.
func (s *Scenario) check(root ast.Node) error {
	c := checker{root: root}
	c.reject(!validName.MatchString(s.Name), "name", "a name of small letters, digits and hyphens is needed, not %q", s.Name)
	p := &s.Path
	c.reject(p.MTU < minMTU || p.MTU > maxMTU, "path.mtu", "mtu %d is not within %d and %d", p.MTU, minMTU, maxMTU)
	c.direction("path.a_to_b", p, &p.AToB)
	if !reflect.DeepEqual(p.BToA, &p.AToB) { // else it was omitted, or has the same faults
		c.direction("path.b_to_a", p, p.BToA)
	}
	c.host("hosts.a", &s.Hosts.A)
	c.host("hosts.b", &s.Hosts.B)
	for i, t := range s.Traffic {
		at := fmt.Sprintf("traffic[%d]", i)
		c.reject(t.From != "a" && t.From != "b", at+".from", "from %q is neither a nor b", t.From)
		c.reject(t.To != "a" && t.To != "b", at+".to", "to %q is neither a nor b", t.To)
		c.reject(t.From == t.To, at+".to", "traffic from %s to itself does not cross the path", t.From)
		c.reject(t.Flows < 1 || t.Flows > maxFlows, at+".flows", "flows %d is not within 1 and %d", t.Flows, maxFlows)
	}
	if cause := s.Expect.Cause; cause != "" {
		c.reject(!slices.Contains(causes, cause), "expect.cause", "unknown cause %q%s", cause, near.DidYouMean(cause, causes))
	}
	return errors.Join(c.found...)
}

func (c *checker) direction(at string, p *Path, d *Direction) {
	before := len(c.found)
	c.reject(d.Rate <= 0, at+".rate", "a rate such as 1gbit is needed")
	c.reject(d.Jitter > d.Delay, at+".jitter", "jitter %s is above the delay %s: it would deliver before it was sent", d.Jitter, d.Delay)
	c.reject(d.Reorder.Share > 0 && d.Reorder.By <= 0, at+".reorder", "reorder needs by, the time that a reordered packet is late")
	c.reject(d.Reorder.By > 0 && d.Reorder.Share <= 0, at+".reorder", "reorder needs share, of the packets that are late")
	c.reject((d.Policer.Rate > 0) != (d.Policer.Burst > 0), at+".policer", "policer needs both rate and burst")
	c.reject(d.BlackHoleAbove != 0 && d.BlackHoleAbove < 68, at+".black_hole_above", "%d bytes leave no room for TCP", d.BlackHoleAbove)
	c.reject(d.MSSClamp != 0 && (d.MSSClamp < 88 || d.MSSClamp > maxMTU), at+".mss_clamp", "mss %d is not within 88 (the least that Linux sends) and %d", d.MSSClamp, maxMTU)
	for i, option := range d.Strip {
		c.reject(!slices.Contains(strippable, option), fmt.Sprintf("%s.strip[%d]", at, i), "unknown option %q: use %s", option, strings.Join(strippable, ", "))
	}
	if len(c.found) == before { // what depends on several keys, such as a queue of 1bdp below the MTU
		err := p.direction(d).Check(p.MTU)
		c.reject(err != nil, at, "%v", err)
	}
}

func (c *checker) host(at string, h *HostSpec) {
	c.reject(h.Congestion != "" && !validWord.MatchString(h.Congestion), at+".congestion", "%q is not the name of a congestion control", h.Congestion)
	c.reject(h.CPUs < 0 || h.CPUs > 1024, at+".cpus", "cpus %v is not a number of processors", h.CPUs)
	c.reject(h.CPUs > 0 && h.CPUs < minCPUs, at+".cpus", "cpus %v is below %v, the least that the scheduler shares out evenly", h.CPUs, minCPUs)
	for _, key := range slices.Sorted(maps.Keys(h.Sysctl)) {
		value := h.Sysctl[key]
		where := fmt.Sprintf("%s.sysctl.'%s'", at, key)
		c.reject(!validSysctl.MatchString(key), where, "%q is not the name of a sysctl", key)
		c.reject(value == "" || len(value) > 1024 || strings.ContainsAny(value, "\n\x00"), where, "sysctl %s needs a value of one line", key)
	}
}

// checker collects errors with their places.
type checker struct {
	root  ast.Node
	found []error
}

// reject records an error if wrong holds. The place is the key at the given
// path or, where that was omitted, the nearest one above it.
func (c *checker) reject(wrong bool, at string, format string, args ...any) {
	if !wrong {
		return
	}
	err := fmt.Errorf(format, args...)
	for at != "" {
		if path, e := yaml.PathString("$." + at); e == nil {
			if node, e := path.FilterNode(c.root); e == nil && node != nil {
				c.found = append(c.found, placeError(node, err))
				return
			}
		}
		at = at[:max(0, strings.LastIndexAny(at, ".["))]
	}
	c.found = append(c.found, placeError(c.root, err))
}
