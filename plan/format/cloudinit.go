package format

import "strings"

// cloudInit is user data for cloud-init.
var cloudInit = register(Format{
	Name:  "cloud-init",
	About: "user data for cloud-init",

	Manager: "cloud-init", Remedy: "put the values into its user data (--format cloud-init)",

	For: isLinux,
	Write: of(func(s *sheet) ([]File, error) {
		return []File{cloudComments.text("user-data.yaml", s.userData("fullbore-settings.sh",
			"Give it to a new instance as its user data. It is carried out once, at the instance's first boot, by a script that it leaves there; the script's options undo it.",
			s.script(scriptKind{
				how:   []string{"Sizes are only ever raised: what is larger already stays. With --undo it puts back what is still as it set it."},
				state: "script", keeps: true,
			})))}, nil
	}),
	Undo: of(func(s *sheet) ([]File, error) {
		return []File{cloudComments.text("user-data-undo.yaml", s.userData("fullbore-undo.sh",
			"User data is carried out once: on an instance that is there already, run fullbore-settings.sh --undo, or copy the script out of this file.",
			s.script(scriptKind{
				how:   []string{"Puts back what fullbore-settings.sh has set, where it is still so."},
				state: "script", keeps: true, undo: true,
			})))}, nil
	}),
})

// cloudComments are those of YAML, except the line by which cloud-init knows what
// it is given.
var cloudComments = &comments{mark: "#", are: func(line string) bool {
	return strings.HasPrefix(line, "#") && line != "#cloud-config" && !strings.HasPrefix(line, "#!")
}}

// userData is a file that has a script written and run.
func (s *sheet) userData(name, how, script string) string {
	w := &page{comments: cloudComments}
	w.line("#cloud-config")
	s.intro(w, how)
	w.line("write_files:")
	w.line("  - path: /usr/local/sbin/", name)
	w.line("    owner: root:root")
	w.line("    permissions: '0755'")
	w.line("    content: |")
	for line := range strings.Lines(script) {
		if line != "\n" {
			w.WriteString("      ")
		}
		w.WriteString(line)
	}
	w.line("runcmd:")
	w.line("  - [/bin/sh, /usr/local/sbin/", name, "]")
	return w.String()
}
