package sweep

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/fullbore/fullbore/bulk"
)

// Remote is the other side of Serve: both ends of a path, asked from elsewhere.
type Remote struct {
	to      *json.Encoder
	answers chan answer
	failed  error // why there are no more
	close   func() error
}

var _ Ends = (*Remote)(nil)

// NewRemote asks over in what answers over out. end closes both and waits until
// whoever answers has ended.
func NewRemote(in io.Writer, out io.Reader, end func() error) *Remote {
	r := &Remote{to: json.NewEncoder(in), answers: make(chan answer), close: end}
	go func() {
		defer close(r.answers)
		lines := bufio.NewReaderSize(out, 64<<10)
		for {
			line, err := readAnswer(lines)
			var a answer
			if err == nil {
				err = json.Unmarshal(line, &a)
			}
			if err != nil {
				r.failed = err
				return
			}
			r.answers <- a
		}
	}()
	return r
}

// readAnswer gives one line, of which only the whole is bounded.
func readAnswer(from *bufio.Reader) ([]byte, error) {
	var line bytes.Buffer
	for {
		part, err := from.ReadSlice('\n')
		line.Write(part)
		switch {
		case line.Len() > mostAnswer:
			return nil, fmt.Errorf("an answer is longer than %d bytes", mostAnswer)
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, err
		default:
			return line.Bytes(), nil
		}
	}
}

// ask waits for the answer, also when ctx is done: then it asks to stop first.
func (r *Remote) ask(ctx context.Context, q question, watch func(bulk.Progress)) (answer, error) {
	if err := r.to.Encode(q); err != nil {
		return answer{}, fmt.Errorf("ask the host in the lab: %w", err)
	}
	done := ctx.Done()
	for {
		select {
		case <-done:
			done = nil
			_ = r.to.Encode(question{Do: "stop"}) // if it is gone, the answers end
		case a, more := <-r.answers:
			switch {
			case !more:
				return answer{}, fmt.Errorf("the host in the lab has ended: %w", r.failed)
			case a.Progress != nil:
				if watch != nil {
					watch(*a.Progress)
				}
				continue
			case ctx.Err() != nil && a.Error != "":
				return a, context.Cause(ctx)
			case a.Error != "":
				return a, errors.New(a.Error)
			}
			return a, nil
		}
	}
}

// question about a point.
func (p Point) question(do string) question {
	q := question{Do: do, At: p.values}
	for i := range p.factors {
		q.Names = append(q.Names, p.factors[i].name)
	}
	return q
}

// About is what the hosts there know; nothing if they do not answer.
func (r *Remote) About() About {
	a, err := r.ask(context.Background(), question{Do: "about"}, nil)
	if err != nil || a.About == nil {
		return About{}
	}
	return *a.About
}

// Set sets the point there.
func (r *Remote) Set(ctx context.Context, p Point) error {
	_, err := r.ask(ctx, p.question("set"), nil)
	return err
}

// Transfer runs one there.
func (r *Remote) Transfer(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
	a, err := r.ask(ctx, question{Do: "transfer", Spec: &spec}, watch)
	if err == nil && a.Result == nil {
		err = errors.New("a transfer without a result")
	}
	return a.Result, err
}

// Taken reads back there.
func (r *Remote) Taken(ctx context.Context, p Point) (map[string]Value, error) {
	a, err := r.ask(ctx, p.question("taken"), nil)
	return a.Taken, err
}

// PutBack puts everything back there.
func (r *Remote) PutBack(ctx context.Context) error {
	_, err := r.ask(ctx, question{Do: "put back"}, nil)
	return err
}

// Close ends both sides.
func (r *Remote) Close() error {
	err := r.close()
	for range r.answers { // until whoever reads them has ended
	}
	return err
}
