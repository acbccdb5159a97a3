package main

import (
	"fmt"
	"net"
	"runtime"
	"strings"

	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/remote"
	"github.com/fullbore/fullbore/web/task"
)

// fromFlag has a command run on another host: both ends of the path may be elsewhere.
type fromFlag struct {
	From string `placeholder:"ssh://HOST" help:"Run this command on that host, over ssh, instead of this one: the path is from there to the far end. Files that it reads or writes are there; the run is not kept."`
}

// checkFrom says what is wrong with it, beside a scenario or none.
func (f *fromFlag) checkFrom(lab string) error {
	switch {
	case f.From == "":
		return nil
	case !overSSH(f.From):
		return fmt.Errorf("--from %s: use ssh://[USER@]HOST[:PORT]", f.From)
	case lab != "":
		return fmt.Errorf("--from and --lab were given: a scenario's hosts are on this machine")
	}
	_, err := remote.Parse(f.From)
	return err
}

// runThere runs this very command line there, with the far end that it names: one over ssh is started from here,
// so that the two hosts need not know each other's users.
func (f *fromFlag) runThere(app *app, far, token string) error {
	address := far
	if overSSH(far) {
		s, err := app.start(far)
		if err != nil {
			return err
		}
		_, port, err := net.SplitHostPort(s.serves.Listen)
		if err != nil {
			return fmt.Errorf("%s says that it listens on %q", s.host, s.serves.Listen)
		}
		host := s.remote.Address
		if host == "" {
			host = s.host
		}
		address, token = net.JoinHostPort(host, port), s.serves.Token
	}
	to, err := remote.Parse(f.From)
	if err != nil {
		return usageError("--from: %w", err)
	}
	o := remote.Options{
		Program: remote.Beside(remote.System{OS: runtime.GOOS, Arch: runtime.GOARCH}, "fullbore"),
		Args:    there(app.args, far, address),
		Env:     []string{task.EndsWithStdin + "=1", record.Variable + "=" + record.Nowhere},
		Watch:   func(text string) { _, _ = fmt.Fprintln(app.stderr, "..", text) },
		Stderr:  app.stderr,
	}
	if token != "" {
		o.Secret = [2]string{"FULLBORE_TOKEN", token}
	}
	r, err := remote.Start(app.ctx, to, o)
	if err != nil {
		return err
	}
	defer r.Close()
	code, err := r.Copy(app.ctx, app.stdout)
	if err != nil {
		return err
	}
	if code != exitDone {
		return exitCode(code)
	}
	return nil
}

// there is the command line for the other host: without --from, and without a token, which goes another way.
func there(args []string, far, address string) []string {
	var all []string
	for i := 0; i < len(args); i++ {
		flag, _, joined := strings.Cut(args[i], "=")
		switch {
		case flag == "--from" || flag == "--token":
			if !joined {
				i++
			}
		case args[i] == far:
			all = append(all, address)
		default:
			all = append(all, args[i])
		}
	}
	return all
}
