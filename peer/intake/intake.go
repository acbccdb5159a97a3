// Package intake reads JSON that comes over the network. How much there can be is
// known before: so many bytes, elements of lists and members of objects, so deep.
// What goes beyond is refused while it comes in, before anything is made of it:
// two bytes of text can become hundreds in memory.
package intake

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrTooMuch says that there is more than there can be.
var ErrTooMuch = errors.New("more than there can be")

// MaxDepth is how deep lists and objects may stand within each other. A transfer's
// result has six levels.
const MaxDepth = 16

// Bounds are what an honest sender keeps within.
type Bounds struct {
	Bytes    int64 // of text
	Elements int64 // of all lists together
	Members  int64 // of any one object
}

// Decode reads one JSON value, and nothing behind it, into a variable. An error
// wraps [ErrTooMuch] where the text goes beyond the bounds.
func (b Bounds) Decode(r io.Reader, into any) error {
	decoder := json.NewDecoder(&gate{source: r, bounds: b})
	if err := decoder.Decode(into); err != nil {
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	if _, err := decoder.Token(); err == nil {
		return errors.New("something follows the JSON value")
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// gate lets text through as long as it is within the bounds. It knows just enough
// of JSON to count; whether it is JSON is for the decoder to say.
type gate struct {
	source io.Reader
	bounds Bounds

	bytes, elements int64
	open            []container
	quoted, escaped bool // within a string; after its backslash
}

// container is a list or an object that has not come to its end.
type container struct {
	list  bool
	count int64 // of what is in it, so far
}

func (g *gate) Read(p []byte) (int, error) {
	n, err := g.source.Read(p)
	if tooMuch := g.count(p[:n]); tooMuch != nil {
		return 0, tooMuch
	}
	return n, err
}

func (g *gate) count(text []byte) error {
	if g.bytes += int64(len(text)); g.bytes > g.bounds.Bytes {
		return fmt.Errorf("%w: over %d bytes", ErrTooMuch, g.bounds.Bytes)
	}
	for _, c := range text {
		switch {
		case g.escaped:
			g.escaped = false
		case g.quoted:
			g.quoted, g.escaped = c != '"', c == '\\'
		case c == '"':
			g.quoted = true
		case c == '[' || c == '{':
			if len(g.open) == MaxDepth {
				return fmt.Errorf("%w: over %d levels deep", ErrTooMuch, MaxDepth)
			}
			g.open = append(g.open, container{list: c == '['})
			if err := g.one(); err != nil { // it may be empty: one more or less does not matter
				return err
			}
		case c == ',':
			if err := g.one(); err != nil {
				return err
			}
		case (c == ']' || c == '}') && len(g.open) > 0:
			g.open = g.open[:len(g.open)-1]
		}
	}
	return nil
}

// one counts an element or a member of the innermost container.
func (g *gate) one() error {
	if len(g.open) == 0 {
		return nil // that is no JSON
	}
	inner := &g.open[len(g.open)-1]
	inner.count++
	if inner.list {
		g.elements++
	} else if inner.count > g.bounds.Members {
		return fmt.Errorf("%w: over %d members of an object", ErrTooMuch, g.bounds.Members)
	}
	if g.elements > g.bounds.Elements {
		return fmt.Errorf("%w: over %d elements of lists", ErrTooMuch, g.bounds.Elements)
	}
	return nil
}
