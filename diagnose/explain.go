package diagnose

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/goccy/go-yaml"

	"github.com/fullbore/fullbore/near"
)

// Explanation is the physics of one cause, for people who want to know more
// than a finding says. Texts are paragraphs without line breaks, divided by
// newlines; Formula keeps its lines.
type Explanation struct {
	Cause      string      `yaml:"-"          json:"cause"`
	Means      string      `yaml:"-"          json:"means"` // as in Cause
	Happens    string      `yaml:"happens"    json:"happens"`
	Formula    string      `yaml:"formula"    json:"formula"`    // with its symbols and their units
	Example    string      `yaml:"example"    json:"example"`    // in numbers that this package's own functions give
	Recognised string      `yaml:"recognised" json:"recognised"` // what the evidence must show
	Trials     []Question  `yaml:"trials"     json:"trials"`     // transfers that tell it from other causes
	Mistaken   []Lookalike `yaml:"mistaken"   json:"mistaken_for"`
	Do         []string    `yaml:"do"         json:"do"`
	See        []Look      `yaml:"see"        json:"see"`
	Sources    []string    `yaml:"sources"    json:"sources"`
}

// Question is what a kind of trial shows about a cause.
type Question struct {
	Kind TrialKind `yaml:"kind" json:"kind"`
	Says string    `yaml:"says" json:"says"`
}

// Lookalike is another cause with similar signs, and how to tell the two apart.
type Lookalike struct {
	Cause string `yaml:"cause" json:"cause"`
	Says  string `yaml:"says"  json:"says"`
}

// Look is a command that shows the cause at work, and what to look for.
type Look struct {
	Run   string `yaml:"run"   json:"run"`
	Where string `yaml:"where" json:"where,omitempty"` // or when to run it, if that matters
	Says  string `yaml:"says"  json:"says"`
}

// explanations are templates of YAML, one a cause; templates because the
// numbers of their examples are computed.
//
//go:embed explain/*.yaml
var explanations embed.FS

// Explain gives the physics of a cause.
func Explain(cause string) (*Explanation, error) {
	i := slices.IndexFunc(Causes, func(c Cause) bool { return c.ID == cause })
	if i < 0 {
		return nil, fmt.Errorf("there is no cause %q", cause)
	}
	all, err := readExplanations()
	if err != nil {
		return nil, err
	}
	e := all[i]
	return &e, nil
}

// readExplanations reads all of them once, in the order of Causes. They are
// part of the program, so an error in one is found by this package's tests.
var readExplanations = sync.OnceValues(func() ([]Explanation, error) {
	all := make([]Explanation, 0, len(Causes))
	for _, c := range Causes {
		text, err := explanations.ReadFile("explain/" + c.ID + ".yaml")
		if err != nil {
			return nil, fmt.Errorf("read explanation: %w", err)
		}
		e, err := parseExplanation(text)
		if err != nil {
			return nil, fmt.Errorf("read explanation of %s: %w", c.ID, err)
		}
		e.Cause, e.Means = c.ID, c.Means
		all = append(all, e)
	}
	return all, nil
})

func parseExplanation(text []byte) (e Explanation, err error) {
	t, err := template.New("").Option("missingkey=error").Funcs(examples).Parse(string(text))
	if err != nil {
		return e, err
	}
	var filled bytes.Buffer
	if err := t.Execute(&filled, nil); err != nil {
		return e, err
	}
	if err := yaml.UnmarshalWithOptions(filled.Bytes(), &e, yaml.Strict()); err != nil {
		return e, fmt.Errorf("after its numbers were filled in: %w", err)
	}
	e.Trials = append([]Question{}, e.Trials...) // none is [] in JSON
	return e, nil
}

// Like gives the causes that somebody may have meant, the likeliest first, three
// at most: those that have the word in their name, those with nearly the same
// name, or those whose meaning has it.
func Like(word string) []string {
	word = strings.ToLower(strings.TrimSpace(word))
	if len(word) > 64 {
		return nil
	}
	var like []string
	add := func(is func(Cause) bool) {
		for _, c := range Causes {
			if len(like) < 3 && is(c) && !slices.Contains(like, c.ID) {
				like = append(like, c.ID)
			}
		}
	}
	id := strings.NewReplacer("_", "-", " ", "-").Replace(word)
	for distance := 0; distance <= max(1, len(word)/3) && len(like) == 0; distance++ {
		add(func(c Cause) bool { return near.Distance(id, c.ID) <= distance })
	}
	if len(like) == 0 && len(word) > 1 {
		add(func(c Cause) bool { return strings.Contains(c.ID, id) })
		add(func(c Cause) bool { return strings.Contains(strings.ToLower(c.Means), word) })
	}
	return like
}
