package format

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/host"
)

// The tasks of both plays, with nothing of a plan in them. They use only modules
// that are part of ansible-core: ansible.posix.sysctl is not.
var (
	//go:embed read.yml
	readTask string // both begin with it
	//go:embed tasks.yml
	tasks string
	//go:embed tasks-undo.yml
	undoTasks string
)

// ansible is a play.
var ansible = register(Format{
	Name:  "ansible",
	About: "an Ansible play",

	Manager: "ansible", Remedy: "put the values into what it manages (--format ansible writes a play)",

	For: func(h *host.Facts) bool { // its modules need Python there
		return isUnix(h) && (h.OS != "solaris" || major(h.Version) >= 11)
	},
	Write: of(func(s *sheet) ([]File, error) {
		return []File{hashComments.text("fullbore.yml", s.play(false,
			"Run with: ansible-playbook -i INVENTORY fullbore.yml; with --check it only says what would change.",
			"Sizes are only ever raised: what is larger already stays. Old values are written down on the host, in /var/lib/fullbore/ansible.json."))}, nil
	}),
	Undo: of(func(s *sheet) ([]File, error) {
		return []File{hashComments.text("fullbore-undo.yml", s.play(true,
			"Run with: ansible-playbook -i INVENTORY fullbore-undo.yml; puts back what fullbore.yml has set, where it is still so."))}, nil
	}),
})

// play writes a play: the settings as variables, then the tasks.
func (s *sheet) play(undo bool, how ...string) string {
	s = s.split(func(one *setting) string {
		if !one.live() && one.keeper(s.host).file == "" {
			return one.byHand(one.To)
		}
		return ""
	})
	w := &page{comments: hashComments}
	s.intro(w, how...)
	if !undo {
		s.leftOut(w)
	}
	w.line("- name: Settings for bulk transfers, planned by fullbore")
	w.line("  hosts: ", s.pattern())
	w.line("  become: true")
	w.line("  gather_facts: false")
	w.line("  vars:")
	w.line("    fullbore_dir: /var/lib/fullbore")
	s.playSettings(w)
	s.playFiles(w)
	w.WriteString(readTask)
	if undo {
		w.WriteString(undoTasks)
	} else {
		w.WriteString(tasks)
	}
	return w.String()
}

// pattern is the inventory's name of the host, if the plan's can be one. A plan is
// for one host, so that there is none that it falls back on.
func (s *sheet) pattern() string {
	name := s.host.Name
	if name == "" || len(name) > maxInstance || !isSafe(name) || strings.ContainsAny(name, "/:") || strings.HasPrefix(name, "-") || name == "all" || name == "ungrouped" {
		return `"{{ fullbore_host }}" # no inventory has the plan's name of it: say which with -e fullbore_host=NAME`
	}
	return ansibleText(name)
}

// playSettings writes the settings. Each has commands of its own, so that the
// tasks are the same for every system.
func (s *sheet) playSettings(w *page) {
	in := &page{comments: hashComments, indent: "      "}
	empty := true
	for i := range s.settings {
		one := &s.settings[i]
		k := one.keeper(s.host)
		one.about(in)
		if !one.live() {
			in.comment("It is set below, in " + k.file + ".")
			continue
		}
		empty = false
		if k.file == "" && k.command == "" {
			in.comment("It holds until the next boot; " + one.byHand(one.To) + ".")
		}
		in.line("      - name: ", ansibleText(one.Tunable))
		in.line("        value: ", ansibleText(one.To))
		in.line("        rising: ", ansibleBool(one.entry.Rising))
		in.line("        read: ", ansibleText(one.exactRead()))
		in.line("        live: ", ansibleText(one.inShell(one.entry.Live, "FULLBORE_VALUE", "FULLBORE_ON")))
		if k.command != "" {
			in.line("        keep: ", ansibleText(one.inShell(k.command, "FULLBORE_VALUE", "FULLBORE_ON")))
		}
	}
	if empty {
		w.line("    fullbore_settings: []")
	} else {
		w.line("    fullbore_settings:")
	}
	w.WriteString(in.String())
}

// playFiles writes the lines that are kept in files.
func (s *sheet) playFiles(w *page) {
	files := s.files()
	if len(files) == 0 {
		w.line("    fullbore_files: []")
		return
	}
	w.line("    fullbore_files:")
	for _, file := range files {
		w.line("      - path: ", file)
		w.line("        mark: ", ansibleText(commentsOf(file).mark))
		w.line("        lines:")
		for i := range s.settings {
			if one := &s.settings[i]; one.keeper(s.host).file == file {
				before, after, ok := strings.Cut(one.keeper(s.host).line, "{value}")
				if !ok {
					w.line("          - text: ", ansibleText(one.inWords(before, one.To)))
					continue
				}
				w.line("          - name: ", ansibleText(one.Tunable))
				w.line("            value: ", ansibleText(one.To))
				w.line("            before: ", ansibleText(one.inWords(before, one.To)))
				w.line("            after: ", ansibleText(one.inWords(after, one.To)))
			}
		}
	}
}

// ansibleText writes a text as YAML of a playbook (PyYAML's YAML 1.1), with
// Ansible's own tag that keeps it from being taken for a template.
func ansibleText(text string) string {
	if text != "" && isSafe(text) && !slices.Contains(yamlWords, strings.ToLower(text)) && strings.Trim(text, "0123456789.:-_") != "" {
		return text
	}
	return "!unsafe '" + strings.ReplaceAll(text, "'", "''") + "'"
}

// yamlWords are texts that YAML 1.1 takes for something else.
var yamlWords = []string{"yes", "no", "on", "off", "true", "false", "null", "y", "n", "~"}

func ansibleBool(b bool) string {
	if b {
		return "true"
	}
	return "false"
}
