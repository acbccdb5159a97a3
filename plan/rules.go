package plan

import (
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
)

// rules are what one operating system's stack needs to fill a path: a file each.
type rules struct {
	// scale has the host offer a window scale.
	scale func(*maker, *host.Facts) []Change
	// receive and send are the ideas for the host that receives, and for the
	// one that sends.
	receive, send []func(*maker, *host.Facts) *idea
	// says is why there may be nothing to plan for a cause, and what helps, where
	// that is not as in unplannable.
	says map[string]string
}

// systems gives the rules by operating system, as in host.Facts.OS.
var systems = map[string]rules{
	"linux":   linuxRules,
	"solaris": solarisRules,
	"illumos": solarisRules,
	"macos":   macosRules,
	"freebsd": freebsdRules,
	"windows": windowsRules,
}

// ideas are what both hosts' rules come to for this path.
func (m *maker) think() {
	m.consider(windowScale(m))
	if h := m.Receiver; h != nil {
		for _, think := range systems[h.OS].receive {
			m.consider(think(m, h))
		}
	}
	if h := m.Sender; h != nil {
		for _, think := range systems[h.OS].send {
			m.consider(think(m, h))
		}
	}
}

// consider adds an idea; one that changes nothing is left out when steps are settled.
func (m *maker) consider(i *idea) {
	if i != nil {
		i.Changes = m.arrange(i.Changes)
		m.ideas = append(m.ideas, *i)
	}
}

// windowScale has both ends offer one: without, no window is above 64 KB. It is
// one idea, since neither end's offer helps alone.
func windowScale(m *maker) *idea {
	i := idea{answers: []string{diagnose.WindowScale}, limit: m.windowRate(65535), after: unlimited}
	i.Idea = "let both ends agree on windows above 64 KB"
	for _, h := range []*host.Facts{m.Sender, m.Receiver} {
		if h == nil || systems[h.OS].scale == nil {
			continue
		}
		if changes := systems[h.OS].scale(m, h); len(changes) > 0 {
			i.Changes = append(i.Changes, changes...)
			i.Risk = risk(h, changes[0].Tunable)
		}
	}
	return &i
}

const whyScale = "without a window scale a path carries at most 64 KB a round trip (RFC 7323)"
