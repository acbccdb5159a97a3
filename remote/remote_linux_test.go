package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/internal/sandbox"
	"github.com/fullbore/fullbore/internal/sshd"
)

// TestMain: the test's program is also the one that is sent.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !sandbox.Entering() {
		switch os.Args[1] {
		case "version":
			fmt.Println("a program")
			os.Exit(0)
		case "says": // with and without a last line's end, and its exit code
			fmt.Fprintln(os.Stderr, "to stderr:", os.Getenv("OPEN"), os.Getenv("SECRET"))
			fmt.Print(strings.Join(os.Args[3:], "\n"))
			code, _ := strconv.Atoi(os.Args[2])
			os.Exit(code)
		case "serve":
			self, _ := os.Executable()
			fmt.Printf("%s %q\n", self, os.Args[2:])
			_, _ = io.Copy(io.Discard, os.Stdin) // as long as it is wanted
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// self is the program to send: this one.
func self(System) (string, error) { return "/proc/self/exe", nil }

// calls starts the program on a target, and gives the folder that it runs in.
func calls(t *testing.T, target string, args ...string) (r *Remote, folder string) {
	t.Helper()
	to, err := Parse(target)
	must(t, err)
	r, err = Start(t.Context(), to, Options{Program: self, Args: append([]string{"serve"}, args...)})
	if err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	t.Cleanup(r.Close)
	line := ""
	for !strings.Contains(line, "/fullbore ") {
		if line, err = r.Line(t.Context()); err != nil {
			t.Fatalf("%s: %v", target, err)
		}
	}
	program, said, _ := strings.Cut(line, " ")
	if want := fmt.Sprintf("%q", args); said != want {
		t.Errorf("%s: the program was started with %s, want %s", target, said, want)
	}
	return r, filepath.Dir(program)
}

// gone waits until a folder is no more.
func gone(t *testing.T, folder string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
			return
		}
	}
	t.Errorf("%s is left", folder)
}

// TestLoginShells: whatever a user's shell is, and whatever its login files print, the program is sent,
// checked and run, gets its arguments as they are, and leaves nothing.
func TestLoginShells(t *testing.T) {
	t.Parallel()
	if !sandbox.Run(t) {
		return
	}
	s := sshd.Start(t, Variable)
	noise := "echo welcome; echo fullbore-0000 system Linux; printf %s no-end-of-line\n"
	s.Write("bash/.bashrc", noise)
	s.Write("tcsh/.tcshrc", "echo welcome\n")
	s.Write("fish/.config/fish/config.fish", "echo welcome\n")
	s.Run("chown", "-R", "--reference="+s.In("fish"), s.In("fish/.config"))
	for name := range sshd.Shells {
		r, folder := calls(t, "ssh://"+name+"@near", "--flag", "it's $HOME; `x` \"y\" \\z")
		if r.System != (System{runtime.GOOS, runtime.GOARCH}) || r.Address != "127.0.0.1" {
			t.Errorf("%s: %+v", name, r)
		}
		if filepath.Dir(folder) != s.In(name) {
			t.Errorf("%s: it runs in %s", name, folder)
		}
		r.Close()
		gone(t, folder)
	}
}

