package diagnose

import (
	"fmt"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// mem is the tunable that bounds the memory of all TCP sockets together.
const mem = "net.ipv4.tcp_mem"

// Counters of what TCP does when memory is short (SNMP names of
// net/ipv4/proc.c). All but the first two also move when a single socket's buffer
// is full, which is no shortage.
const (
	pressures     = "TcpExt.TCPMemoryPressures"       // times it came to be short
	pressureTime  = "TcpExt.TCPMemoryPressuresChrono" // milliseconds for which it was, counted at its end
	abortOnMemory = "TcpExt.TCPAbortOnMemory"
)

var saving = []string{"TcpExt.PruneCalled", "TcpExt.RcvPruned", "TcpExt.OfoPruned", "TcpExt.TCPRcvCollapsed", "TcpExt.TCPRcvQDrop", "TcpExt.TCPZeroWindowDrop"}

// memoryPressure: TCP as a whole holds as much memory as tcp_mem lets it, on
// either host, and takes it from the sockets' buffers.
func memoryPressure(v *view) *Finding {
	worst := shortage{}
	for _, at := range bothSides {
		if s := v.shortage(at); s.share > worst.share {
			worst = s
		}
	}
	if worst.share == 0 || !v.short(v.goodput) {
		return nil
	}
	m := worst.memory
	f := &Finding{
		Cause:      MemoryPressure,
		Confidence: confidence(count(worst.entered > 0, worst.above, worst.saved > 0, worst.aborted > 0), 0),
		Says: fmt.Sprintf("The TCP connections of the %s hold as much memory as the kernel grants all of them together, so it shrinks their buffers. %v arrive over a round trip of %s, and no connection's own buffer limit is the cause.",
			worst.at, v.goodput, unit.Milliseconds(v.rtt)),
		Action: fmt.Sprintf("raise the values of %s on the %s if it has memory to spare, or find the connections that hold it (ss -tm)", mem, worst.at),
		weight: worst.share,
	}
	f.addGoodput(v)
	f.addRTT(v)
	if m.Used > 0 {
		f.Add("tcp_memory", float64(m.Used), "B", "the TCP connections of the %s held %v at most", worst.at, unit.Size(m.Used))
	}
	if m.Pressure > 0 {
		f.Add("tcp_mem", float64(m.Pressure), "B", "from %v on memory counts as short (the second value of %s)", unit.Size(m.Pressure), mem)
	}
	f.Add("memory_pressures", worst.entered, "", "memory came to be short %.0f times", worst.entered)
	f.AddShare("memory_short", worst.share, "of the time it was short")
	f.Add("saved", worst.saved, "", "the kernel squeezed or dropped what sockets had received %.0f times", worst.saved)
	return v.predict(f, v.receiverLimit(), v.senderLimit(), v.lossLimit())
}

// shortage is what one host reports of TCP's memory.
type shortage struct {
	at      side
	memory  host.TCPMemory
	above   bool    // it was seen above the mark
	entered float64 // times it came to be short
	saved   float64 // times the kernel saved
	aborted float64 // connections
	share   float64 // of the time it was short
}

// unknownShortage is the share of the time that stands for a shortage which was
// seen, but not for how long: the kernel's clock is read when it ends.
const unknownShortage = 0.7

func (v *view) shortage(at side) shortage {
	end := v.end(at)
	s := shortage{at: at}
	if end.Memory != nil {
		s.memory = *end.Memory
		s.above = s.memory.Pressure > 0 && s.memory.Used >= s.memory.Pressure
	}
	counter := func(name string) float64 { return float64(max(0, end.Counters[name])) }
	s.entered, s.aborted = counter(pressures), counter(abortOnMemory)
	for _, name := range saving {
		s.saved += counter(name)
	}
	if s.above || s.entered > 0 {
		s.share = unknownShortage
	}
	s.share = max(s.share, min(1, ratio(counter(pressureTime), float64(end.CPU.Elapsed.Milliseconds()))))
	return s
}
