package path

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// mtus probes the path MTU both ways at once, as far as each end can set DF. It
// says whether the far end answers at all.
func (s *session) mtus(ctx context.Context, way route, e *Estimate) (answers bool, err error) {
	var far Observed
	group, probing := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		far, err = s.observe(probing)
		return err
	})
	group.Go(func() error {
		for range 2 {
			size, err := s.askForward(probing, []int{headerSize + s.overhead})
			if answers = size > 0; answers || err != nil {
				return err
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil || !answers {
		return false, err
	}

	var forward, reverse int
	group, probing = errgroup.WithContext(ctx)
	if canDontFragment {
		group.Go(func() (err error) {
			forward, err = searchMTU(probing, knownLink(way.link), s.askForward)
			return err
		})
	}
	if s.ticket.DontFragment {
		group.Go(func() (err error) {
			reverse, err = searchMTU(probing, knownLink(far.Link), s.askReverse)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return false, err
	}
	if forward > 0 {
		if now, err := routeTo(s.to); err == nil { // the kernel may have learned
			way = now
		}
		e.Forward.MTU = probedMTU(forward, way.link, way.kernel)
	}
	if reverse > 0 {
		if far, err = s.observe(ctx); err != nil {
			return false, err
		}
		e.Reverse.MTU = probedMTU(reverse, far.Link, far.Kernel)
	}
	return true, nil
}

// knownLink is where a search starts: at the interface's MTU, or, where that is
// unknown, at the largest in common use.
func knownLink(mtu int) int {
	if mtu < headerSize+overhead4 || mtu > maxPacket {
		return 9216
	}
	return mtu
}

// askForward is an asker for packets to the far end.
func (s *session) askForward(ctx context.Context, sizes []int) (int, error) {
	return s.ask(ctx, sizes, s.got, func(size int) {
		s.send(packet{kind: kindProbe, cookie: s.cookie, size: uint32(size)}.padded(s.overhead))
	})
}

// askReverse is an asker for packets from the far end.
func (s *session) askReverse(ctx context.Context, sizes []int) (int, error) {
	return s.ask(ctx, sizes, s.padded, func(size int) {
		s.send(packet{kind: kindWant, cookie: s.cookie, size: uint32(size)}.small())
	})
}

// ask sends each size twice, the copies apart, and waits for the largest.
func (s *session) ask(ctx context.Context, sizes []int, answers <-chan int, send func(size int)) (int, error) {
	const (
		copies = 2
		apart  = 10 * time.Millisecond // beyond what one burst of loss takes, mostly
	)
	largest := 0
	collect := func(within time.Duration) bool {
		timer := time.NewTimer(within)
		defer timer.Stop()
		for largest < sizes[0] && ctx.Err() == nil {
			select {
			case size := <-answers:
				largest = max(largest, size)
			case <-ctx.Done():
			case <-timer.C:
				return false
			}
		}
		return true
	}
	for range copies {
		for _, size := range sizes {
			if size > largest {
				send(size)
			}
		}
		if collect(apart) {
			return largest, ctx.Err()
		}
	}
	collect(s.wait)
	return largest, ctx.Err()
}
