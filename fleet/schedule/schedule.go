// Package schedule is what a hub measures again and again: a file of experiments, when each is due, and what
// they may cost.
package schedule

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/fleet/pattern"
	"github.com/fullbore/fullbore/lab/schema"
	"github.com/fullbore/fullbore/unit"
)

// Schedule is a file of experiments.
type Schedule struct {
	Experiments []Experiment `yaml:"experiments" json:"experiments"`
	Daily       unit.Size    `yaml:"daily" json:"daily_bytes,omitempty" range:"1MB 1000000GB" example:"500GB"` // that each host may send and receive in 24 h; 0: any amount
	Webhook     string       `yaml:"webhook" json:"webhook,omitempty" example:"https://alerts.example.org/fullbore"`
}

// Experiment is run again and again, between the hosts that are there.
type Experiment struct {
	Name    string        `yaml:"name" json:"name" example:"mesh"`
	Every   time.Duration `yaml:"every" json:"every_ns" range:"1s 8784h" example:"6h"`   // from one start to the next
	Jitter  time.Duration `yaml:"jitter" json:"jitter_ns" range:"0s 24h" example:"10m"`  // within which each start is drawn, so that it meets nothing else each time
	Between Window        `yaml:"between" json:"between,omitzero" example:"22:00-06:00"` // when it may start, by the hub's clock
	Verb    string        `yaml:"verb" json:"verb" of:"test diagnose" example:"diagnose"`
	Pattern string        `yaml:"pattern" json:"pattern" of:"pairs shift incast fan-out all" example:"pairs"`
	At      string        `yaml:"at" json:"at,omitempty" example:"store1"` // the one host of incast and fan-out
	Hosts   []string      `yaml:"hosts" json:"hosts,omitempty" example:"[store1, store2, node1]"`
	Time    time.Duration `yaml:"time" json:"time_ns" range:"100ms 1h" example:"5s"`
	Omit    time.Duration `yaml:"omit" json:"omit_ns" range:"0s 1m" example:"1s"`
	Streams int           `yaml:"streams" json:"streams" range:"1 128" example:"1"`
}

// What may be done: a transfer, or to say what limits it.
const (
	Test     = "test"
	Diagnose = "diagnose"
)

// What is taken where a file says nothing: as `fullbore fleet run` does.
const (
	usualTime    = 5 * time.Second
	usualOmit    = time.Second
	usualPattern = "pairs"
	jitterShare  = 10 // of the interval: one part in so many
)

// Complete fills in what was omitted.
func (e *Experiment) Complete() {
	if e.Verb == "" {
		e.Verb = Test
	}
	if e.Pattern == "" {
		e.Pattern = usualPattern
	}
	if e.Time == 0 {
		e.Time = usualTime
	}
	if e.Omit == 0 {
		e.Omit = usualOmit
	}
	if e.Streams == 0 {
		e.Streams = 1
	}
	if e.Jitter == 0 {
		e.Jitter = e.Every / jitterShare
	}
}

// Spec is what each of its flows is.
func (e *Experiment) Spec() bulk.Spec {
	return bulk.Spec{Direction: bulk.Forward, Streams: e.Streams, Duration: e.Time, Omit: e.Omit}
}

// Load reads a schedule. Everything wrong with it is in the error, with line and column.
func Load(file string) (*Schedule, error) {
	data, err := schema.ReadFile(file, "schedule")
	if err != nil {
		return nil, err
	}
	return Parse(file, data)
}

// Parse reads a schedule; file is what errors call it.
func Parse(file string, data []byte) (*Schedule, error) {
	root, err := schema.Document(file, "a schedule: expected one YAML document with experiments", data)
	if err != nil {
		return nil, err
	}
	s := new(Schedule)
	wrong := schema.Decode(root, s)
	if wrong == nil {
		wrong = s.check(root)
	}
	if err := schema.Join(file, wrong); err != nil {
		return nil, err
	}
	return s, nil
}

var (
	validName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,49}$`) // also a tag of its runs
	validHost = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N} ._:@-]{0,99}$`)
)

// check finds what is well-formed but cannot be meant.
func (s *Schedule) check(root ast.Node) []*schema.Placed {
	c := schema.Checker{Root: root}
	for _, fault := range schema.Check(s) {
		c.Reject(true, fault.Key, "%w", fault.Err)
	}
	c.Reject(len(s.Experiments) == 0, "experiments", "a schedule needs experiments")
	u, err := url.Parse(s.Webhook)
	c.Reject(s.Webhook != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == ""), "webhook", "webhook %q: use https://HOST/PATH", s.Webhook)
	for i := range s.Experiments {
		e := &s.Experiments[i]
		at := fmt.Sprintf("experiments[%d]", i)
		c.Reject(!validName.MatchString(e.Name), at+".name", "name %q: use 1 to 50 small letters, digits and hyphens", e.Name)
		c.Reject(slices.ContainsFunc(s.Experiments[:i], func(o Experiment) bool { return o.Name == e.Name }), at+".name", "there is an experiment %q already", e.Name)
		c.Reject(e.Every == 0, at+".every", "experiment %q: say how often with every, such as 6h", e.Name)
		c.Reject(e.Every > 0 && e.Jitter > e.Every, at+".jitter", "jitter %v is longer than the interval, %v", e.Jitter, e.Every)
		for k, h := range e.Hosts {
			c.Reject(!validHost.MatchString(h), fmt.Sprintf("%s.hosts[%d]", at, k), "%q is no name of a host", h)
			c.Reject(slices.Contains(e.Hosts[:k], h), fmt.Sprintf("%s.hosts[%d]", at, k), "host %s is there twice", h)
		}
		c.Reject(len(e.Hosts) == 1, at+".hosts", "an experiment needs two hosts at least")
		p, err := pattern.Named(e.Pattern)
		centre := err == nil && p.Centre
		c.Reject(centre && e.At == "", at+".pattern", "pattern %s is about one host: name it with at", e.Pattern)
		c.Reject(!centre && e.At != "", at+".at", "at is for incast and fan-out, not %s", e.Pattern)
		c.Reject(e.At != "" && len(e.Hosts) > 0 && !slices.Contains(e.Hosts, e.At), at+".at", "%s is not among the hosts", e.At)
	}
	return c.Found
}
