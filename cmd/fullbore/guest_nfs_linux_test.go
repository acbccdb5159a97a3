package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/internal/guest"
	"github.com/fullbore/fullbore/nfs/climb"
	"github.com/fullbore/fullbore/nfs/limit"
)

// kernelNFS are the kernel's own client and server of NFS, on two hosts.
type kernelNFS struct {
	a, b *guestHost
}

// newKernelNFS exports a directory of host b, with a file of 64 MiB, over a path of 200 Mb/s
// and 10 ms. Threads of the server are host b's, and mounts host a's, if it is the first one.
func newKernelNFS(t *testing.T, first string) *kernelNFS {
	t.Helper()
	n := &kernelNFS{}
	n.a, n.b = guestPath(t, "rate 200mbit delay 5ms limit 2000", first)
	for _, h := range []*guestHost{n.a, n.b} { // what the C library and NFS's programs look up
		h.script(`
printf 'tcp 6 TCP\nudp 17 UDP\n' >/etc/protocols
printf 'nfs 2049/tcp\nsunrpc 111/tcp\nsunrpc 111/udp\n' >/etc/services
printf 'tcp tpi_cots_ord v inet tcp - -\nudp tpi_clts v inet udp - -\n' >/etc/netconfig
printf '127.0.0.1 localhost\n198.18.0.1 a\n198.18.0.2 b\n' >/etc/hosts`)
	}
	n.b.script(`
mkdir -p /run/export /etc/exports.d
dd if=/dev/zero of=/run/export/file bs=1M count=64 2>/dev/null && chmod 755 /run/export
mount -t tmpfs tmpfs /var/lib/nfs && mkdir -p /var/lib/nfs/v4recovery && touch /var/lib/nfs/etab /var/lib/nfs/rmtab
mount -t nfsd nfsd /proc/fs/nfsd
echo '/run/export *(rw,no_root_squash,no_subtree_check,insecure,fsid=1)' >/etc/exports
printf 'root:x:0:0::/:/bin/sh\n' >/etc/passwd
echo 10 >/proc/fs/nfsd/nfsv4gracetime; echo 10 >/proc/fs/nfsd/nfsv4leasetime
exportfs -a && rpc.mountd --no-nfs-version 3 && rpc.nfsd --no-nfs-version 3 --nfs-version 4 8
for i in $(seq 50); do echo Y 2>/dev/null >/proc/fs/nfsd/v4_end_grace && break; sleep 0.2; done`)
	return n
}

// slowDisk exports another file, from a disk that takes 5 ms for each block and reads 64 at once,
// and that is not read from memory for long.
func (n *kernelNFS) slowDisk() {
	n.b.t.Helper()
	n.b.script(`
mount -t configfs configfs /sys/kernel/config
mkdir /sys/kernel/config/nullb/slow && cd /sys/kernel/config/nullb/slow
echo 128 >size; echo 1 >memory_backed; echo 2 >irqmode; echo 5000000 >completion_nsec; echo 64 >hw_queue_depth; echo 1 >power
cd / && ls /sys/block && mke2fs -b 4096 /dev/slow
mkdir /run/slow && mount -t ext4 /dev/slow /run/slow
dd if=/dev/zero of=/run/slow/file bs=1M count=64 2>/dev/null && sync && chmod 755 /run/slow
echo '/run/slow *(rw,no_root_squash,no_subtree_check,insecure,fsid=2)' >>/etc/exports && exportfs -ra
(while :; do echo 1 >/proc/sys/vm/drop_caches; sleep 2; done) >/dev/null 2>&1 </dev/null &`)
}

// threads gives the server so many.
func (n *kernelNFS) threads(count string) { n.b.script("echo " + count + " >/proc/fs/nfsd/threads") }

// mounts mounts an export on host a, on /run/mnt, as its fstab says.
func (n *kernelNFS) mounts(export, options string) {
	n.a.t.Helper()
	n.a.script(`echo "198.18.0.2:` + export + ` /run/mnt nfs4 ` + options + ` 0 0" >/etc/fstab`)
	n.remounts()
}

// remounts mounts once more what host a's fstab says.
func (n *kernelNFS) remounts() {
	n.a.t.Helper()
	n.a.script(`mkdir -p /run/mnt; umount /run/mnt 2>/dev/null || true
read -r what where type options rest </etc/fstab; mount.nfs "$what" "$where" -o "$options"`)
}

