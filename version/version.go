// Package version knows which build of fullbore this is.
package version

import "runtime/debug"

// Release is set by the linker for released binaries
// (-ldflags "-X github.com/fullbore/fullbore/version.Release=v1.2.3").
var Release = ""

// String is the release, or what the Go toolchain recorded about the build.
func String() string {
	if Release != "" {
		return Release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "development build"
	}
	return info.Main.Version
}
