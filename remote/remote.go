// Package remote has a program run on another host for as long as it is wanted, over the system's own ssh:
// its configuration, its agents, keys and jump hosts. The program is sent there, checked, run from the first
// folder where programs run, and leaves nothing behind. No data flows through ssh.
package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Target is whom to call, as ssh(1) has it.
type Target struct {
	Destination string // [user@]host, or a name of ssh_config(5)
	Port        string // "": as ssh's configuration has it
}

// Scheme is how a target begins.
const Scheme = "ssh"

// Parse reads ssh://[user@]host[:port].
func Parse(text string) (Target, error) {
	bad := func(why string) (Target, error) {
		return Target{}, fmt.Errorf("%q: %s; use ssh://HOST, ssh://USER@HOST or ssh://USER@HOST:PORT", text, why)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return bad("it is no address")
	case u.Scheme != Scheme:
		return bad("it does not begin with ssh://")
	case u.Hostname() == "":
		return bad("no host was given")
	case u.Path != "" && u.Path != "/", u.RawQuery != "", u.Fragment != "":
		return bad("there is something behind the host")
	}
	t := Target{Destination: u.Hostname(), Port: u.Port()}
	if u.User != nil {
		if _, given := u.User.Password(); given {
			return bad("a password does not belong on a command line: ssh asks for it")
		}
		t.Destination = u.User.Username() + "@" + t.Destination
	}
	// What begins so would be an option of ssh's (CVE-2017-1000117).
	if strings.HasPrefix(t.Destination, "-") || strings.HasPrefix(u.Hostname(), "-") {
		return bad("a host does not begin with -")
	}
	return t, nil
}

// Host is the name of the host alone, as a person gave it.
func (t Target) Host() string {
	return t.Destination[strings.LastIndexByte(t.Destination, '@')+1:]
}

// System is what kind of system a host has, as Go names them.
type System struct{ OS, Arch string }

func (s System) String() string { return s.OS + "/" + s.Arch }

// Options are what to run there.
type Options struct {
	Program func(System) (file string, err error) // for such a system
	Args    []string                              // of the program; no secrets, as other users of that host see them
	Env     []string                              // NAME=VALUE, the same
	Secret  [2]string                             // a name and a value of its environment that nobody else sees; "": none
	Stderr  io.Writer                             // gets what the program, and ssh, write there; nil: only the last line is kept, for errors
	Watch   func(text string)                     // told what is under way; may be nil
}

// Remote is a program that runs on another host, until Close.
type Remote struct {
	System  System
	Address string // where ssh reached the host; "" if it does not say

	target Target
	shell  *shell
	folder string
}

// ErrUnreachable says that ssh did not get there.
var ErrUnreachable = errors.New("ssh does not get there")

// Start runs a program. Its errors say what ssh or the other host said.
func Start(ctx context.Context, t Target, o Options) (r *Remote, err error) {
	watch := o.Watch
	if watch == nil {
		watch = func(string) {}
	}
	watch("call " + t.Destination + " by ssh")
	s, err := open(t, o.Stderr)
	if err != nil {
		return nil, err
	}
	r = &Remote{target: t, shell: s}
	defer func() {
		if err != nil {
			s.end()
			r = nil
		}
	}()
	if err := r.probe(ctx); err != nil {
		return r, err
	}
	file, err := o.Program(r.System)
	if err != nil {
		return r, err
	}
	if err := r.settle(ctx); err != nil {
		return r, err
	}
	if err := r.send(ctx, file, watch); err != nil {
		return r, err
	}
	watch("start it on " + t.Host())
	if err := r.shell.say(runScript(o.Args, o.Env, o.Secret[0])); err != nil {
		return r, err
	}
	if o.Secret[0] != "" {
		if _, err := r.shell.marked(ctx, "secret", answerWithin); err != nil {
			return r, err
		}
		if err := r.shell.say(o.Secret[1] + "\n"); err != nil {
			return r, err
		}
	}
	_, err = r.shell.marked(ctx, "started", answerWithin)
	return r, err
}

// Line is the next line that the program writes to its standard output.
func (r *Remote) Line(ctx context.Context) (string, error) { return r.shell.line(ctx, answerWithin) }

// Copy passes on what the program writes to its standard output, to its end, and gives its exit code. When
// the context ends, the program is asked to, and what it still writes is passed on too.
func (r *Remote) Copy(ctx context.Context, to io.Writer) (code int, err error) {
	asked := context.AfterFunc(ctx, func() { _ = r.shell.in.Close() })
	defer asked()
	held := "" // the last line: its end may be of the answer behind it
	for {
		line, err := r.shell.out.ReadString('\n')
		if said, ok := strings.CutPrefix(line, r.shell.mark+" exit "); ok {
			if held = strings.TrimSuffix(held, "\n"); held != "" {
				_, _ = io.WriteString(to, held) // whoever reads it may be gone
			}
			_, err := fmt.Sscan(said, &code)
			return code, err
		}
		_, _ = io.WriteString(to, held)
		held = line
		if err != nil {
			_, _ = io.WriteString(to, held)
			return 0, r.shell.gone()
		}
	}
}