// verb runs a verb of NFS on host a, about the file that is mounted, and reads its document.
func (n *kernelNFS) verb(t *testing.T, document any, args ...string) {
	t.Helper()
	running := n.a.command(self(t), append([]string{"nfs", args[0], "/run/mnt/file", "--json"}, args[1:]...)...)
	var said bytes.Buffer
	running.Stderr = &said
	out, err := running.Output()
	if err == nil {
		err = json.Unmarshal(out, document)
	}
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, &said)
	}
	t.Log(said.String())
}

// machineOfNFS is what the kernel's client and server need.
var machineOfNFS = guest.Machine{
	Modules:  []string{"veth", "sch_netem", "nfsd", "nfsv4", "tcp_diag", "null_blk"},
	Programs: []string{"ip", "tc", "mount.nfs", "exportfs", "rpc.mountd", "rpc.nfsd"},
}

const smallWindow, usualWindow = "net.ipv4.tcp_rmem=4096 32768 32768", "net.ipv4.tcp_rmem=4096 131072 6291456"

// TestGuestNFS: the limits of a mount of the kernel's own client and server, planted one after
// the other, are named.
func TestGuestNFS(t *testing.T) {
	if !guest.Run(t, machineOfNFS) {
		return
	}
	n := newKernelNFS(t, "b")
	n.slowDisk()
	token := n.b.serve()
	for _, test := range []struct {
		name   string
		plant  func()
		args   []string
		cause  string
		repair func()
	}{
		{"one reader", func() { n.mounts("/run/export", "vers=4.2") }, []string{"--size", "4KiB"}, limit.OneReader, nil},
		{"read-ahead of 0", func() {
			n.mounts("/run/export", "vers=4.2")
			n.a.script("for d in /sys/class/bdi/0:*; do echo 0 >$d/read_ahead_kb; done")
		}, []string{"--size", "64KiB", "--sequential"}, limit.ReadAhead, nil},
		{"a small window", func() {
			n.a.run("sysctl", "-w", smallWindow)
			n.mounts("/run/export", "vers=4.2")
		}, []string{"--size", "256KiB", "--random", "--depth", "8"}, limit.Window, func() { n.a.run("sysctl", "-w", usualWindow) }},
		{"few threads before a disk that could do more", func() {
			n.threads("1")
			n.mounts("/run/slow", "vers=4.2")
		}, []string{"--size", "4KiB", "--depth", "8", "--far", n.b.address, "--token", token}, limit.Threads, func() { n.threads("8") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.plant()
			var d nfsDiagnosis
			n.verb(t, &d, append([]string{"diagnose"}, test.args...)...)
			if d.Verdict.Cause != test.cause {
				t.Errorf("the verdict is %s, %s is planted", d.Verdict.Cause, test.cause)
			}
			evidence, _ := json.Marshal(d.Evidence)
			t.Logf("%s: %s\n%s", d.Verdict.Cause, d.Verdict.Says, evidence)
			if test.repair != nil {
				test.repair()
			}
		})
	}
}

// tune runs 'nfs tune' about the file that is mounted.
func (n *kernelNFS) tune(t *testing.T, budget string, args ...string) (r climb.Result) {
	t.Helper()
	n.verb(t, &r, append([]string{"tune", "--budget", budget}, args...)...)
	t.Logf("%s: %.0f -> %.0f reads a second, x %.3g (%.3g), kept %+v, put back %+v, advice %q", r.Verdict.Cause, r.Before.IOPS, r.After.IOPS, r.Gain, r.GainCI95, r.Kept, r.PutBack, r.Advice)
	return r
}

// undoes are the commands that a result names, and on which host: a, unless it says so.
var undoes = regexp.MustCompile(`(?:on ([ab]): )?fullbore (revert [0-9A-Za-z-]+)`)

// undo runs them.
func (n *kernelNFS) undo(t *testing.T, r climb.Result) {
	t.Helper()
	commands := undoes.FindAllStringSubmatch(strings.Join(r.Advice, "\n"), -1)
	if len(commands) == 0 {
		t.Errorf("nothing says how it is undone: %q", r.Advice)
	}
	for _, c := range commands {
		host := n.a
		if c[1] == "b" {
			host = n.b
		}
		host.run(self(t), strings.Fields(c[2])...)
	}
}

