package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/fullbore/fullbore/printable"
)

// part is one of those that metrics come from.
type part struct {
	name    string
	collect func(context.Context) (string, error)
	close   func() error // frees what it has opened; nil: nothing
	log     *slog.Logger

	busy sync.Mutex // while it collects, however long nobody waits for it any more
	said string     // why it failed the last time
}

// answer is what came of asking a part; the text of one that failed is empty.
type answer struct {
	text string
	err  error
	took time.Duration
}

var errBusy = errors.New("it is still at what it was asked before")

// ask waits for the part as long as ctx lasts. A part that does not heed that is left
// behind, and not asked again before it has come back.
func (p *part) ask(ctx context.Context) answer {
	began := time.Now()
	come := make(chan answer, 1)
	if p.busy.TryLock() {
		go func() {
			defer p.busy.Unlock()
			text, err := p.collect(ctx)
			come <- answer{text: text, err: err}
		}()
	} else {
		come <- answer{err: errBusy}
	}
	var a answer
	select {
	case a = <-come:
	case <-ctx.Done():
		a.err = errors.New("it does not answer")
	}
	a.took = time.Since(began)
	if a.err != nil {
		a.text = ""
		if ctx.Err() != nil {
			a.err = fmt.Errorf("nobody waits longer than %v: %w", a.took.Round(100*time.Millisecond), a.err)
		}
	}
	p.note(a.err)
	return a
}

// note logs why the part fails, once as long as that stays the same.
func (p *part) note(err error) {
	says := ""
	if err != nil {
		says = printable.Line(err.Error())
	}
	switch {
	case says != "" && says != p.said:
		p.log.Warn("a part of the metrics is missing", "part", p.name, "err", says)
	case says == "" && p.said != "":
		p.log.Info("a part of the metrics is there again", "part", p.name)
	}
	p.said = says
}