// Close ends the program, as the end of its standard input does, and what it was sent in is removed there.
func (r *Remote) Close() { r.shell.end() }

// How long things may take there.
const (
	callWithin   = 3 * time.Minute // with somebody who types a password
	answerWithin = 30 * time.Second
	endWithin    = 10 * time.Second
)

// probe asks what kind of system it is. All that login files print before is passed over.
func (r *Remote) probe(ctx context.Context) error {
	if err := r.shell.say(probeScript); err != nil {
		return err
	}
	said, err := r.shell.marked(ctx, "system", callWithin)
	if err != nil {
		return err
	}
	fields := strings.Split(said, "|")
	if len(fields) != 4 {
		return fmt.Errorf("%s says of its system %q", r.target.Destination, said)
	}
	if r.System, err = systemOf(fields[0], fields[1], fields[2]); err != nil {
		return fmt.Errorf("%s: %w", r.target.Destination, err)
	}
	if connection := strings.Fields(fields[3]); len(connection) == 4 { // SSH_CONNECTION, sshd(8)
		r.Address = connection[2]
	}
	return nil
}

// systems are what uname(1) says, and Go's names for it.
var (
	systems  = map[string]string{"Linux": "linux", "Darwin": "darwin", "FreeBSD": "freebsd", "SunOS": "solaris"}
	machines = map[string]string{"x86_64": "amd64", "amd64": "amd64", "i86pc": "amd64", "aarch64": "arm64", "arm64": "arm64", "riscv64": "riscv64", "ppc64le": "ppc64le", "s390x": "s390x", "armv7l": "arm", "armv6l": "arm", "i686": "386", "i386": "386"}
)

func systemOf(kernel, machine, system string) (System, error) {
	s := System{systems[kernel], machines[machine]}
	if system == "illumos" {
		s.OS = "illumos"
	}
	if s.OS == "" || s.Arch == "" {
		return s, fmt.Errorf("there is no fullbore for %s on %s", kernel, machine)
	}
	return s, nil
}

// settle finds a folder there in which programs run.
func (r *Remote) settle(ctx context.Context) error {
	if err := r.shell.say(folderScript); err != nil {
		return err
	}
	var not []string
	for {
		said, err := r.shell.marked(ctx, "", answerWithin)
		if err != nil {
			return err
		}
		word, rest, _ := strings.Cut(said, " ")
		switch word {
		case "folder":
			r.folder = rest
			return nil
		case "noexec":
			not = append(not, rest+" (nothing runs there: noexec)")
		case "cannot":
			not = append(not, rest+" (nothing can be written there)")
		case "nowhere":
			return fmt.Errorf("no folder on %s lets this program be written and run: %s", r.target.Destination, strings.Join(not, ", "))
		default:
			return fmt.Errorf("%s answers %q", r.target.Destination, said)
		}
	}
}

// send brings the program there, and makes sure that it is the same and runs.
func (r *Remote) send(ctx context.Context, file string, watch func(string)) error {
	p, err := readProgram(file)
	if err != nil {
		return err
	}
	defer p.close()
	watch(fmt.Sprintf("send %s to %s: %.1f MB", p.name, r.target.Host(), float64(p.size)/1e6))
	if err := r.shell.say(sendScript(p.size)); err != nil {
		return err
	}
	if _, err := r.shell.marked(ctx, "send", answerWithin); err != nil {
		return err
	}
	if err := r.shell.pour(ctx, &counted{from: p.packed, size: p.size, every: tellEvery, watch: watch}); err != nil {
		return err
	}
	sum, err := r.shell.marked(ctx, "sum", answerWithin)
	if err != nil {
		return err
	}
	if sum != p.sum {
		return fmt.Errorf("what arrived on %s is not what was sent: its SHA-256 is %q there, %s here", r.target.Destination, sum, p.sum)
	}
	runs, err := r.shell.marked(ctx, "", answerWithin)
	if err != nil {
		return err
	}
	if says, failed := strings.CutPrefix(runs, "fails"); failed {
		return fmt.Errorf("%s does not run in %s on %s (%v): %s", p.name, r.folder, r.target.Destination, r.System, strings.TrimSpace(says))
	}
	return nil
}

// Beside finds the program for a system: the one that runs, if it is for the same one, or else a file beside
// it whose name ends in -OS-ARCH.
func Beside(own System, names ...string) func(System) (string, error) {
	return func(s System) (string, error) {
		self, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("find this program: %w", err)
		}
		dir := filepath.Dir(self)
		var looked []string
		for _, name := range names {
			file := filepath.Join(dir, name+"-"+s.OS+"-"+s.Arch)
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				return file, nil
			}
			looked = append(looked, file)
		}
		if s == own {
			return self, nil
		}
		return "", fmt.Errorf("that host runs %v, this one %v: put the program for it beside this one, as %s", s, own, strings.Join(looked, " or "))
	}
}
