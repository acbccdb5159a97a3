package wire

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/fullbore/fullbore/lab/schema"
)

// Loss drops segments whatever the load: independently of each other, or in
// bursts by the Gilbert-Elliott model, which has a good state that loses nothing
// and a bad one, with a possible change of state at each segment (Gilbert, Bell
// System Technical Journal 39, 1960). The share of time spent in the bad state is
// P/(P+R), the mean length of a burst 1/R segments.
type Loss struct {
	Model string       `yaml:"model" json:"model,omitempty"` // "" (independent) or "gilbert"
	P     schema.Share `yaml:"p" json:"p,omitempty"`         // chance, per segment, to go from good to bad
	R     schema.Share `yaml:"r" json:"r,omitempty"`         // chance, per segment, to go back
	Share schema.Share `yaml:"loss" json:"loss"`             // share of segments lost; of gilbert, in the bad state
}

// FromWord reads "0.01%".
func (l *Loss) FromWord(word string) error {
	*l = Loss{}
	return l.Share.FromWord(word)
}

// Range is that of all its shares.
func (l *Loss) Range() string { return l.Share.Range() }

// Complete makes the simple Gilbert model of one without a loss: the bad state
// loses everything.
func (l *Loss) Complete() {
	if l.Model != "" && l.Share == 0 {
		l.Share = 1
	}
}

func (l Loss) conflict(site) error {
	switch {
	case l.Model != "" && l.Model != "gilbert", l.Model == "" && l != Loss{Share: l.Share}:
		return fmt.Errorf("loss model %q is unknown: use gilbert, or a share alone such as 0.01%%", l.Model)
	case l.Model != "" && (l.P == 0 || l.R == 0):
		return errors.New("the gilbert model needs p and r above 0%")
	}
	return nil
}

// Mean is the share of segments lost in the long run.
func (l Loss) Mean() schema.Share {
	if l.Model == "" {
		return l.Share
	}
	return l.Share * l.P / (l.P + l.R)
}

// Says is how a drawing of the path has it.
func (l Loss) Says() string {
	if l.Model == "" {
		return "loses " + l.Share.String()
	}
	return fmt.Sprintf("loses %s in bursts (%s p %s, r %s, %s lost in the bad state)", l.Mean(), l.Model, l.P, l.R, l.Share)
}

func (l Loss) install(into *lane, s site) {
	if l.Model == "" {
		coin := newCoin(l.Share, s.Seed, streamRandom)
		into.gate(&coin, &into.count.Drops.Loss)
		return
	}
	into.gate(&gilbert{Loss: l, rng: rand.New(rand.NewPCG(s.Seed, streamGilbert))}, &into.count.Drops.Loss)
}

// pass is for a coin that says what is lost.
func (c *coin) pass(int64, int) bool { return !c.toss() }

// gilbert is the Gilbert-Elliott model.
type gilbert struct {
	Loss
	bad bool
	rng *rand.Rand
}

func (g *gilbert) pass(int64, int) bool {
	lost := g.bad && (g.Share == 1 || g.rng.Float64() < float64(g.Share))
	change := g.P
	if g.bad {
		change = g.R
	}
	if g.rng.Float64() < float64(change) {
		g.bad = !g.bad
	}
	return !lost
}
