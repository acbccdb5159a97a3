package diagnose

import (
	"fmt"
	"slices"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/unit"
)

// applicationWindow: the program lets only so much be in flight and waits for
// the far end's word to send more. TCP's clocks show such a flow as busy all the
// time and never held back; its signs are that nothing waits to be sent, that
// the far end's program keeps answering, and that goodput times round trip is a
// window that such programs have.
func applicationWindow(v *view) *Finding {
	w := v.programWindow()
	if !w.limits || v.queued(v.rtt) {
		return nil // a larger window would only lengthen the queue
	}
	who, why, action := v.who(), "", "TCP tuning will not help; a larger window in the program or several transfers will"
	about := unit.Size(w.average)
	switch {
	case w.known:
		who, why, action, about = w.app.name, ": "+w.app.why, w.app.action, w.size
	case w.size > 0:
		why = fmt.Sprintf(" (%v is a window of %s)", w.size, w.app.name)
	}
	sends := len(v.senders) > 0
	f := &Finding{
		Cause:      ApplicationWindow,
		Confidence: confidence(count(w.known && sends, w.size > 0, w.size > 0 && sends && v.busy > 0.9), 0),
		Says: fmt.Sprintf("%s lets only about %v be in flight at a time%s. It then waits for the far end's program to take it; over a round trip of %s that makes %v, whatever TCP would allow.",
			who, about, why, unit.Milliseconds(v.rtt), v.goodput),
		Action: who + ": " + action,
		Gain:   1,
		weight: 1,
	}
	f.addGoodput(v)
	f.addRTT(v)
	f.Add("implied_window", w.average, "B", "goodput times round trip: %v in flight", unit.Size(w.average))
	if w.size > 0 {
		f.Add("application_window", float64(w.size), "B", "a window of %s: %v, which makes %v a round trip", w.app.name, w.size, WindowRate(w.size, v.rtt))
	}
	f.Add("answers", v.answers(), "per RTT", "the far end's program answers %.3g times a round trip", v.answers())
	if sends {
		open := unit.Size(v.senders[0].median(room))
		f.Add("tcp_windows", float64(open), "B", "TCP itself would let %v be in flight, as its windows stand: %v", open, WindowRate(open, v.rtt))
	}
	return v.predictTwice(f, "of two transfers at a time, since each has a window of its own; more add up until the path is full, and how much it carries cannot be seen from a running flow")
}

// programWindow is the window of the program's own that explains what is on its
// way.
type programWindow struct {
	limits  bool         // such a window holds the flow back
	app     *application // nil: a program of which nothing is known
	size    unit.Size    // of its window; 0: not known
	known   bool         // the program is known to have that window
	average float64      // bytes in flight
}

func (v *view) programWindow() (w programWindow) {
	sends := len(v.senders) > 0
	if v.Passing == nil || sends && v.unfilled() < 0.5 || v.answers() < 0.5 {
		return w
	}
	w.average = float64(v.goodput.BytesIn(v.rtt))
	peak := 0.0
	if sends {
		peak = v.senders[0].quantile(0.95, func(s *bulk.Sample) float64 { return float64(sent(s)) })
	}
	w.app = v.Passing.recognise()
	if w.app != nil {
		w.size, w.known = fits(w.app.windows, w.average, peak)
	}
	if !w.known {
		// At the receiving end only the application's name is a sign. And one
		// whose windows are known and do not fit is held back by something else.
		if !sends || w.app != nil && w.app.fixed || v.idle() {
			return programWindow{}
		}
		if w.app == nil {
			w.app, w.size = wellKnown(w.average, peak)
		}
	}
	w.limits = true
	return w
}

// answers is how many packets with data the other end sent back in a round trip:
// an application's window needs them to move on.
func (v *view) answers() float64 {
	all, counter := v.senders, func(t *bulk.TCPInfo) uint32 { return t.DataSegsIn }
	if len(all) == 0 {
		all, counter = v.receivers, func(t *bulk.TCPInfo) uint32 { return t.DataSegsOut }
	}
	return sum(all, func(f flow) float64 {
		return ratio(float64(bulk.Grown(f.Measured(), counter))*v.rtt.Seconds(), f.elapsed().Seconds())
	})
}

// Kernel is the Program of a flow that belongs to the kernel itself, such as that
// of an NFS mount.
const Kernel = "kernel"

// who names the program for a sentence.
func (v *view) who() string {
	switch v.Passing.Program {
	case "":
		return "the program"
	case Kernel:
		return "the kernel"
	}
	return printable.Line(v.Passing.Program)
}

