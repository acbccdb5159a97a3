package flow

import (
	"fmt"
	"math"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

// pacingCap: the program asked the kernel for a highest rate, and that is what
// goes out. The kernel counts headers, the goodput does not.
func pacingCap(v *view) *diagnose.Finding {
	highest := v.last().TCP.MaxPacingRate
	if highest == 0 || highest == math.MaxUint32 || highest == math.MaxUint64 {
		return nil // none, as old kernels and new ones say it
	}
	rate := unit.Rate(8 * float64(highest))
	if v.goodput < 0.85*rate {
		return nil
	}
	f := v.found(diagnose.PacingCap, sure(true, v.share(drained) < 0.5),
		"let the program ask for more, or not at all (SO_MAX_PACING_RATE)",
		"The program asked for at most %v (SO_MAX_PACING_RATE), and that is what it gets.", rate)
	f.Add("max_pacing_rate", float64(rate), "b/s", "highest rate that was asked for: %v with headers", rate)
	v.addSending(f)
	return f
}

// senderBuffer: all that fits into the send buffer is on its way, while both
// windows have room.
func senderBuffer(v *view) *diagnose.Finding {
	// The kernel's clock stands while pacing or the congestion window is what
	// blocked last, but a full buffer starts it at some time. (Small writes fill
	// the memory too, and are no sign by themselves.)
	held := max(v.sndbuf, v.share(func(s *bulk.Sample) bool { return drained(s) && crammed(s) }))
	if held < 0.5 || v.sndbuf < 0.01 || v.share(crammed) < 0.3 {
		return nil
	}
	last := v.last()
	buffer := unit.Size(last.Mem.SendBuf)
	carries := diagnose.WindowRate(diagnose.SenderWindow(buffer), v.rtt)
	why, action := "it has reached the maximum, the third value of net.ipv4.tcp_wmem", "raise the third value of net.ipv4.tcp_wmem on this host"
	full := v.bounds.send > 0 && float64(buffer) >= 0.9*float64(v.bounds.send)
	if !full {
		why = fmt.Sprintf("it is below the maximum of %v, yet does not grow: the program has fixed it (SO_SNDBUF)", v.bounds.send)
		action = "let the program leave SO_SNDBUF alone"
	}
	f := v.found(diagnose.SenderBuffer, sure(diagnose.Agrees(carries, v.goodput), v.sndbuf > 0.5, full || v.growth(sendBuffer) < 1.05), action,
		"The sender has nothing left to send although both windows are open: its buffer of %v on a round trip of %s makes about %v. No more fits in because %s.",
		buffer, unit.Milliseconds(v.rtt), carries, why)
	f.Add("send_buffer", float64(buffer), "B", "send buffer: %v", buffer)
	f.Add("buffer_rate", float64(carries), "b/s", "what it keeps in flight makes %v (5/6 of it, on average, a round trip)", carries)
	v.addSending(f)
	return v.predict(f, 2*v.goodput, "with a send buffer twice as large, as far as the path and the receiver's window carry it")
}

func sendBuffer(s *bulk.Sample) float64 { return float64(s.Mem.SendBuf) }

// starved says that the program brings no more than is on its way, and that
// neither the room it has to write to nor a window is the reason.
func (v *view) starved() bool {
	return v.share(drained) >= 0.7 && v.share(windowFull) < 0.3
}

// slowSender: the program does not supply data. Either the connection stands
// empty part of the time, or something is always on its way but never more.
func slowSender(v *view) *diagnose.Finding {
	empty := v.busy < 0.9
	if !empty && !v.starved() {
		return nil
	}
	says := fmt.Sprintf("The sending program leaves the connection empty for %.2g %% of the time.", 100*(1-v.busy))
	signs := []bool{v.busy < 0.8, v.share(drained) > 0.9}
	if !empty {
		says = fmt.Sprintf("The sending program writes no more than %v: all of it is on its way at once, and the windows and buffers have room.", v.goodput)
		signs = []bool{v.answers() < 0.5, v.share(cwndFull) < 0.2}
	}
	f := v.found(diagnose.SlowSender, sure(signs...),
		"look at what the sending program waits for (disk, CPU, an answer); no TCP setting makes it faster",
		"%s Whatever it waits for limits it.", says)
	v.addSending(f)
	v.addRoom(f)
	return f
}

// addRoom says what TCP's own windows would carry as they stand.
func (v *view) addRoom(f *diagnose.Finding) {
	room := v.median(func(s *bulk.Sample) float64 { return min(cwnd(s), window(s)) })
	if room <= 0 { // shut, or not told by kernels before 5.4
		return
	}
	f.Add("tcp_windows", room, "B", "TCP itself would let %v be on its way, as its windows stand: %v", size(room), diagnose.WindowRate(size(room), v.rtt))
}
