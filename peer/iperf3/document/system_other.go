//go:build !unix

package document

import (
	"os"
	"runtime"
)

// systemInfo is this host, as far as the runtime knows it.
func systemInfo() string {
	name, _ := os.Hostname()
	return runtime.GOOS + " " + name + " " + runtime.GOARCH
}
