package format

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
)

// windowsEngine are the functions that the script is made of.
//
//go:embed settings.ps1
var windowsEngine string

// powerShell is a script for Windows PowerShell 4.0 and later, which Windows 8.1
// and Server 2012 R2 come with, and Windows 7 and Server 2008 R2 can have.
var powerShell = register(Format{
	Name:  "powershell",
	About: "a PowerShell script that sets, keeps, and undoes",
	For:   func(h *host.Facts) bool { return h.OS == "windows" && !before(h.Version, 6, 1) },
	Write: of(func(s *sheet) ([]File, error) {
		return []File{asciiComments.text("fullbore.ps1", s.powerShell(false,
			"As administrator: powershell -ExecutionPolicy Bypass -File fullbore.ps1 sets them, to outlive a boot; with -Undo it puts back what is still as it set it.",
			"Sizes are only ever raised: what is larger already stays. Old values are written down in %ProgramFiles%\\fullbore\\powershell.json."))}, nil
	}),
	Undo: of(func(s *sheet) ([]File, error) {
		return []File{asciiComments.text("fullbore-undo.ps1", s.powerShell(true,
			"As administrator: powershell -ExecutionPolicy Bypass -File fullbore-undo.ps1 puts back what fullbore.ps1 has set, where it is still so."))}, nil
	}),
})

// powerShell writes the script. It is all ASCII, since Windows PowerShell reads
// anything else by the code page of the host.
func (s *sheet) powerShell(undo bool, how ...string) string {
	s = s.split(func(one *setting) string {
		if one.psSet() == "" {
			return one.elsewhere()
		}
		return ""
	})
	w := &page{comments: asciiComments}
	w.line("#Requires -Version 4.0")
	w.line("#Requires -RunAsAdministrator")
	s.intro(w, how...)
	if undo {
		w.line("$Undo = $true")
	} else {
		s.leftOut(w)
		w.line("param([switch]$Undo)")
	}
	w.line("$settings = @(")
	in := &page{comments: asciiComments, indent: "    "}
	for i := range s.settings {
		one := &s.settings[i]
		one.about(in)
		in.line("    @{")
		in.line("        Name = ", psString(one.Tunable))
		in.line("        Value = ", psString(one.To))
		in.line("        Former = ", psString(one.From))
		in.line("        Rising = ", map[bool]string{true: "$true", false: "$false"}[one.entry.Rising])
		in.line("        First = @(", psStrings(one.after(s.settings)), ")")
		in.line("        Read = { ", one.psRead(), " }")
		in.line("        Set = { param($value) ", one.psSet(), " }")
		in.line("        Unset = { ", one.psUnset(), " }")
		in.line("    }")
	}
	w.WriteString(in.String())
	w.line(")")
	w.WriteString(windowsEngine)
	return w.String()
}

// psReads are expressions for values that the catalogue's commands show in a
// table, in the language of the host. The cmdlets came with Windows 8 and Server
// 2012; before, nothing is read, and the plan's old value counts.
var psReads = map[string]string{
	"autotuninglevel":            "(Get-NetTCPSetting -SettingName Internet).AutoTuningLevelLocal",
	"heuristics":                 "(Get-NetTCPSetting -SettingName Internet).ScalingHeuristics",
	"ecncapability":              "(Get-NetTCPSetting -SettingName Internet).EcnCapability",
	"timestamps":                 "(Get-NetTCPSetting -SettingName Internet).Timestamps",
	"CongestionProvider":         "(Get-NetTCPSetting -SettingName Internet).CongestionProvider",
	"InitialCongestionWindowMss": "(Get-NetTCPSetting -SettingName Internet).InitialCongestionWindowMss",
	"rss":                        "(Get-NetOffloadGlobalSetting).ReceiveSideScaling",
	"rsc":                        "(Get-NetOffloadGlobalSetting).ReceiveSegmentCoalescing",
	"link.mtu":                   `(Get-NetIPInterface -InterfaceAlias "{instance}" -AddressFamily IPv4).NlMtu`,
}

