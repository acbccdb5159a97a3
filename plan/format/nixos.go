package format

import (
	"strconv"
	"strings"
)

// nixOS is a module of NixOS.
var nixOS = register(Format{
	Name:  "nixos",
	About: "a module of NixOS",

	Manager: "nix", Remedy: "put the values into the system's configuration (--format nixos)",

	For: isLinux,
	Write: of(func(s *sheet) ([]File, error) {
		s = s.split(s.notInFile(sysctlFile))
		w := &page{comments: hashComments}
		s.intro(w, "Add it to imports in /etc/nixos/configuration.nix, then: nixos-rebuild switch",
			"It sets what it says: where a value has been raised since the plan was made, take its line out.")
		w.line("{ ... }:")
		w.line("{")
		inner := &page{comments: hashComments, indent: "  "}
		for _, one := range s.settings {
			inner.blank()
			one.about(inner)
			inner.line("  boot.kernel.sysctl.", nixString(one.entry.Name), " = ", nixValue(one.To), ";")
		}
		s.leftOut(inner)
		w.WriteString(strings.TrimPrefix(inner.String(), "\n"))
		w.line("}")
		return []File{hashComments.text("fullbore.nix", w.String())}, nil
	}),
	Undo: of(func(s *sheet) ([]File, error) {
		s = s.split(s.notInFile(sysctlFile))
		return []File{hashComments.program("undo-nixos.sh", s.script(scriptKind{
			how:   []string{"As root, after taking fullbore.nix out of imports and nixos-rebuild switch: sh undo-nixos.sh puts back what is still as the module set it."},
			state: "nixos", undo: true, plan: true,
		}))}, nil
	}),
})

// nixValue is a number where the value is one: NixOS takes nothing else for
// net.core.rmem_max and wmem_max (nixos/modules/config/sysctl.nix).
func nixValue(value string) string {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= 0 && strconv.FormatInt(n, 10) == value {
		return value
	}
	return nixString(value)
}

// nixString quotes a text in the language of Nix, in which a dollar and a brace
// begin an expression (Nix manual, String literals).
func nixString(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`).Replace(text) + `"`
}
