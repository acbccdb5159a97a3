package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

// windowsRules: up to Windows Server 2003 static windows in the registry; since
// Vista the window tunes itself, and a plan only lifts what keeps it from that.
var windowsRules = rules{
	scale:   windowsScale,
	receive: []func(*maker, *host.Facts) *idea{windowsReceive, windowsHeuristics, windowsRSS, windowsNFS},
	send:    []func(*maker, *host.Facts) *idea{windowsSend, windowsNFS},
	says: elsewhere(map[string]string{
		diagnose.ReceiverBuffer: "Nothing can be planned for the receiver's window. What helps is autotuninglevel=normal there (netsh interface tcp show global; a group policy may set it), " +
			"an application that leaves SO_RCVBUF alone, which turns autotuning off, or several connections.",
		diagnose.SenderBuffer: "Nothing can be planned for the sender's buffer: since Windows Vista it follows the path by itself. " +
			"What helps is an application that leaves SO_SNDBUF alone, that sends in larger pieces or has several sends under way, or several connections.",
		diagnose.RandomLoss: "No setting removes loss that is not congestion. What helps is to find the link that loses (its error counters, cables, optics, radio); " +
			"until then several connections, or BBR2 where Windows has it (Get-NetTCPSetting).",
		diagnose.LinkErrors: "No setting of Windows repairs frames. What helps is another cable, optic, port or NIC: its counters show which (Get-NetAdapterStatistics, netstat -e).",
		diagnose.PacingCap: "The limit is one that somebody set: the application, or a QoS policy on the sender. " +
			"What helps is to raise it there (Get-NetQosPolicy shows it; SMB has limits of its own, Get-SmbBandwidthLimit).",
	}),
}

// levels are the window scales of autotuninglevel: the window is 65535 shifted by
// them (https://learn.microsoft.com/windows-server/networking/technologies/network-subsystem/net-sub-performance-tuning-nics).
var levels = map[string]int{"disabled": 0, "highlyrestricted": 2, "restricted": 4, "normal": 8, "experimental": 14}

const (
	autotuning = "autotuninglevel"
	windowSize = "TcpWindowSize"
	options    = "Tcp1323Opts"

	scaling = 1 // bit of Tcp1323Opts; the other one is timestamps
)

// inRegistry says whether a version of Windows has its receive window there.
func inRegistry(h *host.Facts) bool { return has(h, windowSize) }

// windowsScale has Windows up to 2003 offer a window scale. Timestamps stay as
// they are.
func windowsScale(m *maker, h *host.Facts) []Change {
	if !inRegistry(h) || h.Tunables[options] == "" {
		return nil
	}
	now := number(h.Tunables[options], 0)
	if now&scaling != 0 {
		return nil
	}
	return m.change(h, options, fmt.Sprint(now|scaling), whyScale)
}

func windowsReceive(m *maker, h *host.Facts) *idea {
	if m.need.bdp <= 0 {
		return nil
	}
	if asked := m.asks(true); asked > 0 {
		m.note("The application sets SO_RCVBUF to %v itself on %s, which turns autotuning off. It would do better to leave it alone.", asked, h.Name)
		return nil
	}
	if inRegistry(h) {
		return m.windowsStatic(h)
	}
	return m.windowsLevel(h)
}

// windowsStatic gives every connection the window that the path needs. An
// interface's own value comes before the global one.
func (m *maker) windowsStatic(h *host.Facts) *idea {
	need := m.static()
	buffer := m.within(h, windowSize, need)
	i := &idea{answers: []string{diagnose.ReceiverBuffer, diagnose.WindowScale}}
	i.Idea = fmt.Sprintf("give every connection a receive window that the path fits into: %v", buffer)
	i.limit = m.windowRate(windowsWindow(h))
	i.after = m.windowRate(buffer)
	i.Changes = m.change(h, windowSize, number64(buffer), m.whyStatic(buffer))
	for _, name := range instances(h, windowSize+".interface") {
		i.Changes = append(i.Changes, m.change(h, name, number64(min(m.within(h, name, need), buffer)), "an interface's own value comes before the global one")...)
	}
	if buffer > 65535 {
		i.Changes = append(windowsScale(m, h), i.Changes...)
	}
	i.Risk = risk(h, windowSize)
	return i
}

// windowsWindow is the largest window that Windows up to 2003 offers.
func windowsWindow(h *host.Facts) unit.Size {
	window := present(h, windowSize)
	for _, name := range instances(h, windowSize+".interface") {
		if own := present(h, name); own > 0 {
			window = min(window, own)
		}
	}
	if number(h.Tunables[options], 0)&scaling == 0 {
		window = min(window, 65535)
	}
	return window
}

