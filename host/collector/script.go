package collector

import (
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/fullbore/fullbore/tunable"
)

// Script gives the one command to run, as root where that shows more, on a host
// of an operating system ("solaris") and version ("10"; "": any), whose output
// Read understands. It is for a POSIX shell, on Solaris for the shell of Solaris
// 8 too; for Windows it is for PowerShell 2 and later, before Windows Vista for
// cmd.exe. It needs only what the system comes with, changes nothing, and
// a command in it that fails does not end it. It is one compound command of many
// lines, to be pasted, or piped into "ssh HOST sh": no line is longer than the
// 255 bytes that a terminal of Solaris takes.
func Script(os, version string) (string, error) {
	s, err := tunable.Of(os)
	if err != nil {
		return "", fmt.Errorf("collect facts: system %.40q is not known: there are %s", os, strings.Join(tunable.Systems(), ", "))
	}
	return script(s, version)
}

// script is Script for the tunables of a catalogue.
func script(s *tunable.System, version string) (text string, err error) {
	os, w := s.ID, wanted{system: s, version: version}
	switch {
	case os == "linux":
		text, err = fill(linuxScript, map[string]any{"Sysctls": w.paths()})
	case os == "solaris", os == "illumos":
		text, err = fill(solarisScript, map[string]any{
			"System": os, "Ndd": w.by("ndd"), "Ipadm": w.by("ipadm"), "EtcSystem": len(w.by("etc-system")) > 0, "Variables": w.variables(),
		})
	case os == "macos":
		text, err = fill(macosScript, map[string]any{"Sysctls": w.dotted()})
	case os == "freebsd":
		text, err = fill(freebsdScript, map[string]any{"Sysctls": w.dotted()})
	case os == "windows" && version != "" && tunable.Older(version, "6"):
		text, err = fill(windowsOldScript, map[string]any{"Reg": !tunable.Older(version, "5.1")}) // 2000 comes without reg.exe
	case os == "windows":
		text, err = fill(windowsScript, map[string]any{"Registry": w.by("registry"), "AFD": w.by("afd")})
	default:
		return "", fmt.Errorf("collect facts of %s: no command is known for it", os)
	}
	if err != nil {
		return "", fmt.Errorf("collect facts of %s: %w", os, err)
	}
	return text, nil
}

// fill fills a script's template in.
func fill(text string, values map[string]any) (string, error) {
	t, err := template.New("script").Funcs(template.FuncMap{"wrap": wrap, "quoted": quoted}).Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, values); err != nil {
		return "", err
	}
	return b.String(), nil
}

// quoted writes names as PowerShell's strings, which are of the catalogue: without
// quotes in them.
func quoted(names []string) string { return "'" + strings.Join(names, "', '") + "'" }

// wrap writes words with blanks and escaped ends of lines between them.
func wrap(words []string) string {
	var b strings.Builder
	column := 0
	for i, w := range words {
		switch {
		case i == 0:
		case column+len(w) > 96:
			b.WriteString(" \\\n")
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(w)
		column += len(w)
	}
	return b.String()
}

// wanted are the tunables that a script asks for.
type wanted struct {
	system  *tunable.System
	version string // "": of any version
}

// all are the host's tunables that the version has. Where that is not known,
// those which no version has any more are asked for too.
func (w wanted) all(keep func(tunable.Tunable) bool) []string {
	var names []string
	for _, t := range w.system.Tunables {
		if !t.Scope.Instanced() && (w.version == "" || t.Applies(w.version)) && keep(t) {
			names = append(names, t.Name)
		}
	}
	return names
}

// by are those that are read in a way of the catalogue.
func (w wanted) by(way string) []string {
	return w.all(func(t tunable.Tunable) bool { return t.Way == way })
}

// dotted are sysctls.
func (w wanted) dotted() []string {
	return w.all(func(t tunable.Tunable) bool { return strings.Contains(t.Read, "sysctl ") })
}

// paths are sysctls as files under /proc/sys. One that has no effect in a
// version is asked for all the same: host.Collect reports it too.
func (w wanted) paths() []string {
	w.version = ""
	names := w.dotted()
	for i, name := range names {
		names[i] = strings.ReplaceAll(name, ".", "/")
	}
	return names
}

// variables are those of /etc/system without their module, as mdb knows them.
func (w wanted) variables() []string {
	var names []string
	for _, name := range w.by("etc-system") {
		if _, variable, ok := strings.Cut(name, ":"); ok && !slices.Contains(names, variable) {
			names = append(names, variable)
		}
	}
	return names
}
