//go:build unix

package remote

import "os/exec"

// steady is a command that Ctrl-C does not end: it reaches all programs of a terminal, and the program there
// is still wanted for putting things back. ssh leaves a signal alone that it finds ignored (client_loop in
// its clientloop.c), and still asks for passwords.
func steady(args []string) *exec.Cmd {
	return exec.Command("/bin/sh", append([]string{"-c", `trap "" INT HUP; exec "$@"`, "sh"}, args...)...)
}
