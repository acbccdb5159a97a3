package format

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/plan"
)

// local is a plan for what every network namespace has: a triplet that is
// raised, one that is larger already, a switch, a name, and an interface.
func local() example {
	hostile := "$(touch /tmp/canary) `touch /tmp/canary` '; touch /tmp/canary; ' \" {{ lookup('pipe', 'touch /tmp/canary') }} \\"
	changes := []plan.Change{
		change("net.ipv4.tcp_rmem", "4096 131072 33554432", "4096 131072 134217728"),
		change("net.ipv4.tcp_wmem", "4096 16384 4194304", "4096 16384 67108864"),
		change("net.ipv4.tcp_slow_start_after_idle", "1", "0"),
		change("net.ipv4.tcp_notsent_lowat", "4294967295", "131072"),
		change("link.txqueuelen@lo", "1000", "4321"),
	}
	for i := range changes {
		changes[i].Why, changes[i].Source = hostile, hostile
	}
	e := made("local", "linux", "6.18.44", changes...)
	e.host.Name = "localhost"
	for i := range e.plan.Steps {
		e.plan.Steps[i].Changes[0].Host = "localhost"
	}
	return e
}

// prepare gives the namespace values of its own, larger than the plan's in one
// place; show prints them and what is kept of them; again says that nothing was
// done but what was meant.
const (
	prepare = `
sysctl -q -w net.ipv4.tcp_rmem='8192 131072 6291456' net.ipv4.tcp_wmem='4096 16384 99999999' \
	net.ipv4.tcp_slow_start_after_idle=1 net.ipv4.tcp_notsent_lowat=4294967295
ip link set lo txqueuelen 1000
show() {
	for key in tcp_rmem tcp_wmem tcp_slow_start_after_idle tcp_notsent_lowat; do
		printf '%s = %s\n' $key "$(sysctl -n net.ipv4.$key | tr '\t' ' ')"
	done
	echo txqueuelen = $(cat /sys/class/net/lo/tx_queue_len)
	for file in /etc/sysctl.d/* /etc/udev/rules.d/*fullbore*; do
		if [ -f "$file" ]; then echo "$file:"; grep -v '^#' "$file" || :; fi
	done
	if [ -e /tmp/canary ]; then echo a text got out; fi
}
mkdir -p /etc/udev/rules.d
`
	former = `tcp_rmem = 8192 131072 6291456
tcp_wmem = 4096 16384 99999999
tcp_slow_start_after_idle = 1
tcp_notsent_lowat = 4294967295
txqueuelen = 1000
`
	// The first element of tcp_rmem and the last of tcp_wmem were larger already.
	after = `tcp_rmem = 8192 131072 134217728
tcp_wmem = 4096 16384 99999999
tcp_slow_start_after_idle = 0
tcp_notsent_lowat = 131072
txqueuelen = 4321
`
	rules = `/etc/udev/rules.d/90-fullbore.rules:
ACTION=="add", SUBSYSTEM=="net", NAME=="lo", ATTR{tx_queue_len}="4321"
`
)

// kept is the drop-in, with what is live of the settings that are in it.
func kept(lines ...string) string {
	return "/etc/sysctl.d/90-fullbore.conf:\n" + strings.Join(lines, "\n") + "\n"
}

// parts splits what a sandbox printed at lines of "== name".
func parts(t *testing.T, out string) map[string]string {
	t.Helper()
	parts := map[string]string{}
	for part := range strings.SplitSeq("\n"+out, "\n== ") {
		name, text, _ := strings.Cut(part, "\n")
		parts[name] = text
	}
	for name, text := range parts {
		if text != "" && !strings.HasSuffix(text, "\n") {
			parts[name] = text + "\n"
		}
	}
	return parts
}

