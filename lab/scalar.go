package lab

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/fullbore/fullbore/unit"
)

// Rate is written "1gbit" in a scenario.
type Rate unit.Rate

// Size is written "256KB" in a scenario.
type Size unit.Size

// Duration is written "75ms" in a scenario.
type Duration time.Duration

// Share is written "0.01%" in a scenario: of packets, 0..1.
type Share float64

// maxDuration keeps delays within what a path on Earth, or to the Moon and
// back a few times, can have.
const maxDuration = 10 * time.Second

// UnmarshalYAML reads a rate such as 1gbit.
func (r *Rate) UnmarshalYAML(node ast.Node) error {
	return scalar(node, func(word string) error {
		v, err := unit.ParseRate(word)
		*r = Rate(v)
		return err
	})
}

func (r Rate) rate() unit.Rate { return unit.Rate(r) }

// String writes the rate as unit.Rate does.
func (r Rate) String() string { return unit.Rate(r).String() }

// UnmarshalYAML reads a size such as 256KB.
func (s *Size) UnmarshalYAML(node ast.Node) error {
	return scalar(node, func(word string) error {
		v, err := unit.ParseSize(word)
		*s = Size(v)
		return err
	})
}

func (s Size) size() unit.Size { return unit.Size(s) }

// String writes the size as unit.Size does.
func (s Size) String() string { return unit.Size(s).String() }

// UnmarshalYAML reads a duration such as 75ms.
func (d *Duration) UnmarshalYAML(node ast.Node) error {
	return scalar(node, func(word string) error {
		v, err := parseDuration(word)
		*d = Duration(v)
		return err
	})
}

func (d Duration) duration() time.Duration { return time.Duration(d) }

// String writes the duration as time.Duration does.
func (d Duration) String() string { return time.Duration(d).String() }

// UnmarshalYAML reads a share such as 0.01%.
func (s *Share) UnmarshalYAML(node ast.Node) error {
	return scalar(node, func(word string) error {
		v, err := parseShare(word)
		*s = Share(v)
		return err
	})
}

// String writes the share in per cent.
func (s Share) String() string {
	return strconv.FormatFloat(100*float64(s), 'g', 6, 64) + "%"
}

func parseDuration(word string) (time.Duration, error) {
	d, err := time.ParseDuration(word)
	switch {
	case err != nil:
		return 0, fmt.Errorf("duration %q is not a number with a unit such as 75ms or 150us", word)
	case d < 0:
		return 0, fmt.Errorf("duration %s is negative", word)
	case d > maxDuration:
		return 0, fmt.Errorf("duration %s is above %s", word, maxDuration)
	}
	return d, nil
}

func parseShare(word string) (float64, error) {
	number, found := strings.CutSuffix(word, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case err != nil || !found && v != 0:
		return 0, fmt.Errorf("share %q is not a number with %%, such as 0.01%%", word)
	case !(v >= 0 && v <= 100):
		return 0, fmt.Errorf("share %s is not within 0%% and 100%%", word)
	}
	return v / 100, nil
}

// scalar hands the word of a node to parse, and gives its error the place.
func scalar(node ast.Node, parse func(word string) error) error {
	switch node.Type() {
	case ast.StringType, ast.IntegerType, ast.FloatType:
	default:
		return placeError(node, fmt.Errorf("expected one value such as 10ms or 1gbit, not a %s", strings.ToLower(node.Type().String())))
	}
	if err := parse(strings.TrimSpace(node.GetToken().Value)); err != nil {
		return placeError(node, err)
	}
	return nil
}
