package format

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/plan"
)

// advised are the examples' changes, as they are advised.
func advised(e example) Advice { return Advise(e.host, settled(e.plan, e.host.Name)) }

// TestAdvice: every system's changes are advised in its own way, and each is
// either a command or told in words.
func TestAdvice(t *testing.T) {
	for _, e := range examples() {
		a := advised(e)
		golden.Check(t, "advice/"+e.name+".txt", strings.Join(a.Commands, "\n")+"\n\n"+strings.Join(a.ByHand, "\n")+"\n")
		if got, want := len(a.Commands)+len(a.ByHand), len(settled(e.plan, e.host.Name)); got != want {
			t.Errorf("%s: %d commands and sentences for %d changes", e.name, got, want)
		}
		for _, line := range append(a.Commands, a.ByHand...) {
			if strings.ContainsAny(line, "\n\r") || strings.Contains(line, "{value}") || strings.Contains(line, "{instance}") {
				t.Errorf("%s: %q is not one finished line", e.name, line)
			}
		}
	}
	if a := Advise(nil, []plan.Change{change("net.ipv4.tcp_sack", "0", "1")}); len(a.Commands)+len(a.ByHand) > 0 {
		t.Errorf("a host of which nothing is known is advised: %+v", a)
	}
}

// TestAdviceShellcheck: what Unix hosts are told to run is clean shell.
func TestAdviceShellcheck(t *testing.T) {
	shellcheck, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed")
	}
	var script strings.Builder
	for _, e := range examples() {
		if isUnix(e.host) {
			fmt.Fprintln(&script, strings.Join(advised(e).Commands, "\n"))
		}
	}
	fmt.Fprintln(&script, RaiseUnseen("net.ipv4.tcp_rmem", 6<<20))
	check := exec.CommandContext(t.Context(), shellcheck, "-s", "sh", "-e", "SC2046", "-") // ip route takes the shown route's words one by one
	check.Stdin = strings.NewReader(script.String())
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%.2000s", err, out)
	}
}

// TestAdvicePowerShell: what Windows hosts are told to run can be parsed by
// PowerShell's grammar, and a hostile name changes nothing of what it does.
func TestAdvicePowerShell(t *testing.T) {
	python := filepath.Join("..", "..", "bin", "python", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Skipf("needs the PowerShell grammar: .ci/install fetches it: %v", err)
	}
	dir := t.TempDir()
	args := []string{filepath.Join("testdata", "powershell.py")}
	for i, adapter := range []string{"Ethernet 2", `ab'; Remove-Item C; '$(Remove-Item C) #`, "a’b"} {
		e := made("windows", "windows", "10.0.20348",
			change("link.mtu@"+adapter, "1500", "9000"), change("ReceiveBuffers@"+adapter, "512", "2048"), change("autotuninglevel", "restricted", "normal"),
			change("smb.EnableMultiChannel", "0", "1"))
		if i > 1 { // text that is not ASCII is put together, so that its tree is another
			e.plan.Steps = e.plan.Steps[:2]
		}
		path := filepath.Join(dir, fmt.Sprint(i, ".ps1"))
		if err := os.WriteFile(path, []byte(strings.Join(advised(e).Commands, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	out, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput()
	trees := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(trees) != 3 {
		t.Fatalf("%v: %s", err, out)
	}
	for _, tree := range trees {
		if !strings.HasPrefix(tree, "(program") {
			t.Error(tree)
		}
	}
	if trees[0] != trees[1] {
		t.Errorf("a hostile name changes what the commands do:\n%s\n%s", trees[0], trees[1])
	}
}

// TestAdviceHostile: names that no system has, and values that the catalogue
// refuses, are in no command.
func TestAdviceHostile(t *testing.T) {
	for _, c := range []plan.Change{
		change("link.mtu@-s", "1500", "9000"), change("link.mtu@../x", "1500", "9000"), change("link.mtu@a\nreboot", "1500", "9000"),
		change("link.mtu", "1500", "9000"), change("net.ipv4.tcp_sack", "0", "1; reboot"), change("net.ipv4.tcp_sack@x", "0", "1"), change("x\nreboot", "0", "1"),
		change("net.ipv4.tcp_congestion_control", "cubic", "bbr'"),
	} {
		a := Advise(&host.Facts{OS: "linux", Version: "6.18"}, []plan.Change{c})
		if len(a.Commands) != 0 || len(a.ByHand) != 1 || strings.Contains(a.ByHand[0], "\n") {
			t.Errorf("%+q = %q: %+v", c.Tunable, c.To, a)
		}
	}
	old := &host.Facts{OS: "windows", Version: "5.2"}
	if a := Advise(old, []plan.Change{change("TcpWindowSize.interface@a%PATH%b", "17520", "8388608")}); len(a.Commands) != 0 || len(a.ByHand) != 1 {
		t.Errorf("cmd would expand a name: %+v", a)
	}
}

// TestRaiseUnseen: the maximum is raised where it is lower, and otherwise all is
// left as it is, whatever awk there is (TestIntegrationAdvice does it for real).
func TestRaiseUnseen(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	bin := t.TempDir()
	// In place of sysctl, as many values and awks are tried: it prints what it is asked for, or would set.
	prints := "#!/bin/sh\nif [ \"$1\" = -n ]; then printf '%s\\n' \"$NOW\"; else printf '%s\\n' \"$2\"; fi\n"
	if err := os.WriteFile(filepath.Join(bin, "sysctl"), []byte(prints), 0o755); err != nil {
		t.Fatal(err)
	}
	awks := 0
	for _, awk := range []string{"mawk", "gawk", "original-awk"} {
		file, err := exec.LookPath(awk)
		if err != nil {
			continue
		}
		awks++
		_ = os.Remove(filepath.Join(bin, "awk"))
		if err := os.Symlink(file, filepath.Join(bin, "awk")); err != nil {
			t.Fatal(err)
		}
		for now, want := range map[string]string{
			"4096\t131072\t6291456":   "net.ipv4.tcp_rmem=4096 131072 2147483647",
			"4096 131072 2147483646":  "net.ipv4.tcp_rmem=4096 131072 2147483647",
			"4096 131072 2147483647":  "net.ipv4.tcp_rmem=4096 131072 2147483647",
			"8192 262144 4294967296":  "net.ipv4.tcp_rmem=8192 262144 4294967296",
			"8192\t262144\t900000000": "net.ipv4.tcp_rmem=8192 262144 2147483647",
		} {
			run := exec.CommandContext(t.Context(), sh, "-c", RaiseUnseen("net.ipv4.tcp_rmem", 2147483647))
			run.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "NOW=" + now}
			out, err := run.CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != want {
				t.Errorf("%s, %q: %q, %v, want %q", awk, now, got, err, want)
			}
		}
	}
	if awks == 0 {
		t.Skip("there is no awk")
	}
}
