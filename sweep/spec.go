package sweep

import (
	"embed"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/fullbore/fullbore/lab/schema"
	"github.com/fullbore/fullbore/near"
)

// Spec is an experiment as its file describes it.
type Spec struct {
	Name     string        `yaml:"name" json:"name" example:"lan-buffers"`
	About    string        `yaml:"about" json:"about,omitempty" example:"which socket buffers a LAN needs"`
	Scenario string        `yaml:"scenario" json:"scenario,omitempty" example:"gigaswift"` // of the lab, where none is named on the command line
	Factors  Factors       `yaml:"factors" json:"factors" example:"{buffers: [present, 64KiB, 128KiB], connections: [1, 10]}"`
	Measure  Measure       `yaml:"measure" json:"measure" example:"{duration: 2s, omit: 500ms}"`
	Plan     Plan          `yaml:"plan" json:"plan" of:"grid search" example:"search"`
	Blocks   int           `yaml:"blocks" json:"blocks" range:"2 100" example:"5"` // of a search: pairs of runs that a decision may take
	Seed     uint64        `yaml:"seed" json:"seed" range:"1 9007199254740991" example:"7"`
	Budget   time.Duration `yaml:"budget" json:"budget_ns" range:"1s 24h" example:"10m"` // of test traffic with its set-up
	Smallest schema.Share  `yaml:"smallest" json:"smallest_difference" range:"0.1% 50%" example:"3%"`
	Law      LawName       `yaml:"law" json:"law,omitempty" of:"window mathis cubic scalability" example:"window"`
}

// Plan is how the values of an experiment are gone through.
type Plan string

// The plans.
const (
	Grid   Plan = "grid"   // every combination, in randomised blocks
	Search Plan = "search" // one factor: doubled until nothing is gained, then halved back
)

// Measure is what each transfer is, and what is kept of it beside goodput and CPUs.
type Measure struct {
	Duration time.Duration `yaml:"duration" json:"duration_ns" range:"100ms 1h" example:"2s"`
	Omit     time.Duration `yaml:"omit" json:"omit_ns" range:"0s 1m" example:"500ms"`
	Also     []string      `yaml:"also" json:"also,omitempty" of:"acks repeated rtt" example:"[acks, repeated]"`
}

// What is taken where a file says nothing. The smallest difference is that of compare.
const (
	defaultDuration = 2 * time.Second
	defaultBlocks   = 3
	defaultPairs    = 8 // of a search: its decisions need more than a summary does
	defaultBudget   = 10 * time.Minute
	defaultSmallest = 0.03
)

// Complete fills in what was omitted.
func (s *Spec) Complete() {
	if s.Plan == "" {
		s.Plan = Grid
	}
	if s.Blocks == 0 {
		s.Blocks = defaultBlocks
		if s.Plan == Search {
			s.Blocks = defaultPairs
		}
	}
	if s.Measure.Duration == 0 {
		s.Measure.Duration = defaultDuration
	}
	if s.Budget == 0 {
		s.Budget = defaultBudget
	}
	if s.Smallest == 0 {
		s.Smallest = defaultSmallest
	}
}

// Load gives the built-in experiment of that name or, if the argument has a path
// separator or ends in .yaml or .yml, the one in that file. Everything wrong with a
// file is in the error, with line and column.
func Load(nameOrFile string) (*Spec, error) {
	if !isFile(nameOrFile) {
		return builtin(nameOrFile)
	}
	data, err := schema.ReadFile(nameOrFile, "experiment")
	if err != nil {
		return nil, err
	}
	return Parse(nameOrFile, data)
}