func same(t *testing.T, what, want, got string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// TestIntegrationScript: the script sets and keeps, does nothing a second time,
// never lowers, and its undo is identity where nobody else changed anything.
func TestIntegrationScript(t *testing.T) {
	t.Parallel()
	for _, undo := range []string{"fullbore.sh --undo", "fullbore-undo.sh"} {
		out := inSandbox(t, written(t, script, local()), prepare+`
echo "== before"; show
sh fullbore.sh >/tmp/first; echo "== set"; show
echo "== second"; sh fullbore.sh; echo "== still"; show
sysctl -q -w net.ipv4.tcp_rmem='8192 131072 200000000' net.ipv4.tcp_notsent_lowat=5
ip link set lo txqueuelen 9
echo "== third"; sh fullbore.sh; echo "== raised"; show
sysctl -q -w net.ipv4.tcp_slow_start_after_idle=1; sh fullbore.sh >/dev/null
sysctl -q -w net.ipv4.tcp_rmem='8192 131072 134217728' # ours again
ip link set lo txqueuelen 5000 # somebody's
echo "== undo"; sh `+undo+`; echo "== undone"; show; ls /var/lib/fullbore
echo "== nothing"; sh `+undo+`; echo "== end"; show
`)
		p := parts(t, out)
		sysctls := []string{"net.ipv4.tcp_rmem = 8192 131072 134217728", "net.ipv4.tcp_slow_start_after_idle = 0", "net.ipv4.tcp_notsent_lowat = 131072"}
		same(t, "before", former, p["before"])
		same(t, "set", after+kept(sysctls...)+rules, p["set"])
		same(t, "a second run", `net.ipv4.tcp_rmem: 8192 131072 134217728 already, which is more than 4096 131072 134217728
net.ipv4.tcp_wmem: 4096 16384 99999999 already, which is more than 4096 16384 67108864
net.ipv4.tcp_slow_start_after_idle: 0 already
net.ipv4.tcp_notsent_lowat: 131072 already
link.txqueuelen@lo: 4321 already
`, p["second"])
		same(t, "after it", p["set"], p["still"])
		same(t, "after others' changes", strings.NewReplacer("134217728", "200000000").Replace(p["set"]), p["raised"])
		// tcp_notsent_lowat was 5 when the script changed it again.
		same(t, "undone", strings.NewReplacer("4294967295", "5", "txqueuelen = 1000", "txqueuelen = 5000").Replace(former), p["undone"])
		if !strings.Contains(p["undo"], "link.txqueuelen@lo: left alone, since it is 5000 by now") {
			t.Errorf("undo does not say what it left alone:\n%s", p["undo"])
		}
		same(t, "a second undo", "", p["nothing"])
		same(t, "after it", p["undone"], p["end"])
	}
}

// TestIntegrationScriptFails: what cannot be set is said, is not kept, and what
// has to come first holds up what comes after it.
func TestIntegrationScriptFails(t *testing.T) {
	t.Parallel()
	e := made("local", "linux", "6.18.44",
		change("net.ipv4.tcp_congestion_control", "cubic", "no-such"),
		change("link.mtu@nowhere0", "1500", "9000"),
		change("net.ipv4.tcp_sack", "0", "1"))
	out := inSandbox(t, written(t, script, e), `
sysctl -q -w net.ipv4.tcp_sack=0
cc=$(sysctl -n net.ipv4.tcp_congestion_control)
ln -s /tmp/elsewhere /etc/sysctl.d/90-fullbore.conf
sh fullbore.sh 2>&1; echo "status $?"
rm /etc/sysctl.d/90-fullbore.conf
echo 'net.ipv4.tcp_ecn = 1 ' >/etc/sysctl.d/90-fullbore.conf
sh fullbore.sh >/dev/null 2>&1; cat /etc/sysctl.d/90-fullbore.conf
cut -d'|' -f1,2,3 /var/lib/fullbore/script.values
[ "$cc" = "$(sysctl -n net.ipv4.tcp_congestion_control)" ] && echo as before
sh fullbore.sh --undo; cat /etc/sysctl.d/90-fullbore.conf
echo '# fullbore begin' >>/etc/sysctl.d/90-fullbore.conf
sh fullbore.sh 2>&1 >/dev/null | grep begin
mv /plan/fullbore.sh /tmp/x.sh; setpriv --reuid 65534 sh /tmp/x.sh 2>&1; echo "status $?"
`)
	want := `net.ipv4.tcp_congestion_control: cannot be set to no-such: sysctl: setting key "net.ipv4.tcp_congestion_control": No such file or directory
link.mtu@nowhere0: left alone, since its value cannot be read here
net.ipv4.tcp_sack: 0 -> 1
/etc/sysctl.d/90-fullbore.conf: left alone, since it is a symbolic link
status 1
net.ipv4.tcp_ecn = 1 
# fullbore begin
net.ipv4.tcp_sack = 1
# fullbore end
net.ipv4.tcp_sack|0|1
as before
net.ipv4.tcp_sack: 1 -> 0
/etc/sysctl.d/90-fullbore.conf: written
net.ipv4.tcp_ecn = 1 
/etc/sysctl.d/90-fullbore.conf: left alone, since it has the line "# fullbore begin" without "# fullbore end"
this changes settings of the system: run it as root
status 1
`
	same(t, "what it says", want, out)
}

// TestIntegrationSysctl: the file loads as it says, and its undo puts back what
// the plan says was there.
func TestIntegrationSysctl(t *testing.T) {
	t.Parallel()
	out := inSandbox(t, written(t, sysctl, local()), prepare+`
sysctl -q -w net.ipv4.tcp_rmem='4096 131072 33554432' net.ipv4.tcp_wmem='4096 16384 4194304'
cp 90-fullbore.conf /etc/sysctl.d/
sysctl -q -p /etc/sysctl.d/90-fullbore.conf
echo "== set"; show
sysctl -q -w net.ipv4.tcp_notsent_lowat=5
sh undo-sysctl.sh >/dev/null
echo "== undone"; show
`)
	p := parts(t, out)
	same(t, "set", `tcp_rmem = 4096 131072 134217728
tcp_wmem = 4096 16384 67108864
tcp_slow_start_after_idle = 0
tcp_notsent_lowat = 131072
txqueuelen = 1000
`+kept("", "net.ipv4.tcp_rmem = 4096 131072 134217728", "", "net.ipv4.tcp_wmem = 4096 16384 67108864", "", "net.ipv4.tcp_slow_start_after_idle = 0", "", "net.ipv4.tcp_notsent_lowat = 131072"), p["set"])
	same(t, "undone", `tcp_rmem = 4096 131072 33554432
tcp_wmem = 4096 16384 4194304
tcp_slow_start_after_idle = 1
tcp_notsent_lowat = 5
txqueuelen = 1000
`, p["undone"])
}

// TestIntegrationAnsible: the packaged Ansible runs the play against a host, a
// second run changes nothing, and the other play puts everything back. Each run
// takes seconds, so --check, and a second undo, are for FULLBORE_LONG=1, as .ci/run
// has it.
func TestIntegrationAnsible(t *testing.T) {
	t.Parallel()
	e := local()
	e.plan.Steps = e.plan.Steps[:3] // Ansible takes half a second for each command and file
	out := inSandbox(t, written(t, ansible, e), prepare+`
export ANSIBLE_PIPELINING=1 ANSIBLE_LOCALHOST_WARNING=false ANSIBLE_NOCOLOR=1 ANSIBLE_DEPRECATION_WARNINGS=false HOME=/tmp LC_ALL=C.UTF-8
printf 'localhost ansible_connection=local ansible_python_interpreter=/usr/bin/python3\n' >inventory
play() {
	ansible-playbook -i inventory "$@" >/tmp/log 2>&1 || cat /tmp/log
	sed -n 's/.*\(changed=[0-9]*\).*\(failed=[0-9]*\).*/\1 \2/p' /tmp/log
}
if [ -n "${FULLBORE_LONG-}" ]; then echo "== check"; play --check fullbore.yml; show; fi
echo "== first"; play fullbore.yml; echo "== set"; show
sysctl -q -w net.ipv4.tcp_wmem='4096 16384 199999999' # still larger
echo "== second"; play fullbore.yml; echo "== still"; show
echo "== undo"; play fullbore-undo.yml; echo "== undone"; show; ls /var/lib/fullbore
if [ -n "${FULLBORE_LONG-}" ]; then echo "== nothing"; play fullbore-undo.yml; fi
`, "ansible-playbook")
	p := parts(t, out)
	if !strings.Contains(p["first"], "failed=0") || strings.Contains(p["first"], "changed=0") {
		t.Errorf("first run: %s", out)
	}
	if os.Getenv("FULLBORE_LONG") != "" {
		checked, unchanged, _ := strings.Cut(p["check"], "\n")
		if !strings.HasSuffix(checked, "failed=0") || strings.HasPrefix(checked, "changed=0") {
			t.Errorf("--check: %s", p["check"])
		}
		same(t, "after --check", former, unchanged)
		same(t, "a second undo", "changed=0 failed=0\n", p["nothing"])
	}
	same(t, "set", `tcp_rmem = 8192 131072 134217728
tcp_wmem = 4096 16384 99999999
tcp_slow_start_after_idle = 0
tcp_notsent_lowat = 4294967295
txqueuelen = 1000
`+kept("net.ipv4.tcp_rmem = 8192 131072 134217728", "net.ipv4.tcp_slow_start_after_idle = 0"), p["set"])
	same(t, "second run", "changed=0 failed=0\n", p["second"])
	same(t, "after it", strings.Replace(p["set"], "99999999", "199999999", 1), p["still"])
	same(t, "undone", strings.Replace(former, "99999999", "199999999", 1), p["undone"])
}

// TestIntegrationTuned: the packaged TuneD loads the profile, on top of the one
// that was in use, sets the values, and puts them back when it ends.
func TestIntegrationTuned(t *testing.T) {
	t.Parallel()
	e := local()
	// An interface of its own, which TuneD takes for a physical one, is not to be had.
	for i, s := range e.plan.Steps {
		if strings.HasPrefix(s.Changes[0].Tunable, "link.") {
			e.plan.Steps = append(e.plan.Steps[:i], e.plan.Steps[i+1:]...)
		}
	}
	out := inSandbox(t, written(t, tuned, e), prepare+`
mkdir -p /etc/tuned /run/tuned && cp -r fullbore /etc/tuned/
sysctl -q -w net.ipv4.tcp_wmem='4096 16384 4194304'
echo "== before"; show
tuned --no-dbus --no-socket --daemon --profile fullbore --log /tmp/log
for i in 1 2 3 4 5 6 7 8 9 10; do
	if grep -q "profile 'fullbore' applied" /tmp/log; then break; fi
	sleep 0.3
done
echo "== set"; show; echo "== log"; grep -E 'ERROR|WARN|applied' /tmp/log
kill $(cat /run/tuned/tuned.pid)
for i in 1 2 3 4 5 6 7 8 9 10; do
	if [ ! -e /run/tuned/tuned.pid ]; then break; fi
	sleep 0.3
done
echo "== undone"; show
`, "tuned")
	p := parts(t, out)
	same(t, "set", `tcp_rmem = 4096 131072 134217728
tcp_wmem = 4096 16384 67108864
tcp_slow_start_after_idle = 0
tcp_notsent_lowat = 131072
txqueuelen = 1000
`, p["set"])
	if !strings.Contains(p["log"], "'fullbore' applied") || strings.Contains(p["log"], "ERROR") || strings.Contains(p["log"], "WARN") {
		t.Errorf("TuneD's log: %s", p["log"])
	}
	same(t, "undone", p["before"], p["undone"])
}

// TestIntegrationTunedUndo: the undo asks TuneD for the profile that was in use.
func TestIntegrationTunedUndo(t *testing.T) {
	t.Parallel()
	e := local()
	e.host.Managers = examples()[0].host.Managers
	files := append(written(t, tuned, e), hashComments.program("bin/tuned-adm", "#!/bin/sh\nif [ $1 = active ]; then cat /tmp/active; else echo \"$*\" >>/tmp/asked; fi\n"))
	out := inSandbox(t, files, `
export PATH=/plan/bin:$PATH
mkdir -p /etc/tuned && cp -r fullbore /etc/tuned/
echo 'Current active profile: fullbore' >/tmp/active
sh undo-tuned.sh && cat /tmp/asked; ls -A /etc/tuned | grep fullbore
echo 'Current active profile: fullbore-other' >/tmp/active
sh undo-tuned.sh && cat /tmp/asked
`)
	same(t, "what it asked for", "profile network-throughput\nprofile network-throughput\n", out)
}

// TestIntegrationCloudInit: the packaged cloud-init takes the user data for
// valid, and the script in it is what runs.
func TestIntegrationCloudInit(t *testing.T) {
	t.Parallel()
	out := inSandbox(t, written(t, cloudInit, local()), prepare+`
export LC_ALL=C.UTF-8
for data in user-data.yaml user-data-undo.yaml; do
	cloud-init schema -c $data 2>&1
	python3 -c '
import os, sys, yaml
data = yaml.safe_load(open(sys.argv[1]))
for file in data["write_files"]:
	open(file["path"], "w").write(file["content"])
	os.chmod(file["path"], int(file["permissions"], 8))
print(*[" ".join(command) for command in data["runcmd"]], sep="\n", file=open("/tmp/run", "w"))
' $data
	sh /tmp/run >/dev/null
	echo "== $data"; show
done
`, "cloud-init")
	p := parts(t, out)
	if n := strings.Count(out, "Valid cloud-config: "); n != 2 {
		t.Errorf("cloud-init finds %d of 2 files valid:\n%s", n, out)
	}
	if !strings.HasPrefix(p["user-data.yaml"], after) {
		t.Errorf("set:\n%s", p["user-data.yaml"])
	}
	same(t, "undone", former, p["user-data-undo.yaml"])
}

// A host of another system is one whose programs are stand-ins: each keeps what
// it is told in a file. They refuse what the real ones refuse.
const (
	ndd = `#!/bin/sh
dir=/tmp/ndd; mkdir -p $dir
case $1 in
-get) cat $dir/$3 ;;
-set)
	case $3 in
	tcp_recv_hiwat | tcp_xmit_hiwat) [ $4 -le $(cat $dir/tcp_max_buf) ] || { echo "operation failed: Invalid argument" >&2; exit 1; } ;;
	esac
	echo "set $3 $4" >>/tmp/log; echo $4 >$dir/$3 ;;
esac
`
	mdb = `#!/bin/sh
echo "nfs3_bsize:"; echo "nfs3_bsize:     $(cat /tmp/nfs3_bsize 2>/dev/null || echo 32768)"
`
	ipadmStandIn = `#!/bin/sh
# show-prop -c -o CURRENT|PERSISTENT -p NAME tcp; set-prop [-t] -p NAME=VALUE tcp; reset-prop -p NAME tcp
dir=/tmp/ipadm; mkdir -p $dir
case "$1 $2" in
"show-prop -c") cat $dir/$6.$4 2>/dev/null || : ;;
"set-prop -t") echo ${4#*=} >$dir/${4%%=*}.CURRENT ;;
"set-prop -p") echo ${3#*=} >$dir/${3%%=*}.CURRENT; echo ${3#*=} >$dir/${3%%=*}.PERSISTENT ;;
"reset-prop -p") rm $dir/$3.PERSISTENT; cp $dir/$3.standard $dir/$3.CURRENT ;;
esac
`
)

// TestIntegrationScriptOrder: on Solaris, buffers come after what bounds them
// and go before it, whatever their order in the plan. Its shells are older kin of
// these two.
func TestIntegrationScriptOrder(t *testing.T) {
	t.Parallel()
	e := made("solaris", "solaris", "10",
		change("tcp_recv_hiwat", "49152", "37748736"),
		change("tcp_max_buf", "1048576", "37748736"),
		change("nfs:nfs3_bsize", "32768", "1048576"))
	out := inSandbox(t, append(written(t, script, e), hashComments.program("bin/ndd", ndd), hashComments.program("bin/mdb", mdb)), `
export PATH=/plan/bin:$PATH
mkdir /tmp/ndd; echo 1048576 >/tmp/ndd/tcp_max_buf; echo 49152 >/tmp/ndd/tcp_recv_hiwat
printf '* the system\nset x=1\n' >/etc/system; chmod 640 /etc/system; cp /etc/system /tmp/system
for ksh in mksh ksh93; do
echo "== $ksh"
$ksh fullbore.sh >/dev/null; cat /tmp/log /etc/system; rm /tmp/log
$ksh fullbore.sh >/dev/null; [ -e /tmp/log ] && echo set again
$ksh fullbore.sh --undo >/dev/null; cat /tmp/log; rm /tmp/log; cmp /tmp/system /etc/system; stat -c %a /etc/system
setpriv --reuid 65534 $ksh fullbore.sh 2>&1; echo "status $?"
done
echo 2097152 >/tmp/nfs3_bsize # somebody's line, by now
mksh fullbore.sh | grep bsize; grep bsize /etc/system || :
`, "mksh", "ksh93")
	set := `set tcp_max_buf 37748736
set tcp_recv_hiwat 37748736
* the system
set x=1
* fullbore begin
set nfs:nfs3_bsize=1048576
* fullbore end
set tcp_recv_hiwat 49152
set tcp_max_buf 1048576
640
this changes settings of the system: run it as root
status 1
`
	p := parts(t, out)
	same(t, "what mksh sets", set, p["mksh"])
	same(t, "what ksh93 sets", set+"nfs:nfs3_bsize: 2097152 already, which is more than 1048576\n", p["ksh93"])
}

// TestIntegrationScriptCommands: what commands keep is kept, and taken back to
// what was kept before, or to nothing.
func TestIntegrationScriptCommands(t *testing.T) {
	t.Parallel()
	e := made("illumos", "illumos", "5.11",
		change("max_buf", "1048576", "37748736"), change("recv_buf", "128000", "37748736"), change("send_buf", "49152", "4194304"))
	out := inSandbox(t, append(written(t, script, e), hashComments.program("bin/ipadm", ipadmStandIn)), `
export PATH=/plan/bin:$PATH
mkdir /tmp/ipadm; cd /tmp/ipadm
for p in max_buf=1048576 recv_buf=128000 send_buf=49152; do echo ${p#*=} | tee ${p%=*}.standard >${p%=*}.CURRENT; done
echo 2097152 | tee max_buf.PERSISTENT >max_buf.CURRENT # somebody's own
echo 65536 >send_buf.CURRENT # for now only
cp -r . /tmp/former
sh /plan/fullbore.sh >/dev/null; grep . *.CURRENT *.PERSISTENT
sh /plan/fullbore.sh --undo >/dev/null; diff -r . /tmp/former && echo identical
`)
	same(t, "what is kept", `max_buf.CURRENT:37748736
recv_buf.CURRENT:37748736
send_buf.CURRENT:4194304
max_buf.PERSISTENT:37748736
recv_buf.PERSISTENT:37748736
send_buf.PERSISTENT:4194304
identical
`, out)
}
