package bulk

import (
	"runtime"
	"sync"
)

// processors is how many of Go's processors (GOMAXPROCS) the running transfers
// have added.
var processors struct {
	sync.Mutex
	added int
}

// mostProcessors bounds them: each takes some memory and a place in the
// collector's rounds. Streams beyond it go the usual way.
const mostProcessors = 64

// ownProcessors gives n more threads a processor of Go's scheduler each, which
// they may keep during a system call, until restore is called; false: there are
// too many of them already.
//
// A thread that gives its processor up for a call that blocks has to queue for
// one afterwards, behind two switches of other threads, and wakes the runtime's
// monitor every 20 us meanwhile: with eight streams on two cores, half of all
// wake-ups. The price is that Go follows later changes of the control group's CPU
// limit no more.
func ownProcessors(n int) (own bool, restore func()) {
	add := func(n int) {
		processors.added += n
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n)
	}
	processors.Lock()
	defer processors.Unlock()
	if processors.added+n > mostProcessors {
		return false, func() {}
	}
	add(n)
	return true, func() {
		processors.Lock()
		defer processors.Unlock()
		add(-n)
	}
}
