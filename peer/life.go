package peer

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// life is a context that ends when the far end shows no sign of life.
type life struct {
	ctx   context.Context
	began time.Time
	stop  func()
	last  atomic.Int64 // sign, ns since began
}

var errNoSign = fmt.Errorf("neither an answer nor data for %v", lostAfter)

func watchLife(ctx context.Context) *life {
	ctx, cancel := context.WithCancelCause(ctx)
	l := &life{ctx: ctx, began: time.Now(), stop: func() { cancel(nil) }}
	go func() {
		for sleep(ctx, 100*time.Millisecond) {
			if time.Since(l.began)-time.Duration(l.last.Load()) > lostAfter {
				cancel(errNoSign)
			}
		}
	}()
	return l
}

// sign notes that the far end lives.
func (l *life) sign() { l.last.Store(int64(time.Since(l.began))) }
