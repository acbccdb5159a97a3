package collector

import (
	_ "embed"

	"github.com/fullbore/fullbore/host"
)

//go:embed freebsd.sh
var freebsdScript string

// freebsdSections are those of freebsd.sh.
var freebsdSections = map[string]parser{
	"name":         text(func(f *host.Facts, s string) { f.Name = s }),
	"version":      text(func(f *host.Facts, s string) { f.Version = s }),
	"arch":         text(func(f *host.Facts, s string) { f.Arch = architecture(s) }),
	"distribution": text(func(f *host.Facts, s string) { f.Distribution = s }),
	"sysctl":       bsdSysctls,
	"ifconfig":     interfaces,
	"sysctl.conf":  sysctlFiles,
}
