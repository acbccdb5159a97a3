package lab

import (
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Loss drops packets whatever the load: independently with Loss, or in bursts
// by the Gilbert-Elliott model, which stands in a good or a bad state and
// loses only in the bad one.
type Loss struct {
	Model string `yaml:"model" json:"model,omitempty"` // "" (independent) or "gilbert"
	P     Share  `yaml:"p" json:"p,omitempty"`         // chance, per packet, to go from good to bad
	R     Share  `yaml:"r" json:"r,omitempty"`         // chance, per packet, to go back
	Loss  Share  `yaml:"loss" json:"loss"`             // share of packets lost; of gilbert, in the bad state
}

// UnmarshalYAML reads "0.01%" or {model: gilbert, p: 0.1%, r: 20%, loss: 50%}.
func (l *Loss) UnmarshalYAML(node ast.Node) error {
	if _, ok := node.(ast.MapNode); !ok {
		return l.Loss.UnmarshalYAML(node)
	}
	type plain Loss // without this method
	if err := yaml.NodeToValue(node, (*plain)(l), yaml.Strict()); err != nil {
		return err
	}
	switch {
	case l.Model != "gilbert":
		return placeError(node, fmt.Errorf("loss model %q is unknown: use gilbert, or a plain share such as 0.01%%", l.Model))
	case l.P <= 0 || l.R <= 0:
		return placeError(node, fmt.Errorf("the gilbert model needs p and r above 0%%"))
	case l.Loss == 0:
		l.Loss = 1 // Gilbert's model proper: the bad state loses everything
	}
	return nil
}

// Mean is the share of packets lost in the long run.
func (l Loss) Mean() Share {
	if l.Model == "" {
		return l.Loss
	}
	return l.Loss * l.P / (l.P + l.R)
}

// String writes the loss as a scenario would.
func (l Loss) String() string {
	if l.Model == "" {
		return l.Loss.String()
	}
	return fmt.Sprintf("%s in bursts (%s p %s, r %s, %s lost in the bad state)", l.Mean(), l.Model, l.P, l.R, l.Loss)
}