// TestGuestNFSTune: a mount of the kernel's own client is made faster: its windows and the
// server's threads by both hosts, its connections by its line of fstab. What is kept is there when
// it was mounted again, and all of it can be undone.
func TestGuestNFSTune(t *testing.T) {
	if !guest.Run(t, machineOfNFS) {
		return
	}
	n := newKernelNFS(t, "b")
	n.slowDisk()
	far := []string{"--far", n.b.address, "--token", n.b.serve("--allow-changes")}
	t.Run("windows", func(t *testing.T) {
		n.a.run("sysctl", "-w", smallWindow)
		n.mounts("/run/export", "vers=4.2")
		args := []string{"--size", "256KiB", "--random", "--depth", "8"}
		r := n.tune(t, "40s", append(args, far...)...)
		if r.Verdict.Cause != limit.Window || r.GainCI95[0] < 2 {
			t.Errorf("%+v", r)
		}
		n.remounts()
		var d nfsDiagnosis
		n.verb(t, &d, append([]string{"diagnose"}, args...)...)
		if d.Verdict.Cause == limit.Window || d.Evidence.Now.IOPS < 2*r.Before.IOPS {
			t.Errorf("mounted anew: %+v, %+v", d.Verdict, d.Evidence)
		}
		n.undo(t, r)
		if now := n.a.run("sysctl", "-n", "net.ipv4.tcp_rmem"); !strings.Contains(now, "32768\t32768") {
			t.Errorf("after all was undone: %s", now)
		}
	})
	t.Run("connections", func(t *testing.T) {
		n.a.run("sysctl", "-w", smallWindow)
		n.mounts("/run/export", "vers=4.2")
		before := n.a.script("cat /etc/fstab")
		r := n.tune(t, "40s", "--size", "256KiB", "--random", "--depth", "8", "--far", "127.0.0.1:1")
		n.a.run("sysctl", "-w", usualWindow)
		if r.Verdict.Cause != limit.Connections || r.GainCI95[0] < 2 || r.Diff == "" {
			t.Fatalf("%+v", r)
		}
		if n.a.script("cat /etc/fstab") != before || strings.Contains(n.a.script("grep /run/mnt /proc/mounts"), "nconnect") {
			t.Error("the mount in use, or its line, was changed")
		}
		n.a.script("cat >/run/diff <<'END'\n" + r.Diff + "END\npatch /etc/fstab /run/diff")
		n.remounts()
		if is := n.a.script("grep /run/mnt /proc/mounts"); !strings.Contains(is, "nconnect=") {
			t.Errorf("mounted anew: %s", is)
		}
		n.a.script("patch -R /etc/fstab /run/diff")
		if n.a.script("cat /etc/fstab") != before {
			t.Error("the line could not be put back")
		}
	})
	t.Run("server threads", func(t *testing.T) {
		n.threads("1")
		n.mounts("/run/slow", "vers=4.2")
		r := n.tune(t, "70s", append([]string{"--size", "4KiB", "--depth", "8"}, far...)...)
		if now := n.b.script("cat /proc/fs/nfsd/threads"); r.Verdict.Cause != limit.Threads || r.GainCI95[0] < 1.5 || now == "1\n" {
			t.Errorf("%+v; %s threads", r, now)
		}
		n.undo(t, r)
		if now := n.b.script("cat /proc/fs/nfsd/threads"); now != "1\n" {
			t.Errorf("after it was undone: %s threads", now)
		}
	})
}

// connections is how many a has to the server.
func (n *kernelNFS) connections() int {
	n.a.t.Helper()
	const established = `$3 ~ /:0801$/ && $4 == "01"` // of port 2049, see proc_net_tcp in the kernel's documentation
	return strings.Count(n.a.script("awk '"+established+"' /proc/net/tcp"), "\n")
}

// inTrial starts 'nfs tune' on host a, and gives it once it reads through a trial mount.
func (n *kernelNFS) inTrial(t *testing.T, said *bytes.Buffer) *exec.Cmd {
	t.Helper()
	tuning := n.a.command(self(t), "nfs", "tune", "/run/mnt/file", "--size", "256KiB", "--random", "--depth", "8", "--far", "127.0.0.1:1", "--budget", "60s")
	tuning.Stdout, tuning.Stderr = said, said
	used := n.connections()
	if err := tuning.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "a trial's connections", func() bool { return n.connections() > used })
	return tuning
}

