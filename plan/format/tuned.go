package format

import (
	"slices"
	"strings"
)

// tuned is a profile of TuneD.
var tuned = register(Format{
	Name:  "tuned",
	About: "a profile of TuneD",

	Manager: "tuned", Remedy: "write the plan as a profile of its own (--format tuned), so that TuneD sets it",

	For: isLinux,
	Write: of(func(s *sheet) ([]File, error) {
		s = s.split(notTuned)
		w := &page{comments: hashComments}
		s.intro(w, "Install as /etc/tuned/fullbore/tuned.conf; use with: tuned-adm profile fullbore",
			"TuneD puts back what it found when the profile changes. It sets what it says: triplets that have been raised since the plan was made, it lowers.")
		s.leftOut(w)
		w.blank()
		w.line("[main]")
		w.line("summary=Settings for bulk transfers, planned by fullbore")
		if former := s.profile(); former != "" {
			w.comment("The profile that was in use.")
			w.line("include=", former)
		}
		for _, section := range tunedSections(s) {
			w.blank()
			w.line("[", section.name, "]")
			for _, line := range section.head {
				w.line(line)
			}
			for _, option := range section.options {
				for _, one := range option.settings {
					one.aboutNamed(w)
				}
				w.line(option.name, "=", strings.Join(option.values, " "))
			}
		}
		return []File{hashComments.text("fullbore/tuned.conf", w.String())}, nil
	}),
	Undo: of(func(s *sheet) ([]File, error) {
		s.settings, s.left = s.split(notTuned).settings, nil
		w := s.commands("As root: sh undo-tuned.sh goes back to the profile that was in use; TuneD puts back the values itself.")
		w.line("if tuned-adm active | grep -q ': fullbore$'; then")
		if former := s.profile(); former != "" {
			w.line("\ttuned-adm profile ", former)
		} else {
			w.line("\ttuned-adm off")
		}
		w.line("fi")
		w.line("rm -f /etc/tuned/fullbore/tuned.conf")
		w.line("if [ -d /etc/tuned/fullbore ]; then rmdir /etc/tuned/fullbore; fi")
		return []File{hashComments.program("undo-tuned.sh", w.String())}, nil
	}),
})

// profile is TuneD's in use, "" if it is not known.
func (s *sheet) profile() string {
	for _, m := range s.host.Managers {
		name, ok := strings.CutPrefix(m.Sets, "profile ")
		if ok && strings.EqualFold(m.Name, "tuned") && name != "" && len(name) <= maxInstance && name != "fullbore" && isSafe(name) && !strings.ContainsAny(name[:1], "-.") && !strings.Contains(name, "/") {
			return name
		}
	}
	return ""
}

// notTuned says why a setting is nothing that TuneD's plugins set.
func notTuned(one *setting) string {
	if !isSafe(one.instance) || strings.Contains(one.instance, "/") {
		return "TuneD would read its name as something else"
	}
	if plugin, _, _ := one.inTuned(); plugin == "" {
		return "TuneD has no plugin for it; " + one.elsewhere()
	}
	return ""
}

// tunedNet are the options of the net plugin (tuned/plugins/plugin_net.py), and
// what stands before the value.
var tunedNet = map[string][2]string{
	"link.mtu":                  {"mtu"},
	"link.txqueuelen":           {"txqueuelen"},
	"link.ring.rx":              {"ring", "rx "},
	"link.ring.tx":              {"ring", "tx "},
	"link.channels.combined":    {"channels", "combined "},
	"link.coalesce.rx-usecs":    {"coalesce", "rx-usecs "},
	"link.coalesce.adaptive-rx": {"coalesce", "adaptive-rx "},
	"link.pause.autoneg":        {"pause", "autoneg "},
	"link.pause.rx":             {"pause", "rx "},
	"link.pause.tx":             {"pause", "tx "},
}

// tunedSection is the part of a profile that one instance of a plugin carries
// out. A device belongs to one instance only, so that all of its options have to
// be in one section, and each of them there once.
type tunedSection struct {
	name    string
	head    []string
	options []tunedOption
}

type tunedOption struct {
	name     string
	values   []string
	settings []setting
}

// tunedSections gathers the settings by plugin and device.
func tunedSections(s *sheet) []tunedSection {
	var sections []tunedSection
	for _, one := range s.settings {
		plugin, option, value := one.inTuned()
		section := tunedSection{name: plugin}
		if plugin == "net" {
			section.name = "net_" + one.instance
			section.head = []string{"type=net", "devices=" + one.instance}
		}
		at := slices.IndexFunc(sections, func(t tunedSection) bool { return t.name == section.name })
		if at < 0 {
			at = len(sections)
			sections = append(sections, section)
		}
		to := &sections[at]
		o := slices.IndexFunc(to.options, func(t tunedOption) bool { return t.name == option })
		if o < 0 {
			o = len(to.options)
			to.options = append(to.options, tunedOption{name: option})
		}
		to.options[o].values = append(to.options[o].values, value)
		to.options[o].settings = append(to.options[o].settings, one)
	}
	return sections
}

// inTuned is the plugin that sets a tunable, and how; no plugin: there is none.
func (s *setting) inTuned() (plugin, option, value string) {
	name := s.entry.Name
	value = s.To
	if strings.Contains(s.entry.Live, "{on}") {
		value = onOff(value)
	}
	if option, ok := tunedNet[name]; ok {
		return "net", option[0], option[1] + value
	}
	switch feature, offload := strings.CutPrefix(name, "link.offload."); {
	case offload:
		return "net", "features", feature + " " + value
	case name == "cpu.governor":
		return "cpu", "governor", value
	case name == "link.rps_cpus", name == "link.rps_flow_cnt":
		return "sysfs", "/sys/class/net/" + s.instance + "/queues/rx-*/" + strings.TrimPrefix(name, "link."), value
	case s.entry.Way == "sysctl":
		if s.entry.Rising && !strings.Contains(value, " ") {
			value = ">" + value // only where that is more
		}
		return "sysctl", name, value
	}
	return "", "", ""
}
