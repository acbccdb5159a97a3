//go:build !unix

package remote

import "os/exec"

func steady(args []string) *exec.Cmd { return exec.Command(args[0], args[1:]...) }
