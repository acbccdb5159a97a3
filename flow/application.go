package flow

import (
	"slices"

	"github.com/fullbore/fullbore/unit"
)

// application is a kind of program that lets only so much be on its way, however
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
// name or else by the port; nil for most.
func recognise(f *Flow) *application {
	for i := range applications {
		if slices.Contains(applications[i].programs, f.Process) {
			return &applications[i]
		}
	}
	for i := range applications {
		a := &applications[i]
		if slices.Contains(a.ports, f.Remote.Port()) || slices.Contains(a.ports, f.Local.Port()) {
			return a
		}
	}
	return nil
}

// near gives the window of an application that explains what is on its way: on
// average, which is less where the window opens late, or at its peak.
func near(windows []unit.Size, average, peak float64) (unit.Size, bool) {
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
// and ports tell nothing.
func wellKnown(average, peak float64) (a *application, w unit.Size) {
	for i := range applications {
		if w, ok := near(applications[i].windows, average, peak); ok && applications[i].anyone {
			return &applications[i], w
		}
	}
	return nil, 0
}
