package limit

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// waiting says where requests wait for each other, what takes most first, of what one takes longer now than alone:
// a handshake meets the queues of the path, a call that does nothing also that for the
// server's threads, and what remains is behind them, or is that of the own connections.
func waiting(e *Evidence) []Finding {
	now, alone := e.Now.typical(), e.Alone.typical()
	extra := now - alone
	if extra <= 0 || now <= 0 {
		return nil
	}
	share := func(d time.Duration) float64 { return min(1, max(0, float64(d)/float64(now))) }
	network := time.Duration(0)
	if e.Idle.Handshake > 0 && e.Loaded.Handshake > 0 {
		network = max(0, e.Loaded.Handshake-e.Idle.Handshake)
	}
	threads := max(0, e.Loaded.Null-e.Idle.Null-network)
	behind := max(0, extra-network-threads)
	if e.threadsBusy() { // a call over another connection need not wait for all that wait in this one
		threads, behind = threads+behind, 0
	}
	var found []Finding
	if network > 0 {
		found = append(found, Finding{
			Cause: Path, Share: share(network),
			Says:   fmt.Sprintf("Requests wait in the queues of the path: a handshake takes %s beside them, and %s without.", unit.Milliseconds(e.Loaded.Handshake), unit.Milliseconds(e.Idle.Handshake)),
			Action: "see what else the path carries: fullbore diagnose",
		})
	}
	if threads > 0 {
		found = append(found, threadsWait(e, share(threads)))
	}
	if behind > 0 {
		found = append(found, beyond(e, share(behind)))
	}
	found = slices.DeleteFunc(found, func(f Finding) bool { return f.Share < little })
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(b.Share, a.Share) })
	return found
}

// little is the share of a request's time below which where it waits is not worth a word.
const little = 0.1

// threadsBusy says whether all threads of the server are known to be at work while each request
// takes no longer there than alone: as many are with it as there are threads, by Little's law.
// More threads then get more out of it, and of its disk, which was not yet asked for more.
func (e *Evidence) threadsBusy() bool {
	return e.Threads > 0 && e.wanted() > e.Threads && e.Idle.Handshake > 0 && e.Now.IOPS*e.served().Seconds() >= reached*float64(e.Threads)
}

// served is how long the server has a request that is alone, on average.
func (e *Evidence) served() time.Duration { return max(0, e.Alone.Mean-e.Idle.Handshake) }

// threadsWait is the wait for a thread of the server. Threads that are held by the disk are
// the disk's, unless all are known to be at work while it reads for each as fast as for one.
func threadsWait(e *Evidence, share float64) Finding {
	f := Finding{
		Cause: Threads, Share: share, Predicted: e.ceiling(min(2*e.Now.IOPS, e.windows())),
		Says:   fmt.Sprintf("Requests wait for a thread of the server: a call that does nothing takes %s beside them, and %s without.", unit.Milliseconds(e.Loaded.Null), unit.Milliseconds(e.Idle.Null)),
		Action: "give the server more threads",
	}
	disk, memory := e.Alone.Mean-e.Again.Mean, e.Again.Mean-e.Idle.Handshake
	switch {
	case e.threadsBusy():
		f.Predicted = e.ceiling(min(float64(e.wanted())/e.Alone.Mean.Seconds(), e.windows()))
		f.Says = fmt.Sprintf("All threads of the server are at work: it has %s, and a request that is alone has one for %s, so that %.0f a second make %.2g at once (Little's law).",
			unit.Count(e.Threads, "thread"), unit.Milliseconds(e.served()), e.Now.IOPS, e.Now.IOPS*e.served().Seconds())
	case e.Idle.Handshake == 0 || disk <= memory || float64(disk) <= noise*float64(e.Again.Mean):
	default:
		f.Cause, f.Predicted = Disk, 0
		f.Says += fmt.Sprintf(" Its threads wait for the disk: of what they do for a block, that takes %s.", unit.Milliseconds(disk))
		f.Action = "a faster disk, or more memory at the server; more threads only if its disk reads more blocks at once"
	}
	return f
}

// noise is the share by which means of a few hundred single requests differ by chance.
const noise = 0.05

// beyond is where requests wait that neither the path nor the threads let wait: at the disk,
// if what the server does not have in memory takes longer; else in their own connections.
func beyond(e *Evidence, share float64) Finding {
	if e.Again.Mean > 0 && float64(e.Alone.Mean) > diskTakes*float64(e.Again.Mean) {
		return Finding{
			Cause: Disk, Share: share,
			Says: fmt.Sprintf("Requests wait for the server's disk: a block takes %s, and %s if the server has it in memory; beside others %s.",
				unit.Milliseconds(e.Alone.Mean), unit.Milliseconds(e.Again.Mean), unit.Milliseconds(e.Now.Mean)),
			Action: "a faster disk, or more memory at the server",
		}
	}
	return Finding{
		Cause: Connections, Share: share, Predicted: 2 * e.Now.IOPS,
		Says: fmt.Sprintf("Requests wait for each other in their own %s: alone they take %s, beside others %s, and a call over another connection does not wait.",
			unit.Count(e.Connections, "connection"), unit.Milliseconds(e.Alone.typical()), unit.Milliseconds(e.Now.typical())),
		Action: "use more connections (nconnect)",
	}
}

// diskTakes is the factor between a block from the disk and one from memory from which the
// disk is what the difference is about: less is within the scatter of a few hundred calls.
const diskTakes = 1.2