// psRead is an expression for the present value.
func (s *setting) psRead() string {
	if read := psReads[s.entry.Name]; read != "" {
		return s.inPowerShell(read)
	}
	if key, name, ok := s.registry(); ok {
		return fmt.Sprintf("(Get-ItemProperty -LiteralPath %s).%s", psString(key), psString(name))
	}
	if read := s.entry.Read; strings.HasPrefix(read, "(") || strings.HasPrefix(read, "[int](") {
		return s.inPowerShell(read)
	}
	return "$null"
}

// psSet is a command that sets the value, to outlive a boot.
func (s *setting) psSet() string {
	if set := s.psRegistry("$value"); set != "" {
		return set
	}
	if s.entry.Persist == "" || s.entry.Live != "" && s.entry.Live != s.entry.Persist {
		if s.entry.Live == "" || s.entry.Persist == "" {
			return ""
		}
		return s.inPowerShell(s.entry.Live) + "; " + s.inPowerShell(s.entry.Persist)
	}
	return s.inPowerShell(s.entry.Persist)
}

// psRegistry is a command that sets a value of the registry; "": it is none.
func (s *setting) psRegistry(value string) string {
	key, name, ok := s.registry()
	if !ok {
		return ""
	}
	return fmt.Sprintf("Set-ItemProperty -LiteralPath %s -Name %s -Type DWord -Value %s", psString(key), psString(name), value)
}

// psUnset takes away a value that was not there before.
func (s *setting) psUnset() string {
	if key, name, ok := s.registry(); ok {
		return fmt.Sprintf("Remove-ItemProperty -LiteralPath %s -Name %s", psString(key), psString(name))
	}
	return s.inPowerShell(s.entry.Unset)
}

// registry is the key and the name of a value of the registry.
func (s *setting) registry() (key, name string, ok bool) {
	home := s.entry.Home
	if home.Kind != tunable.InRegistry {
		return "", "", false
	}
	return s.inWords(strings.Replace(home.File, `HKLM\`, `HKLM:\`, 1), ""), s.inWords(home.Line, ""), true
}

// psInstance is the place of an instance, with the quotes that the catalogue has
// around it for people.
var psInstance = regexp.MustCompile(`'\{instance\}'|"\{instance\}"|\{instance\}`)

// inPowerShell fills a template that is a command: {value} is the variable
// $value.
func (s *setting) inPowerShell(template string) string { return s.inPowerShellAs(template, "$value") }

// inPowerShellAs fills it with a value that the catalogue took, which needs no
// quotes.
func (s *setting) inPowerShellAs(template, value string) string {
	template = fill(template, func(placeholder string) string {
		switch placeholder {
		case "{value}":
			return value
		case "{instance}":
			return placeholder
		}
		return s.word(placeholder, s.To)
	})
	return psInstance.ReplaceAllLiteralString(template, psString(s.instance))
}

// psString quotes a text between single quotes, of which PowerShell knows five.
// What is not ASCII is added by its number.
func psString(text string) string {
	var out strings.Builder
	out.WriteString("'")
	for _, r := range text {
		switch {
		case r == '\'':
			out.WriteString("''")
		case r < ' ' || r > '~':
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&out, "' + [char]0x%04X + '", unit)
			}
		default:
			out.WriteRune(r)
		}
	}
	out.WriteString("'")
	if quoted := out.String(); strings.Contains(quoted, "' + [char]") {
		return "(" + quoted + ")"
	}
	return out.String()
}

func psStrings(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = psString(t)
	}
	return strings.Join(quoted, ", ")
}

// asciiComments are PowerShell's, in a file that is all ASCII. What the script
// requires is no comment (about_Requires).
var asciiComments = &comments{mark: "#", clean: ascii, are: func(line string) bool {
	return strings.HasPrefix(line, "#") && !strings.HasPrefix(strings.ToLower(line), "#requires")
}}

// ascii replaces what is not.
func ascii(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}
