//go:build unix

package tunable

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What the programs print on Linux that the steps ask: recorded, shortened.
var prints = map[string]string{
	"ethtool -g": "Ring parameters for eth0:\nPre-set maximums:\nRX:\t\t4096\nRX Mini:\tn/a\nTX:\t\t4096\nCurrent hardware settings:\nRX:\t\t512\nRX Mini:\tn/a\nTX:\t\t256\n",
	"ethtool -l": "Channel parameters for eth0:\nPre-set maximums:\nRX:\t\tn/a\nCombined:\t8\nCurrent hardware settings:\nRX:\t\tn/a\nCombined:\t4\n",
	"ethtool -c": "Coalesce parameters for eth0:\nAdaptive RX: on  TX: off\nstats-block-usecs:\t0\nrx-usecs:\t16\nrx-frames:\t44\nrx-usecs-irq:\t0\n",
	"ethtool -k": "Features for eth0:\nrx-checksumming: on [fixed]\ntx-checksumming: on\n\ttx-checksum-ipv4: off [fixed]\nscatter-gather: on\ntcp-segmentation-offload: off\n" +
		"\ttx-tcp-segmentation: off\ngeneric-segmentation-offload: off [requested on]\ngeneric-receive-offload: on\nlarge-receive-offload: off [fixed]\n",
	"ethtool -a": "Pause parameters for eth0:\nAutonegotiate:\ton\nRX:\t\toff\nTX:\t\ton\nRX negotiated: on\nTX negotiated: off\n",
	"tc qdisc":   "qdisc mq 0: root \nqdisc fq_codel 0: parent :4 limit 10240p flows 1024\n",
	"ip -4":      "198.18.0.0/15 via 192.0.2.1 dev eth0 metric 100 advmss 1440 congctl lock bbr \n",
	"findmnt -n": "rw,relatime,vers=4.2,rsize=1048576,wsize=524288,namlen=255,hard,proto=tcp,nconnect=4,max_connect=8,timeo=600\n",
}

// The commands that read a value print it alone, in the catalogue's form.
func TestReadSteps(t *testing.T) {
	bin := t.TempDir()
	for command, output := range prints {
		name, first, _ := strings.Cut(command, " ")
		script, err := os.ReadFile(filepath.Join(bin, name))
		if err != nil {
			script = []byte("#!/bin/sh\n")
		}
		text := string(script) + "[ \"$1\" = " + first + " ] && cat <<'EOF'\n" + output + "EOF\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"link.ring.rx": "512", "link.ring.tx": "256", "link.channels.combined": "4",
		"link.coalesce.rx-usecs": "16", "link.coalesce.adaptive-rx": "1",
		"link.offload.rx": "1", "link.offload.tx": "1", "link.offload.sg": "1", "link.offload.tso": "0",
		"link.offload.gso": "0", "link.offload.gro": "1", "link.offload.lro": "0",
		"link.pause.autoneg": "1", "link.pause.rx": "0", "link.pause.tx": "1",
		"link.qdisc": "mq", "route.congctl": "bbr",
		"nfs.rsize": "1048576", "nfs.wsize": "524288", "nfs.nconnect": "4", "nfs.max_connect": "8",
	} {
		known, ok := Lookup("linux", name)
		if !ok {
			t.Fatalf("no %s", name)
		}
		instance := "eth0"
		if known.Scope == OfRoute {
			instance = "198.18.0.0/15"
		}
		read := exec.CommandContext(t.Context(), "/bin/sh", "-c", known.Fill(name, "", instance).Read)
		read.Env = []string{"PATH=" + bin + ":/usr/bin:/bin"}
		out, err := read.CombinedOutput()
		if value := strings.TrimSuffix(string(out), "\n"); err != nil || value != want || known.Check(value) != nil {
			t.Errorf("%s: %q, %v, want %q", name, out, err, want)
		}
	}
}

// The commands are sound shell, of every system that has one.
func TestStepsAreShell(t *testing.T) {
	for _, id := range Systems() {
		if id == "windows" {
			continue
		}
		entries, err := Catalogue(id)
		if err != nil {
			t.Fatal(err)
		}
		var script strings.Builder
		for _, e := range entries {
			steps := e.Fill(e.Name, "1", "198.18.0.0/15")
			script.WriteString(": " + strings.Map(wordRune, e.Name) + "\n" + steps.Read + "\n" + steps.Live + "\n")
		}
		check := exec.CommandContext(t.Context(), "/bin/sh", "-n")
		check.Stdin = strings.NewReader(script.String())
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", id, err, out)
		}
	}
}

func wordRune(r rune) rune {
	if strings.ContainsRune(nameRunes, r) {
		return r
	}
	return '_'
}
