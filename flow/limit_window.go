package flow

import (
	"fmt"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

func size(bytes float64) unit.Size { return unit.Size(bytes) }

// receiverWindow: data waits for the peer's window. A window that a buffer bounds
// stands still. One that an application keeps small by not reading moves, and
// often closes. Where it moves little, because the application reads in small
// pieces, the round trip still tells: Linux acknowledges at once only what it has
// window for to offer again (__tcp_ack_snd_check, net/ipv4/tcp_input.c), the rest
// when the application reads. (A path's queue delays as well, but a window that a
// buffer bounds is never larger than that.)
func receiverWindow(v *view) *diagnose.Finding {
	if v.last().TCP.Length < lengthWithSndWnd {
		return v.unseenWindow()
	}
	held, enough := max(v.rwnd, v.share(windowFull)), 0.5
	if diagnose.IsBBR(v.flow.Congestion) && v.median(window) < v.median(cwnd) {
		// BBR takes what the window lets through for the path's rate and paces by
		// that, so that it mostly waits for its own timer.
		enough = 0.2
	}
	if held < enough {
		return nil
	}
	low, median, high := v.quantile(0.1, window), v.median(window), v.quantile(0.9, window)
	carries := diagnose.WindowRate(size(median), v.rtt)
	shut := v.share(func(s *bulk.Sample) bool { return s.TCP.SndWnd < s.TCP.SndMSS })
	step := max(float64(int(1)<<min(v.last().TCP.SndWScale, 14)), high/100) // what headers can say, or a hundredth
	steady := low >= high-step && median >= float64(v.widest)-step
	shrunk := median < 0.5*float64(v.widest)
	late := !steady && v.minRTT > 0 && v.rtt > v.minRTT+max(time.Millisecond, v.minRTT/20)

	var f *diagnose.Finding
	last := &v.last().TCP
	scaled := last.Options&bulk.OptWindowScale != 0
	switch most := largestWindow(last.Options, last.SndWScale); {
	case steady && low >= 0.9*most:
		why := fmt.Sprintf("the receiver chose a shift of only %d bits when the connection was opened", last.SndWScale)
		if !scaled {
			why = "no window scale was agreed: one end does not offer it, or something on the path strips it"
		}
		f = v.found(diagnose.WindowScale, sure(true, diagnose.Agrees(carries, v.goodput), !scaled),
			"check net.ipv4.tcp_window_scaling on both ends (and the third value of tcp_rmem at the receiver), then firewalls on the path",
			"The sender waits for the receiver: a window of %v a round trip of %s makes %v. The window cannot be larger because %s.", size(median), unit.Milliseconds(v.rtt), carries, why)
	case shut > 0.05 || shrunk || low < 0.5*high || late:
		f = v.found(diagnose.SlowReceiver, sure(shut > 0.05, shrunk, low < 0.5*high, late),
			"look at what the receiving program does with the data (disk, CPU, a slower hop of its own); no TCP setting makes it faster",
			"The sender waits for the receiver, whose window moves between %v and %v: it fills up because the receiving program reads only %v.", size(low), size(high), v.goodput)
	default:
		f = v.found(diagnose.ReceiverBuffer, sure(steady && !v.queued(), diagnose.Agrees(carries, v.goodput) && !v.queued(), v.rwnd > 0.8),
			"raise the maximum of the receive buffer at the receiver (on Linux the third value of net.ipv4.tcp_rmem, unless the program sets SO_RCVBUF); watch there to be sure that its program reads in time",
			"The sender waits for the receiver: its window stays at %v, and one window a round trip of %s makes %v.", size(median), unit.Milliseconds(v.rtt), carries)
		v.predict(f, 2*v.goodput, "with a receive buffer twice as large, as far as the path carries it")
	}
	f.Add("window", median, "B", "the receiver offers a window of %v", size(median))
	f.Add("window_low", low, "B", "in one sample of ten no more than %v", size(low))
	f.Add("window_high", high, "B", "in one of ten %v or more", size(high))
	f.Add("window_widest", float64(v.widest), "B", "%v at most since it is watched", unit.Size(v.widest))
	f.AddShare("window_shut", shut, "of the time it was shut")
	v.addSending(f)
	return f
}

// lengthWithSndWnd is that of a struct tcp_info which has tcpi_snd_wnd (Linux
// 5.4).
const lengthWithSndWnd = 232

// unseenWindow is all that can be said of the peer's window by a kernel that
// does not tell how large it is, only how long it held the sender back.
func (v *view) unseenWindow() *diagnose.Finding {
	if v.rwnd < 0.5 {
		return nil
	}
	f := v.found(diagnose.Unknown, 0, "watch the receiver, or watch here with Linux 5.4 or newer",
		"The sender waits for the receiver's window. Whether its buffer is too small or its program reads too slowly cannot be told: this kernel does not say how large the window is, as Linux does since 5.4.")
	v.addSending(f)
	return f
}

// largestWindow that 16 bits and the agreed shift can say (RFC 7323), in bytes.
func largestWindow(options, shift uint8) float64 {
	if options&bulk.OptWindowScale == 0 {
		return 65535
	}
	return float64(int(65535) << min(shift, 14))
}

// unread: what arrived waits for this host's application.
func unread(v *view) *diagnose.Finding {
	share := v.unreadShare()
	if share <= 0.5 {
		return nil
	}
	f := v.found(diagnose.SlowReceiver, sure(true, share > 0.7),
		"look at what this program does with the data (disk, CPU, a slower hop of its own); no TCP setting makes it faster",
		"What arrives waits for the program on this host, which reads only %v: the buffer is full, and the sender has to wait.", v.goodput)
	v.addReceiving(f)
	return f
}

// unreadShare is how much of what this host can hold is waiting for its
// application: 0 for one that keeps up, towards 1 for one that does not.
func (v *view) unreadShare() float64 {
	waiting := v.median(func(s *bulk.Sample) float64 { return float64(s.Unread) })
	return ratio(waiting, waiting+v.median(offered))
}

// offered is the window that this host last told the peer. Kernels before 6.2 do
// not say, then it is what the buffer has room for. The kernel counts on even
// where the header has no room to say so much.
func offered(s *bulk.Sample) float64 {
	window := float64(s.TCP.RcvWnd)
	if s.TCP.Length < lengthWithRcvWnd {
		window = max(0, float64(s.Mem.RecvBuf)*diagnose.ReceiverShare-float64(s.Unread))
	}
	return min(window, largestWindow(s.TCP.Options, s.TCP.RcvWScale))
}

// lengthWithRcvWnd is that of a struct tcp_info which has tcpi_rcv_wnd (Linux
// 6.2).
const lengthWithRcvWnd = 236

// receiveBuffer: the window of this host is used up on every round trip, its
// application keeps up, and the buffer does not grow any more. Without
// timestamps the kernel measures the round trip by the window itself, and the
// one always fits the other.
func receiveBuffer(v *view) *diagnose.Finding {
	last := v.last()
	window := v.median(offered)
	used := float64(v.goodput.BytesIn(v.rtt))
	if last.TCP.Length < lengthWithRcvWnd || last.TCP.Options&bulk.OptTimestamps == 0 || last.TCP.RcvRTT == 0 ||
		window <= 0 || used < 0.8*window || v.growth(offered) > 1.05 {
		return nil
	}
	if most := largestWindow(last.TCP.Options, last.TCP.RcvWScale); window >= most {
		f := v.found(diagnose.WindowScale, sure(last.TCP.Options&bulk.OptWindowScale == 0),
			"check net.ipv4.tcp_window_scaling on both ends, then firewalls on the path",
			"All of this host's window is used on a round trip of %s, and %v is the largest that it can say: no window scale was agreed, or one that is too small.", unit.Milliseconds(v.rtt), size(most))
		v.addReceiving(f)
		return f
	}
	full := v.bounds.receive > 0 && float64(last.Mem.RecvBuf) >= 0.9*float64(v.bounds.receive)
	f := v.found(diagnose.ReceiverBuffer, sure(full),
		"raise the third value of net.ipv4.tcp_rmem on this host",
		"This host offers a window of %v, and all of it is used on a round trip of %s. Its buffer of %v has reached the maximum (the third value of net.ipv4.tcp_rmem).",
		size(window), unit.Milliseconds(v.rtt), unit.Size(last.Mem.RecvBuf))
	if !full {
		f.Says = fmt.Sprintf("This host offers a window of %v, and all of it is used on a round trip of %s. Its buffer of %v is below the maximum, yet does not grow: the program may have fixed it (SO_RCVBUF).",
			size(window), unit.Milliseconds(v.rtt), unit.Size(last.Mem.RecvBuf))
		f.Action = "let the program leave SO_RCVBUF alone; watch the sender to be sure"
	}
	f.Add("receive_buffer", float64(last.Mem.RecvBuf), "B", "receive buffer: %v", unit.Size(last.Mem.RecvBuf))
	f.Add("used", used, "B", "%v arrive in a round trip", size(used))
	v.addReceiving(f)
	return v.predict(f, 2*v.goodput, "with a receive buffer twice as large, as far as the path carries it")
}