func isFile(nameOrFile string) bool {
	extension := strings.ToLower(filepath.Ext(nameOrFile))
	return strings.ContainsAny(nameOrFile, `/\`) || extension == ".yaml" || extension == ".yml"
}

// Text is the file of an experiment that [Load] would give, for another host to read; it is checked, too.
func Text(nameOrFile string) ([]byte, error) {
	if _, err := Load(nameOrFile); err != nil {
		return nil, err
	}
	if isFile(nameOrFile) {
		return schema.ReadFile(nameOrFile, "experiment")
	}
	return experimentFiles.ReadFile(path.Join("experiments", nameOrFile+".yaml"))
}

// Parse reads an experiment; file is what errors call it. What may be omitted is
// filled in.
func Parse(file string, data []byte) (*Spec, error) {
	root, err := schema.Document(file, "an experiment: expected one YAML document with name and factors", data)
	if err != nil {
		return nil, err
	}
	spec := new(Spec)
	wrong := schema.Decode(root, spec)
	if wrong == nil {
		wrong = spec.check(root)
	}
	if err := schema.Join(file, wrong); err != nil {
		return nil, err
	}
	return spec, nil
}

// mostPoints of a grid.
const mostPoints = 1000

var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// check finds everything that is well-formed but cannot be meant.
func (s *Spec) check(root ast.Node) []*schema.Placed {
	c := schema.Checker{Root: root}
	for _, fault := range schema.Check(s) {
		c.Reject(true, fault.Key, "%w", fault.Err)
	}
	c.Reject(!validName.MatchString(s.Name), "name", "a name of small letters, digits and hyphens is needed, not %.80q", s.Name)
	c.Reject(len(s.About) > 1024, "about", "about is longer than 1024 bytes")
	c.Reject(len(s.Scenario) > 1024, "scenario", "scenario is longer than 1024 bytes")
	c.Reject(len(s.Factors) == 0, "factors", "at least one factor with its values is needed, such as buffers: [64KiB, 128KiB]")
	for _, pair := range [][2]string{{"buffers", "send_buffer"}, {"buffers", "receive_buffer"}, {"path.rtt", "path.delay"}} {
		if s.Factors.of(pair[0]) != nil && s.Factors.of(pair[1]) != nil {
			c.Reject(true, "factors", "%s and %s set the same: vary one of them", pair[0], pair[1])
		}
	}
	var ranges, lists int
	for i := range s.Factors {
		f := &s.Factors[i]
		if f.Range != nil {
			ranges++
		}
		if len(f.Values) > 1 {
			lists++
		}
	}
	switch s.Plan {
	case Grid:
		if n := s.Factors.combinations(mostCPUs); n > mostPoints {
			c.Reject(true, "factors", "%d combinations of values: use up to %d", n, mostPoints)
		}
	case Search:
		c.Reject(ranges != 1 || lists > 0, "factors", "a search needs one factor with a range such as {from: present, to: 64MiB}, and one value for each other factor")
		c.Reject(s.Blocks < fewestPairs, "blocks", "a search decides by at least %d pairs of runs, and blocks is %d", fewestPairs, s.Blocks)
	}
	for _, f := range s.Factors {
		if f.Range == nil {
			continue
		}
		c.Reject(s.Plan == Search && f.Range.Step != "", "plan", "a search doubles: %s has a step, which is a grid's", f.name)
		c.Reject(s.Plan == Search && f.path, "plan", "%s is not searched: nobody chooses it", f.name)
		c.Reject(s.Plan == Grid && f.Range.Step == "", "factors", "the range of %s needs a step such as x2 or +1; only a search goes without", f.name)
	}
	return c.Found
}

//go:embed experiments/*.yaml
var experimentFiles embed.FS

var builtins = sync.OnceValue(func() []*Spec {
	entries, err := experimentFiles.ReadDir("experiments")
	if err != nil {
		panic(err) // embedded: cannot fail in a binary that was tested
	}
	var all []*Spec
	for _, entry := range entries {
		file := path.Join("experiments", entry.Name())
		data, err := experimentFiles.ReadFile(file)
		if err != nil {
			panic(err)
		}
		spec, err := Parse(file, data)
		if err != nil {
			panic(err)
		}
		all = append(all, spec)
	}
	return all
})

// Builtin gives the experiments that are part of the program, by name. They are
// shared: not to be changed.
func Builtin() []*Spec { return builtins() }

func builtin(name string) (*Spec, error) {
	var names []string
	for _, spec := range builtins() {
		if spec.Name == name {
			own := *spec
			return &own, nil
		}
		names = append(names, spec.Name)
	}
	return nil, fmt.Errorf("unknown experiment %q%s: use one of %s, or name a .yaml file", name, near.DidYouMean(name, names), strings.Join(names, ", "))
}