// TestWhereItRuns: a home whose programs do not run is passed over, and said if there is nothing else; the
// folder for sessions goes first.
func TestWhereItRuns(t *testing.T) {
	t.Parallel()
	if !sandbox.Run(t) {
		return
	}
	s := sshd.Start(t, Variable)
	s.Mount(s.In("bash"), unix.MS_NOEXEC, "mode=777")
	s.Mount("/tmp", 0, "mode=1777")
	r, folder := calls(t, "ssh://bash@near")
	if filepath.Dir(folder) != "/tmp" {
		t.Errorf("it runs in %s", folder)
	}
	r.Close()
	gone(t, folder)
	must(t, os.Mkdir(s.In("session"), 0o777))
	must(t, os.Chmod(s.In("session"), 0o777))
	must(t, os.Setenv("XDG_RUNTIME_DIR", s.In("session")))
	must(t, os.Setenv(Variable, os.Getenv(Variable)+" -o SendEnv=XDG_RUNTIME_DIR"))
	r, folder = calls(t, "ssh://dash@near")
	if filepath.Dir(folder) != s.In("session") {
		t.Errorf("it runs in %s", folder)
	}
	r.Close()
	gone(t, folder)
	must(t, os.Unsetenv("XDG_RUNTIME_DIR"))

	for _, place := range []string{"/tmp", "/var/tmp"} {
		_ = os.MkdirAll(place, 0o777)
		s.Mount(place, unix.MS_NOEXEC, "mode=1777")
	}
	_, err := Start(t.Context(), Target{Destination: "bash@near"}, Options{Program: self, Args: []string{"serve"}})
	for _, want := range []string{"no folder on bash@near", s.In("bash") + " (nothing runs there: noexec)", "/tmp (nothing runs there", "/var/tmp (nothing runs there"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, place := range []string{s.In("bash"), "/tmp", "/var/tmp"} {
		if left, _ := filepath.Glob(filepath.Join(place, "fullbore.*")); len(left) > 0 {
			t.Errorf("%v are left", left)
		}
	}
}

// TestJumpHost: ssh's own configuration says how to get there.
func TestJumpHost(t *testing.T) {
	t.Parallel()
	if !sandbox.Run(t) {
		return
	}
	sshd.Start(t, Variable)
	r, folder := calls(t, "ssh://fish@behind")
	if r.Address != "127.0.0.2" {
		t.Errorf("it was reached at %s", r.Address)
	}
	r.Close()
	gone(t, folder)
}

// TestCopy: what a program writes comes here as it is, with its exit code; it has its settings, and a
// secret that is not in the list of processes.
func TestCopy(t *testing.T) {
	t.Parallel()
	if !sandbox.Run(t) {
		return
	}
	sshd.Start(t, Variable)
	for name := range sshd.Shells {
		for _, says := range []string{"", "one", "one\n", "\n", "one\n\ntwo\n\n", "one\ntwo"} {
			var errs strings.Builder
			r, err := Start(t.Context(), Target{Destination: name + "@near"}, Options{
				Program: self, Args: []string{"says", "3", says}, Env: []string{"OPEN=it's open"}, Secret: [2]string{"SECRET", "it's `not`"}, Stderr: &errs,
			})
			must(t, err)
			var out strings.Builder
			code, err := r.Copy(t.Context(), &out)
			r.Close()
			if err != nil || code != 3 || out.String() != says || !strings.Contains(errs.String(), "to stderr: it's open it's `not`") {
				t.Errorf("%s: %q came as %q, exit code %d, %v; %s", name, says, out.String(), code, err, errs.String())
			}
		}
	}
}

// TestItEndsWithUs: when this end is killed the program ends and is removed, as when ssh is.
func TestItEndsWithUs(t *testing.T) {
	t.Parallel()
	if !sandbox.Run(t) {
		return
	}
	sshd.Start(t, Variable)
	for name := range sshd.Shells {
		r, folder := calls(t, "ssh://"+name+"@near")
		must(t, r.shell.command.Process.Kill())
		gone(t, folder)
	}
}

// TestErrorsThere: what goes wrong is said with what ssh, or the other host, said of it; and nothing is left.
func TestErrorsThere(t *testing.T) {
	t.Parallel()
	if !sandbox.Run(t) {
		return
	}
	s := sshd.Start(t, Variable)
	start := func(destination string, program func(System) (string, error)) error {
		_, err := Start(t.Context(), Target{Destination: destination}, Options{Program: program, Args: []string{"serve"}})
		return err
	}
	for destination, want := range map[string]string{
		"nobody@near":         "Permission denied",
		"bash@127.0.0.9":      "Connection refused",
		"bash@no.such.host.x": "Could not resolve hostname",
	} {
		if err := start(destination, self); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", destination, err, want)
		}
	}
	if err := start("bash@near", func(System) (string, error) { return "", errors.New("none for it") }); err == nil || err.Error() != "none for it" {
		t.Error(err)
	}
	s.Write("odd", "\x7fELF of no system")
	if err := start("bash@near", func(System) (string, error) { return s.In("odd"), nil }); err == nil || !strings.Contains(err.Error(), "odd does not run in "+s.In("bash")) {
		t.Error(err)
	}
	// The disk is full: what is left of the program must not be taken for commands.
	s.Mount(s.In("dash"), 0, "mode=777,size=256k")
	if err := start("dash@near", self); err == nil {
		t.Error("it runs on a full disk")
	} else {
		t.Log(err)
	}
	for _, name := range []string{"bash", "dash"} {
		if left, _ := filepath.Glob(filepath.Join(s.In(name), "fullbore.*")); len(left) > 0 {
			t.Errorf("%v are left", left)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if _, err := Start(ctx, Target{Destination: "bash@near"}, Options{Program: self}); !errors.Is(err, enough) {
		t.Error(err)
	}
	must(t, os.Setenv(Variable, s.In("nothing")))
	if err := start("bash@near", self); err == nil || !strings.Contains(err.Error(), "needs the program") {
		t.Error(err)
	}
}
