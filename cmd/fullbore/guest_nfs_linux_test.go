package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/fullbore/fullbore/internal/guest"
	"github.com/fullbore/fullbore/nfs/limit"
)

// kernelNFS are the kernel's own client and server of NFS, on two hosts.
type kernelNFS struct {
	a, b *guestHost
}

// newKernelNFS exports a directory of host b, with a file of 64 MiB.
func newKernelNFS(t *testing.T, netem string) *kernelNFS {
	t.Helper()
	n := &kernelNFS{}
	n.a, n.b = guestPath(t, netem)
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

// mounts mounts it on host a, on /mnt.
func (n *kernelNFS) mounts(options string) {
	n.a.t.Helper()
	n.a.script(`mkdir -p /run/mnt; umount /run/mnt 2>/dev/null || true; mount.nfs 198.18.0.2:/run/export /run/mnt -o ` + options)
}

// TestGuestNFS: the limits of a mount of the kernel's own client and server, planted one after
// the other, are named.
func TestGuestNFS(t *testing.T) {
	if !guest.Run(t, guest.Machine{
		Modules: []string{"veth", "sch_netem", "nfsd", "nfsv4", "tcp_diag"}, Programs: []string{"ip", "tc", "mount.nfs", "exportfs", "rpc.mountd", "rpc.nfsd"},
	}) {
		return
	}
	n := newKernelNFS(t, "rate 200mbit delay 5ms limit 2000")
	for _, test := range []struct {
		name   string
		plant  func()
		args   []string
		cause  string
		repair func()
	}{
		{"one reader", func() { n.mounts("vers=4.2") }, []string{"--size", "4KiB"}, limit.OneReader, nil},
		{"read-ahead of 0", func() {
			n.mounts("vers=4.2")
			n.a.script("for d in /sys/class/bdi/0:*; do echo 0 >$d/read_ahead_kb; done")
		}, []string{"--size", "64KiB", "--sequential"}, limit.ReadAhead, nil},
		{"a small window", func() {
			n.a.run("sysctl", "-w", "net.ipv4.tcp_rmem=4096 32768 32768")
			n.mounts("vers=4.2")
		}, []string{"--size", "256KiB", "--random", "--depth", "8"}, limit.Window, func() { n.a.run("sysctl", "-w", "net.ipv4.tcp_rmem=4096 131072 6291456") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.plant()
			diagnosing := n.a.command(self(t), append([]string{"nfs", "diagnose", "/run/mnt/file", "--json"}, test.args...)...)
			var said bytes.Buffer
			diagnosing.Stderr = &said
			out, err := diagnosing.Output()
			var d nfsDiagnosis
			if err == nil {
				err = json.Unmarshal(out, &d)
			}
			if err != nil {
				t.Fatalf("%v: %s%s", err, out, &said)
			}
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