// application is a kind of program that lets only so much be in flight, however
// large TCP's own windows are.
type application struct {
	name     string
	programs []string
	ports    []uint16 // of the serving end
	windows  []unit.Size
	fixed    bool   // it has no other windows than these
	anyone   bool   // programs of any name may speak it, at any port
	why      string // completes "...: "
	action   string // completes "NAME: ..."
}

// applications are those that are known for it. The figures are from the
// programs' sources and manuals, as they were in 2026.
var applications = []application{
	{
		// OpenSSH, channels.h: CHAN_SES_WINDOW_DEFAULT and CHAN_TCP_WINDOW_DEFAULT
		// are 64 packets of 32 KiB; ssh.c halves them for a session with a
		// terminal. The end that receives decides, HPN-SSH's lets it grow with
		// TCP's (README of hpn-ssh).
		name: "ssh", programs: []string{"ssh", "sshd", "sshd-session", "scp", "sftp", "sftp-server"}, ports: []uint16{22},
		windows: []unit.Size{unit.MiB, 2 * unit.MiB}, fixed: true,
		why:    "a channel of OpenSSH has a window of 2 MiB, 1 MiB with a terminal",
		action: "TCP tuning will not help; HPN-SSH or several transfers will",
	},
	{
		// RFC 9113, section 6.9.2: 65,535 bytes unless an end asks for more. nginx:
		// http2_body_preread_size 64k. Go's net/http: 1 MiB a stream and a
		// connection in the server, 4 MiB a stream in the client.
		name: "HTTP/2", programs: []string{"nginx", "caddy", "envoy", "haproxy", "h2o", "traefik"}, ports: []uint16{443, 8443},
		windows: []unit.Size{64 * unit.KiB, unit.MiB, 4 * unit.MiB}, anyone: true,
		why:    "a stream of HTTP/2 has a window of 64 KiB unless the receiving program asks for more (1 MiB and 4 MiB are those of Go's servers and clients)",
		action: "TCP tuning will not help; a larger HTTP/2 window at the receiving program, HTTP/1.1 or several connections will",
	},
	{
		// Credits of 64 KiB each (MS-SMB2, section 3.3.1.2): Windows grants up to
		// 512, ONTAP 128 before 9.13 (NetApp knowledge base).
		name: "SMB", programs: []string{"smbd"}, ports: []uint16{445},
		windows: []unit.Size{8 * unit.MiB, 32 * unit.MiB},
		why:     "SMB lets as many requests wait as the server grants credits of 64 KiB",
		action:  "TCP tuning will not help; more credits at the server, SMB multichannel or several transfers will",
	},
	{
		// Linux, mm/backing-dev: read-ahead of 128 KiB since 5.4, before that 15
		// times rsize; rsize and wsize are 1 MiB at most.
		name: "NFS", programs: []string{"nfsd"}, ports: []uint16{2049},
		windows: []unit.Size{128 * unit.KiB, 256 * unit.KiB, unit.MiB},
		why:     "an NFS client reads only so far ahead (128 KiB by default)",
		action:  "TCP tuning will not help; a larger read-ahead (read_ahead_kb of the mount) or the mount option nconnect will",
	},
}

// recognise gives what is known of the program that a flow belongs to, by its
// name or else by a port; nil for most.
func (p *Passing) recognise() *application {
	for i := range applications {
		if slices.Contains(applications[i].programs, p.Program) {
			return &applications[i]
		}
	}
	for i := range applications {
		if a := &applications[i]; slices.Contains(a.ports, p.Remote) || slices.Contains(a.ports, p.Local) {
			return a
		}
	}
	return nil
}

// fits gives the window of an application that explains what is in flight: on
// average, which is less where the window opens late, or at its peak.
func fits(windows []unit.Size, average, peak float64) (unit.Size, bool) {
	for _, w := range windows {
		if a := average / float64(w); a > 0.75 && a < 1.15 {
			return w, true
		}
	}
	for _, w := range windows {
		if p := peak / float64(w); p > 0.85 && p < 1.1 && average > 0.4*float64(w) {
			return w, true
		}
	}
	return 0, false
}

// wellKnown names an application that has such a window, for a flow whose program
// and ports prove nothing.
func wellKnown(average, peak float64) (a *application, w unit.Size) {
	for i := range applications {
		if w, ok := fits(applications[i].windows, average, peak); ok && applications[i].anyone {
			return &applications[i], w
		}
	}
	return nil, 0
}
