package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/internal/sandbox"
	"github.com/fullbore/fullbore/internal/sshd"
	"github.com/fullbore/fullbore/remote"
)

// nothingLeft checks that a user's far end is gone, with the folder that it was in.
func nothingLeft(t *testing.T, s *sshd.Server, users ...string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var left []string
		for _, user := range users {
			found, _ := filepath.Glob(filepath.Join(s.In(user), "fullbore.*"))
			left = append(left, found...)
		}
		if len(left) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Errorf("%v are left", left)
			return
		}
	}
	if out, err := exec.Command("pgrep", "-f", "serve --any-port").Output(); err == nil {
		t.Errorf("still running: %s", out)
	}
}

// TestSSH: a far end that is named ssh://… is started for the command, and is gone after it, for verbs
// of every kind; nobody but the user needs to be told a token.
func TestSSH(t *testing.T) {
	t.Parallel()
	if !sandbox.Run(t) {
		return
	}
	s := sshd.Start(t, remote.Variable)
	out, stderr, code := fullbore(t, "test", "ssh://bash@near", "-t", "1", "-b", "20M", "--json")
	var r struct {
		End struct {
			Received struct {
				Goodput float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitDone || r.End.Received.Goodput < 10e6 {
		t.Errorf("exit code %d, %v: %s%s", code, err, out, stderr)
	}
	if !strings.Contains(stderr, ".. call bash@near by ssh") || !strings.Contains(stderr, " to near: ") {
		t.Errorf("what it does is not said: %s", stderr)
	}
	nothingLeft(t, s, "bash")

	hosts := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(hosts, []byte("one ssh://tcsh@near\ntwo ssh://fish@behind\nthree ssh://dash@near\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, stderr, code = fullbore(t, "fleet", "run", "--hosts", hosts, "--pattern", "incast", "--at", "two", "-t", "500ms", "-O", "0s", "--json")
	var of fleet.Result
	if err := json.Unmarshal([]byte(out), &of); err != nil || code != exitDone || len(of.Rounds) != 1 || of.Rounds[0].Together == nil {
		t.Errorf("exit code %d, %v: %s%s", code, err, out, stderr)
	}
	nothingLeft(t, s, "tcsh", "fish", "dash")
}

// TestFrom: both ends are elsewhere, and the command runs on one of them: what it prints and its exit code
// come here, the token of the other end is in nobody's list of processes, and nothing is left on either.
func TestFrom(t *testing.T) {
	t.Parallel()
	if !sandbox.Run(t) {
		return
	}
	s := sshd.Start(t, remote.Variable)
	out, stderr, code := fullbore(t, "test", "--from", "ssh://bash@near", "ssh://tcsh@behind", "-t", "1", "-b", "20M", "--json")
	var r struct {
		Start struct {
			To struct{ Host string } `json:"connecting_to"`
		} `json:"start"`
		End struct {
			Received struct {
				Goodput float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitDone || r.Start.To.Host != "127.0.0.2" || r.End.Received.Goodput < 10e6 {
		t.Errorf("exit code %d, %v: %s%s", code, err, out, stderr)
	}
	nothingLeft(t, s, "bash", "tcsh")
	if out, stderr, code = fullbore(t, "diagnose", "--from=ssh://fish@near", "127.0.0.9:1", "--quick"); code != exitFailed || !strings.Contains(stderr, "nothing listens on 127.0.0.9:1") {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
	nothingLeft(t, s, "fish")
	for want, args := range map[string][]string{
		"--from near: use ssh://":          {"test", "--from", "near", "far"},
		"--from and --lab were given":      {"tune", "--from", "ssh://near", "--lab", "clean-lan"},
		"a password does not belong":       {"test", "--from", "ssh://a:b@near", "far"},
		"name no far end and no scenario ": {"diagnose", "--from", "ssh://near", "--replay", "x"},
	} {
		if _, stderr, code := fullbore(t, args...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
	}
}

// TestSSHInterrupted: Ctrl-C, or kill, ends what runs on both hosts, and nothing is left there.
func TestSSHInterrupted(t *testing.T) {
	t.Parallel()
	if !sandbox.Run(t) {
		return
	}
	s := sshd.Start(t, remote.Variable)
	args := []string{"test", "--from", "ssh://bash@near", "ssh://tcsh@behind", "-t", "60", "-b", "1M"}
	for _, how := range []os.Signal{os.Interrupt, os.Kill} {
		command := exec.Command("/proc/self/exe", args...)
		command.Env = append(os.Environ(), asMain+"=1")
		out, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var errs strings.Builder
		command.Stderr = &errs
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it has begun
			t.Errorf("%v: %s", err, errs.String())
		}
		_ = command.Process.Signal(how)
		ended := make(chan struct{})
		go func() { _ = command.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Errorf("it goes on after %v", how)
			_ = command.Process.Kill()
		}
		nothingLeft(t, s, "bash", "tcsh")
	}
}

// TestThere: a command line goes to another host as it is, without its secret and with the far end's address.
func TestThere(t *testing.T) {
	got := there([]string{"tune", "--token", "fb1-x", "--from=ssh://a", "ssh://b", "-P", "2", "--token=fb1-y", "--from", "ssh://c"}, "ssh://b", "198.18.0.2:5201")
	if want := "tune 198.18.0.2:5201 -P 2"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %s", got, want)
	}
}

// TestSSHFails: what is wrong with the target, and a data port that is closed while ssh's is open, is said
// with what to do.
func TestSSHFails(t *testing.T) {
	t.Parallel()
	if !sandbox.Run(t) {
		return
	}
	s := sshd.Start(t, remote.Variable)
	for want, args := range map[string][]string{
		"a password does not belong on a command line":  {"diagnose", "ssh://bash:secret@near"},
		"write ssh's port behind the host":              {"test", "ssh://bash@near", "-p", "5201"},
		"data goes where ssh reaches the host":          {"test", "ssh://bash@near", "-4"},
		"ssh does not get there: bash@127.0.0.9: ssh: ": {"diagnose", "ssh://bash@127.0.0.9"},
	} {
		if _, stderr, code := fullbore(t, args...); code == exitDone || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
	}
	s.Run("ip", "rule", "add", "pref", "10", "table", "local")
	s.Run("ip", "rule", "del", "pref", "0")
	s.Run("ip", "rule", "add", "pref", "5", "ipproto", "6", "dport", "5201", "unreachable")
	_, stderr, code := fullbore(t, "diagnose", "ssh://bash@near")
	if code != exitFailed || !strings.Contains(stderr, "ssh gets to near, and data does not") || !strings.Contains(stderr, "ufw allow 5201") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	nothingLeft(t, s, "bash")
}
