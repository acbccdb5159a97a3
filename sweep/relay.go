package sweep

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/fullbore/fullbore/bulk"
)

// A path that is varied in the lab is many labs, one after the other, and the experiment
// runs outside of all of them. [Serve] runs on a host of such a lab, and does what a
// [Remote] asks for over its standard input and output: a line of JSON for each question,
// and for each answer.

// question of a Remote.
type question struct {
	Do    string     `json:"do"`                // "about", "set", "transfer", "stop", "taken", "put back"
	Names []string   `json:"factors,omitempty"` // of the point
	At    []Value    `json:"values,omitempty"`
	Spec  *bulk.Spec `json:"spec,omitempty"`
}

// answer of Serve: one for each question but "stop"; before that of a transfer, its
// progress.
type answer struct {
	Progress *bulk.Progress   `json:"progress,omitempty"`
	About    *About           `json:"about,omitempty"`
	Result   *bulk.Result     `json:"result,omitempty"`
	Taken    map[string]Value `json:"taken,omitempty"`
	Error    string           `json:"error,omitempty"`
}

// mostAnswer bounds a line, in bytes: the samples of 256 streams over an hour.
const mostAnswer = 512 << 20

// point is the one that is asked about.
func (q *question) point() (Point, error) {
	if len(q.Names) != len(q.At) || len(q.Names) > mostFactors {
		return Point{}, fmt.Errorf("%d factors with %d values", len(q.Names), len(q.At))
	}
	p := Point{values: q.At}
	for i, name := range q.Names {
		s, err := lookup(name)
		if err != nil {
			return Point{}, err
		}
		p.factors = append(p.factors, Factor{setting: s, Values: q.At[i : i+1]})
	}
	return p, nil
}

// Serve answers until its input ends, and then puts everything back. What it cannot
// understand ends it too.
func Serve(ctx context.Context, in io.Reader, out io.Writer, world World) (err error) {
	defer func() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), putBackWithin)
		defer cancel()
		err = errors.Join(err, world.PutBack(within))
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	questions := make(chan asked)
	reading := make(chan error, 1)
	go func() {
		defer close(questions)
		defer cancel() // nobody is left who wants the answer
		reading <- listen(ctx, in, questions)
	}()
	to := json.NewEncoder(out)
	for q := range questions {
		a := q.do(q.ctx, world, func(p bulk.Progress) { _ = to.Encode(answer{Progress: &p}) }) // the answer fails then too
		q.stop()
		if err := to.Encode(a); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
	return <-reading
}

// asked is a question, and what ends the work on it.
type asked struct {
	question
	ctx  context.Context
	stop context.CancelFunc
}

// listen reads questions until there are no more; "stop" is of the one before it.
func listen(ctx context.Context, in io.Reader, questions chan<- asked) error {
	lines := bufio.NewReader(in)
	last := asked{stop: func() {}}
	for {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var q question
		if err == nil {
			err = json.Unmarshal(line, &q)
		}
		if err != nil {
			return fmt.Errorf("read a question: %w", err)
		}
		if q.Do == "stop" {
			last.stop()
			continue
		}
		last = asked{question: q}
		last.ctx, last.stop = context.WithCancel(ctx)
		select {
		case questions <- last:
		case <-ctx.Done():
			return nil
		}
	}
}

func (q *question) do(ctx context.Context, world World, watch func(bulk.Progress)) (a answer) {
	p, err := q.point()
	if err == nil {
		switch q.Do {
		case "about":
			about := world.About()
			a.About = &about
		case "set":
			err = world.Set(ctx, p)
		case "taken":
			a.Taken, err = world.Taken(ctx, p)
		case "put back":
			err = world.PutBack(ctx)
		case "transfer":
			if q.Spec == nil {
				err = errors.New("a transfer without a spec")
				break
			}
			a.Result, err = world.Transfer(ctx, *q.Spec, watch)
		default:
			err = fmt.Errorf("nobody can do %.40q", q.Do)
		}
	}
	if err != nil {
		a.Error = oneLine(err)
	}
	return a
}