// TestGuestNFSTrialEnds: a trial mount goes with the process that has it, however that ends, and a
// server that dies meanwhile ends the tuning with an error; programs can read on through the mount
// in use.
func TestGuestNFSTrialEnds(t *testing.T) {
	if !guest.Run(t, machineOfNFS) {
		return
	}
	n := newKernelNFS(t, "b")
	n.mounts("/run/export", "vers=4.2")
	reads := func() {
		t.Helper()
		n.a.script("dd if=/run/mnt/file of=/dev/null bs=4096 count=1 2>/dev/null")
		if is := n.a.script("grep -c nfs4 /proc/mounts"); is != "1\n" {
			t.Errorf("%s mounts of NFS are there", is)
		}
	}
	used := n.connections()
	for name, sent := range map[string]os.Signal{"killed": os.Kill, "Ctrl-C": os.Interrupt} {
		var said bytes.Buffer
		tuning := n.inTrial(t, &said)
		if err := tuning.Process.Signal(sent); err != nil {
			t.Fatal(err)
		}
		err := tuning.Wait()
		t.Logf("%s: %v: %s", name, err, &said)
		await(t, name+": no connection of a trial is left", func() bool { return n.connections() <= used })
		reads()
	}
	var said bytes.Buffer
	tuning := n.inTrial(t, &said)
	n.threads("0") // while it mounts, or reads
	began := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- tuning.Wait() }()
	select {
	case err := <-ended:
		t.Logf("after %v: %v: %s", time.Since(began).Round(time.Second), err, &said)
		// Who gives up first is chance: the kernel, as the mount is soft, or this program.
		if err == nil || !strings.Contains(said.String(), "as a trial: ") && !strings.Contains(said.String(), "the server did not answer") {
			t.Errorf("a server that died: %v: %s", err, &said)
		}
	case <-time.After(3 * time.Minute):
		_ = tuning.Process.Kill()
		t.Fatalf("the tuning hangs where the server died: %s", &said)
	}
	n.b.script("rpc.nfsd --no-nfs-version 3 --nfs-version 4 8; for i in $(seq 50); do echo Y 2>/dev/null >/proc/fs/nfsd/v4_end_grace && break; sleep 0.2; done")
	reads()
}

// TestGuestNFSClient: what the client's kernel has for all of a host. How far a mount reads ahead is
// raised on the mount in use; how many slots a mount asks for, of those that are made from then on. Both
// are put back.
func TestGuestNFSClient(t *testing.T) {
	if !guest.Run(t, machineOfNFS) {
		return
	}
	n := newKernelNFS(t, "a")
	n.mounts("/run/export", "vers=4.2")
	n.a.script("for d in /sys/class/bdi/0:*; do echo 0 >$d/read_ahead_kb; done")
	ahead := func() string {
		return n.a.script(`cat /sys/class/bdi/$(awk '$5 == "/run/mnt" {print $3}' /proc/self/mountinfo)/read_ahead_kb`)
	}
	r := n.tune(t, "40s", "--size", "64KiB", "--sequential", "--far", "127.0.0.1:1")
	if r.Verdict.Cause != limit.ReadAhead || r.GainCI95[0] < 2 || ahead() == "0\n" {
		t.Errorf("%+v; read-ahead is %s", r, ahead())
	}
	n.undo(t, r)
	if now := ahead(); now != "0\n" {
		t.Errorf("after it was undone: %s", now)
	}
	const file = "/sys/module/nfs/parameters/max_session_slots"
	n.a.script("echo 4 >" + file)
	n.mounts("/run/export", "vers=4.2")
	r = n.tune(t, "60s", "--size", "4KiB", "--random", "--depth", "4", "--far", "127.0.0.1:1")
	asked := n.a.script("cat " + file)
	if r.Verdict.Cause != limit.Slots || r.GainCI95[0] < 1.5 || asked == "4\n" {
		t.Errorf("%+v; %s slots", r, asked)
	}
	n.remounts()
	var d nfsDiagnosis
	n.verb(t, &d, "diagnose", "--size", "4KiB", "--random", "--depth", strings.TrimSpace(asked))
	if d.Evidence.Now.IOPS < 1.5*r.Before.IOPS {
		t.Errorf("mounted anew with %s slots: %+v", asked, d.Evidence.Now)
	}
	n.undo(t, r)
	if now := n.a.script("cat " + file); now != "4\n" {
		t.Errorf("after it was undone: %s slots", now)
	}
}
