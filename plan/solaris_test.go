package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

// outcome is a plan in a line per change, and its notes as one text.
func outcome(in Input) (changes []string, notes string) {
	p := Make(in)
	for _, s := range p.Steps {
		for _, c := range s.Changes {
			changes = append(changes, c.Tunable+" "+c.From+" -> "+c.To)
		}
	}
	return changes, strings.Join(p.Notes, "\n")
}

// is holds what a plan changes and says against what it has to.
func is(t *testing.T, in Input, note string, want ...string) {
	t.Helper()
	changes, notes := outcome(in)
	if diff := cmp.Diff(want, changes, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(notes, note) {
		t.Errorf("no note says %q: %s", note, notes)
	}
}

// says holds whether the notes of a plan say something.
func says(t *testing.T, in Input, note string, want bool) {
	t.Helper()
	if _, notes := outcome(in); strings.Contains(notes, note) != want {
		t.Errorf("want a note that says %q: %v, notes: %s", note, want, notes)
	}
}

func TestSolaris(t *testing.T) {
	path := between(unit.Gbps, 2*ms) // two BDPs and 4 ms of it are 1 MB
	t.Run("a sender with a small window offers no scale: it keeps the receiver from using one", func(t *testing.T) {
		h := facts(t, "solaris8", "tcp_xmit_hiwat", "1048576")
		is(t, Input{Path: path, Sender: h, OneEnd: true}, "", "tcp_wscale_always 0 -> 1")
	})
	t.Run("limits before what is below them", func(t *testing.T) {
		is(t, Input{Path: between(unit.Gbps, 20*ms), Receiver: facts(t, "solaris10"), OneEnd: true}, "route change PEER",
			"tcp_max_buf 1048576 -> 8388608", "tcp_cwnd_max 1048576 -> 8388608", "tcp_recv_hiwat 49152 -> 8388608")
	})
	t.Run("tcp_cwnd_max bounds a sender whose buffer is large enough", func(t *testing.T) {
		h := facts(t, "solaris11", "send_buf", "16777216", "max_buf", "16777216")
		is(t, Input{Path: between(unit.Gbps, 20*ms), Sender: h, OneEnd: true}, "", "_cwnd_max 1048576 -> 8388608")
		p := Make(Input{Path: between(unit.Gbps, 20*ms), Sender: h, OneEnd: true})
		if len(p.Steps) != 1 || p.Steps[0].Predicted.String() != "965 Mb/s" {
			t.Errorf("with the limit gone the path is full: %+v", p.Steps)
		}
	})
	t.Run("enough is left alone", func(t *testing.T) {
		is(t, Input{Path: path, Receiver: facts(t, "solaris10", "tcp_recv_hiwat", "1048576"), OneEnd: true}, "")
	})
	t.Run("the application asks for more than is granted", func(t *testing.T) {
		in := Input{Path: path, Receiver: facts(t, "solaris10"), OneEnd: true, Diagnosis: found(diagnose.ReceiverBuffer), Baseline: &bulk.Result{Spec: bulk.Spec{RecvBuf: 2 << 20}}}
		is(t, in, "sets SO_RCVBUF to 2 MiB itself", "tcp_max_buf 1048576 -> 2097152")
	})
	t.Run("one connection may gain from larger pieces", func(t *testing.T) {
		for value, want := range map[string]bool{"1": true, "9": true, "10": false, "0": false, "": false} {
			in := Input{Path: path, Sender: facts(t, "solaris9", "tcp_maxpsz_multiplier", value), OneEnd: true}
			says(t, in, "tcp_maxpsz_multiplier is "+value, want)
			in.Streams = 2
			says(t, in, "tcp_maxpsz_multiplier", false)
		}
	})
	t.Run("a window of up to 64 KB is offered with a scale, too, which the other end may need", func(t *testing.T) {
		for window, want := range map[string]bool{"24576": true, "65535": true, "65536": false} {
			changes, _ := outcome(Input{Path: path, Sender: facts(t, "solaris8", "tcp_xmit_hiwat", "1048576", "tcp_recv_hiwat", window), OneEnd: true})
			if got := slices.Contains(changes, "tcp_wscale_always 0 -> 1"); got != want {
				t.Errorf("a window of %s: %q", window, changes)
			}
		}
	})
	t.Run("the scale does not wait for a window that is not planned", func(t *testing.T) {
		is(t, Input{Path: between(unit.Gbps, 0), Receiver: facts(t, "solaris8"), OneEnd: true}, "", "tcp_wscale_always 0 -> 1")
	})
	t.Run("no more than the system takes", func(t *testing.T) {
		in := Input{Path: between(100*unit.Gbps, time.Second), Receiver: facts(t, "solaris11"), OneEnd: true}
		is(t, in, "", "max_buf 1048576 -> 1073741824", "_cwnd_max 1048576 -> 1073741824", "recv_buf 128000 -> 1073741824")
		says(t, in, "cannot be higher", false)
	})
}

// NFS over Solaris: larger requests, where their limits are below 1 MiB, several
// connections and soft rings where the path is fast.
func TestSolarisNFS(t *testing.T) {
	large := []string{"tcp_recv_hiwat", "67108864", "tcp_max_buf", "67108864", "tcp_cwnd_max", "67108864", "nfsd.servers", "1024"}
	for _, c := range []struct {
		name   string
		system string
		rate   unit.Rate
		set    []string
		want   []string
	}{
		{"9 has one limit of requests", "solaris9", unit.Gbps, []string{"nfs:nfs3_max_transfer_size", "32768"},
			[]string{"nfs:nfs3_max_transfer_size 32768 -> 1048576", "nfs:nfs3_bsize 32768 -> 1048576"}},
		{"10 has one more", "solaris10", unit.Gbps, []string{"nfs:nfs3_max_transfer_size", "32768", "nfs:nfs3_max_transfer_size_cots", "32768"},
			[]string{"nfs:nfs3_max_transfer_size 32768 -> 1048576", "nfs:nfs3_max_transfer_size_cots 32768 -> 1048576", "nfs:nfs3_bsize 32768 -> 1048576"}},
		{"all are large", "solaris10", unit.Gbps, []string{"nfs:nfs3_bsize", "1048576"}, nil},
		{"a fast path", "solaris10", 10 * unit.Gbps, []string{"nfs:nfs3_bsize", "1048576"},
			[]string{"rpcmod:clnt_max_conns 1 -> 8", "ip:ip_soft_rings_cnt 2 -> 8", "ip:ip_squeue_soft_ring 0 -> 1"}},
		{"soft rings that are there, and not used", "solaris10", 10 * unit.Gbps, []string{"nfs:nfs3_bsize", "1048576", "rpcmod:clnt_max_conns", "8", "ip:ip_soft_rings_cnt", "8"},
			[]string{"ip:ip_squeue_soft_ring 0 -> 1"}},
		{"more of them than this needs", "solaris10", 10 * unit.Gbps, []string{"nfs:nfs3_bsize", "1048576", "rpcmod:clnt_max_conns", "8", "ip:ip_soft_rings_cnt", "32", "ip:ip_squeue_soft_ring", "1"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := Input{Path: between(c.rate, ms), Receiver: facts(t, c.system, append(large, c.set...)...), OneEnd: true, Workload: NFS}
			is(t, in, "Whether "+c.system+" mounts or serves is not known", c.want...)
			says(t, in, "What keeps NFS on "+c.system+" busy besides", slices.ContainsFunc(c.want, func(w string) bool { return strings.Contains(w, "nfs3") }))
			says(t, in, "does not have nfs:", false)
			in.Workload = ""
			if changes, _ := outcome(in); len(changes) != 0 {
				t.Errorf("without NFS: %q", changes)
			}
		})
	}
}

func TestSoftRings(t *testing.T) {
	path := between(10*unit.Gbps, ms)
	busy := func(system, arch string, cpus int) Input {
		h := facts(t, system, "tcp_recv_hiwat", "16777216", "recv_buf", "16777216")
		h.Arch, h.CPUs = arch, cpus
		return Input{Path: path, Receiver: h, OneEnd: true, Diagnosis: found(diagnose.ReceiverCPU)}
	}
	for _, c := range []struct {
		name string
		in   Input
		note string
		want []string
	}{
		{"sun4v has them on, and many CPUs", busy("solaris10", "sun4v", 64), "", []string{"ip:ip_soft_rings_cnt 2 -> 16"}},
		{"elsewhere", busy("solaris10", "i86pc", 0), "", []string{"ip:ip_soft_rings_cnt 2 -> 8", "ip:ip_squeue_soft_ring 0 -> 1"}},
		{"no more than there are CPUs", busy("solaris10", "i86pc", 4), "", []string{"ip:ip_soft_rings_cnt 2 -> 4", "ip:ip_squeue_soft_ring 0 -> 1"}},
		{"Solaris 11 does it by itself", busy("solaris11", "", 0), "ip:ip_soft_rings_cnt is not set", nil},
		{"Solaris 9 has none", busy("solaris9", "", 0), "A tunable does not make a core faster", nil},
		{"illumos does it by itself", busy("illumos", "", 0), "A tunable does not make a core faster", nil},
	} {
		t.Run(c.name, func(t *testing.T) { is(t, c.in, c.note, c.want...) })
	}
	for _, none := range []string{"solaris9", "illumos"} {
		says(t, busy(none, "", 0), "soft_ring", false)
	}
	p := Make(busy("solaris10", "sun4v", 64))
	if risk := p.Steps[0].Risk; !strings.Contains(risk, "from the next reboot on") {
		t.Errorf("the risk does not say that it needs a reboot: %s", risk)
	}
}