// windowsLevel lets the window tune itself as far as the path needs: to normal,
// which is 16 MB, and above that only for a path that holds more.
func (m *maker) windowsLevel(h *host.Facts) *idea {
	level := strings.ToLower(h.Tunables[autotuning])
	scale, ok := levels[level]
	if !ok {
		return nil
	}
	want, why := "normal", m.holds()+"; with normal the window tunes itself, up to 16 MB"
	normal := unit.Size(65535) << levels[want]
	if m.need.bdp > normal {
		want, why = "experimental", fmt.Sprintf("%s, and normal ends at %v; experimental goes up to 1 GB", m.holds(), normal)
	}
	i := &idea{answers: []string{diagnose.ReceiverBuffer, diagnose.WindowScale}}
	i.limit = m.windowRate(unit.Size(65535) << scale)
	i.after = m.windowRate(unit.Size(65535) << levels[want])
	if scale >= levels[want] {
		return nil
	}
	i.Idea = "let the receive window tune itself"
	i.Risk = risk(h, autotuning)
	if want == "experimental" {
		i.Idea = "let the receive window tune itself beyond 16 MB"
		i.Risk = fmt.Sprintf("Microsoft calls it experimental: each connection may take up to 1 GB of memory for a window, and firewalls that do not know a window scale of 14 drop or stall connections. %d connections side by side fill the path without it.",
			1+int64(m.need.bdp/normal)*int64(m.Streams))
	}
	if h.Tunables["AutoTuningLevelEffective"] == "grouppolicy" {
		m.note("A group policy sets the receive window autotuning of %s, which is %s; it should be %s. A local setting has no effect, so change it in the policy.", h.Name, level, want)
		return nil
	}
	i.Changes = m.change(h, autotuning, want, why)
	m.aboutWindows(h, i)
	return i
}

// windowsHeuristics keeps Windows from lowering the window by itself.
func windowsHeuristics(m *maker, h *host.Facts) *idea {
	const name = "heuristics"
	if !has(h, name) || !strings.EqualFold(h.Tunables[name], "enabled") {
		return nil
	}
	i := &idea{answers: []string{diagnose.ReceiverBuffer, diagnose.WindowScale}, limit: unlimited, after: unlimited}
	i.Idea = "keep Windows from restricting the receive window by itself"
	i.Risk = risk(h, name)
	i.Changes = m.change(h, name, "disabled", "with heuristics on, Windows restricts the window on networks that it considers unsuitable, overriding what was set without saying so")
	return i
}

// windowsRSS spreads received packets over CPUs where that was turned off.
func windowsRSS(m *maker, h *host.Facts) *idea {
	const name = "rss"
	if h.Tunables["chimney"] == "enabled" {
		m.note("chimney is enabled on %s: it takes connections away from the autotuning of Windows, and was given up by Microsoft. Turn it off: netsh interface tcp set global chimney=disabled.", h.Name)
	}
	if !has(h, name) || !strings.EqualFold(h.Tunables[name], "disabled") {
		return nil
	}
	i := &idea{answers: []string{diagnose.ReceiverCPU}, limit: unlimited, after: unlimited}
	i.Idea = "spread what is received over several CPUs"
	i.Risk = risk(h, name)
	i.Changes = m.change(h, name, "enabled", "it is off, so one CPU handles all packets; it is on by default")
	return i
}

// windowsSend lets a program that sends in small calls keep the path full, in
// Windows up to 2003: AFD takes so much from it before it has to wait. One that
// sends large pieces, or several at once, is not bound by that, so how much it
// limits is not known. Since Vista it follows the path by itself.
func windowsSend(m *maker, h *host.Facts) *idea {
	const name = "DefaultSendWindow"
	if m.need.bdp <= 0 || !inRegistry(h) || m.asks(false) > 0 || h.Tunables[name] == "" {
		return nil
	}
	buffer := m.within(h, name, m.static())
	i := &idea{answers: []string{diagnose.SenderBuffer}, limit: unlimited, after: unlimited}
	i.Idea = fmt.Sprintf("let a program have %v under way before it waits", buffer)
	i.Changes = m.change(h, name, number64(buffer), m.whyStatic(buffer)+"; a program that sends in small calls has no more than this in flight")
	i.Risk = risk(h, name)
	return i
}

// windowsNFS has the client of NFS ask for more at a time, and says what SMB
// does by itself.
func windowsNFS(m *maker, h *host.Facts) *idea {
	if m.Workload != NFS {
		return nil
	}
	if has(h, "smb.EnableMultiChannel") {
		m.note("Where %s uses SMB in place of NFS: it opens several connections by itself on adapters with RSS (smb.EnableMultiChannel, smb.ConnectionCountPerRssNetworkInterface; Get-SmbMultichannelConnection shows them), and a bandwidth limit of SMB must not stand in its way (Get-SmbBandwidthLimit).", h.Name)
	}
	i := &idea{answers: answeredByNFS, limit: unlimited, after: unlimited}
	i.Idea = "let the client of NFS move more with each request"
	for _, name := range []string{"nfs.ReadBufferSize", "nfs.WriteBufferSize"} {
		if t, ok := tunable.Lookup(h.OS, name); ok && t.Applies(h.Version) && h.Tunables[name] != "" {
			i.Changes = append(i.Changes, m.change(h, name, fmt.Sprint(int64(largestRequest/unit.KiB)), "fewer, larger requests for the same data; the server takes what it supports")...)
			i.Risk = t.Risk
		}
	}
	return i
}

// aboutWindows notes where to look whether what is set holds, and that larger
// packets may help.
func (m *maker) aboutWindows(h *host.Facts, i *idea) {
	if len(i.Changes) == 0 {
		return
	}
	if managed := slices.ContainsFunc(h.Managers, func(o host.Manager) bool { return strings.Contains(strings.ToLower(o.Name), "policy") }); managed {
		m.note("Get-NetTCPSetting shows on %s whether the policy or the local setting holds (AutoTuningLevelEffective).", h.Name)
	}
	m.jumbo(h, "the adapter's JumboPacket, then netsh interface ipv4 set subinterface NAME mtu=9000; the adapter restarts")
}
