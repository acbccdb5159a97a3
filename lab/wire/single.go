package wire

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fullbore/fullbore/lab/schema"
)

// What happens by chance to single segments behind the bottleneck.

// Reorder holds back a share of the segments, so that later ones overtake them.
type Reorder struct {
	Share schema.Share  `yaml:"share" json:"share"`
	By    time.Duration `yaml:"by" json:"by_ns" range:"0s 10s"` // how much later they arrive
}

// Says is how a drawing of the path has it.
func (r Reorder) Says() string { return fmt.Sprintf("reorders %s by %s", r.Share, r.By) }

func (r Reorder) conflict(site) error {
	if r.Share == 0 || r.By == 0 {
		return errors.New("reorder needs both share, of the packets that are late, and by, the time that they are late")
	}
	return nil
}

func (r Reorder) install(l *lane, s site) {
	l.reorder, l.reorderBy = newCoin(r.Share, s.Seed, streamReorder), int64(r.By)
}

// Duplicate is the share of segments that arrive twice.
type Duplicate schema.Share

// FromWord reads "0.01%".
func (d *Duplicate) FromWord(word string) error { return (*schema.Share)(d).FromWord(word) }

// Range is that of all shares.
func (d *Duplicate) Range() string { return (*schema.Share)(d).Range() }

// Says is how a drawing of the path has it.
func (d Duplicate) Says() string { return "duplicates " + schema.Share(d).String() }

func (Duplicate) conflict(site) error { return nil }

func (d Duplicate) install(l *lane, s site) {
	l.duplicate = newCoin(schema.Share(d), s.Seed, streamDuplicate)
}

// Corrupt is the share of segments that arrive with a flipped bit, which the
// receiver's checksum finds.
type Corrupt schema.Share

// FromWord reads "0.01%".
func (c *Corrupt) FromWord(word string) error { return (*schema.Share)(c).FromWord(word) }

// Range is that of all shares.
func (c *Corrupt) Range() string { return (*schema.Share)(c).Range() }

// Says is how a drawing of the path has it.
func (c Corrupt) Says() string { return "corrupts " + schema.Share(c).String() }

func (Corrupt) conflict(site) error { return nil }

func (c Corrupt) install(l *lane, s site) {
	l.corrupt = newCoin(schema.Share(c), s.Seed, streamCorrupt)
	l.bit = rand.New(rand.NewPCG(s.Seed, streamBit))
}
