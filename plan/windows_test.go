package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

func TestWindows(t *testing.T) {
	one := func(h *host.Facts, path ...any) Input {
		return Input{Path: between(unit.Gbps, 67*ms), Receiver: h, OneEnd: true, Diagnosis: found(diagnose.ReceiverBuffer)}
	}
	t.Run("the level is raised to normal, and heuristics cannot take it back", func(t *testing.T) {
		is(t, one(facts(t, "windows7", "autotuninglevel", "disabled")), "",
			"autotuninglevel disabled -> normal", "heuristics enabled -> disabled")
	})
	t.Run("normal is enough for 16 MB", func(t *testing.T) {
		is(t, one(facts(t, "windows2019")), "autotuninglevel=normal")
	})
	t.Run("a path that holds more, and its risk", func(t *testing.T) {
		in := one(facts(t, "windows2019"))
		in.Path = between(10*unit.Gbps, 100*ms) // 125 MB
		is(t, in, "", "autotuninglevel normal -> experimental")
		p := Make(in)
		if s := p.Steps[0]; !strings.Contains(s.Risk, "8 connections side by side") || s.Predicted != 1341*unit.Mbps && s.Predicted.String() != "9.65 Gb/s" {
			t.Errorf("risk %q, predicted %v", s.Risk, s.Predicted)
		}
		in.Streams = 10
		is(t, in, "")
	})
	t.Run("experimental is not taken back", func(t *testing.T) {
		is(t, one(facts(t, "windows2019", "autotuninglevel", "experimental")), "")
	})
	t.Run("a policy", func(t *testing.T) {
		is(t, one(facts(t, "windows2022", "autotuninglevel", "restricted", "AutoTuningLevelEffective", "grouppolicy")), "change it in the policy")
	})
	t.Run("settings without effect are reported", func(t *testing.T) {
		is(t, one(facts(t, "windows2019", "TcpWindowSize", "262144")), "TcpWindowSize is 262144")
	})
	t.Run("chimney", func(t *testing.T) {
		is(t, one(facts(t, "windows7", "chimney", "enabled", "heuristics", "disabled")), "chimney=disabled")
	})
	t.Run("registry: the scale and the bound, then the window; timestamps stay", func(t *testing.T) {
		in := one(facts(t, "windows2003", "Tcp1323Opts", "2", "GlobalMaxTcpWindowSize", "65535"))
		in.Path = between(unit.Gbps, 2*ms)
		is(t, in, "", "Tcp1323Opts 2 -> 3", "GlobalMaxTcpWindowSize 65535 -> 1048576", "TcpWindowSize 65535 -> 1048576")
		if risk := Make(in).Steps[0].Risk; !strings.Contains(risk, "next reboot") {
			t.Errorf("the risk does not say that it needs a reboot: %s", risk)
		}
	})
	t.Run("a level that is enough needs no word to the policy", func(t *testing.T) {
		says(t, one(facts(t, "windows2022", "autotuninglevel", "normal", "AutoTuningLevelEffective", "grouppolicy")), "change it in the policy", false)
	})
	t.Run("normal goes up to 16 MB, and no further", func(t *testing.T) {
		h := facts(t, "windows2019")
		for bdp, want := range map[unit.Size]bool{65535 << 8: false, 65535<<8 + 1: true} {
			m := newMaker(one(h))
			m.need.bdp = bdp
			if i := m.windowsLevel(h); (i != nil) != want {
				t.Errorf("%d bytes in flight: %+v", int64(bdp), i)
			}
		}
	})
	t.Run("how many connections do without experimental", func(t *testing.T) {
		in := one(facts(t, "windows2019"))
		in.Path, in.Streams = between(20*unit.Gbps, 100*ms), 2 // 125 MB each
		if s := Make(in).Steps[0]; !strings.Contains(s.Risk, "15 connections side by side") {
			t.Errorf("risk %q", s.Risk)
		}
	})
	t.Run("where a policy may win, where to look; and larger packets nearby", func(t *testing.T) {
		in := one(facts(t, "windows2019", "autotuninglevel", "disabled"))
		const policy, jumbo = "Get-NetTCPSetting shows on windows2019 whether the policy or the local setting holds", "the adapter's JumboPacket"
		says(t, in, policy, false)
		says(t, in, jumbo, false)
		in.Receiver.Managers, in.Path = []host.Manager{{Name: "Group Policy"}}, between(unit.Gbps, ms)
		says(t, in, policy, true)
		says(t, in, jumbo, true)
		in.Receiver.Tunables["autotuninglevel"] = "normal" // nothing changes
		says(t, in, policy, false)
		says(t, in, jumbo, false)
	})
	t.Run("what the application sets itself", func(t *testing.T) {
		in := one(facts(t, "windows2019", "autotuninglevel", "disabled"))
		in.Baseline = &bulk.Result{Spec: bulk.Spec{RecvBuf: 1 << 20}}
		is(t, in, "The application sets SO_RCVBUF to 1 MiB itself on windows2019, which turns autotuning off.")
		sender := facts(t, "windows2003", "Tcp1323Opts", "1")
		in = Input{Path: in.Path, Sender: sender, OneEnd: true, Baseline: &bulk.Result{Spec: bulk.Spec{SendBuf: 1 << 20}}}
		is(t, in, "")
		in.Baseline = nil
		is(t, in, "", "DefaultSendWindow 8192 -> 33554432")
	})
	t.Run("what is not there is not spoken of", func(t *testing.T) {
		for system, gone := range map[string][]string{
			"windows2003": {options, "DefaultSendWindow"}, "windows7": {"heuristics", "rss"}, "windows2019": {"rss", "nfs.ReadBufferSize", "nfs.WriteBufferSize"},
		} {
			h := facts(t, system)
			for _, name := range gone {
				delete(h.Tunables, name)
			}
			for _, in := range []Input{{Receiver: h}, {Sender: h}} {
				in.Path, in.OneEnd, in.Workload, in.Diagnosis = between(unit.Gbps, 67*ms), true, NFS, found(diagnose.ReceiverCPU)
				says(t, in, "does not have", false)
				says(t, in, "is not set on", false)
			}
		}
		// Nor what this version no longer has, or not yet, though it is reported.
		says(t, one(facts(t, "windows2019", "heuristics", "enabled")), "is not set on", false)
		says(t, one(facts(t, "windows2003", "rss", "disabled")), "rss", false)
		in := one(facts(t, "windows2008", "nfs.ReadBufferSize", "32"))
		in.Workload = NFS
		says(t, in, "nfs.ReadBufferSize", false)
		says(t, Input{Path: in.Path, Sender: facts(t, "windows2019", "DefaultSendWindow", "8192"), OneEnd: true}, "is not set on", false)
	})
	t.Run("NFS: larger requests", func(t *testing.T) {
		in := one(facts(t, "windows2019", "nfs.ReadBufferSize", "32", "nfs.WriteBufferSize", "1024"))
		in.Workload = NFS
		is(t, in, "it opens several connections by itself", "nfs.ReadBufferSize 32 -> 1024")
	})
	t.Run("registry: memory that leaves the window at 64 KB needs no scale", func(t *testing.T) {
		in := one(facts(t, "windows2003", windowSize, "65535"))
		in.Connections, in.Receiver.Memory = 100_000, 1<<30
		if s := Make(in).Steps; len(s) != 1 || s[0].Idea != "let both ends agree on windows above 64 KB" {
			t.Errorf("%+v", s)
		}
	})
	t.Run("RSS", func(t *testing.T) {
		in := one(facts(t, "windows2019", "rss", "disabled"))
		in.Diagnosis = found(diagnose.ReceiverCPU)
		is(t, in, "", "rss disabled -> enabled")
	})
}

// The window of Windows up to 2003: the smallest of the global one and those of the
// interfaces that have one of their own, and 64 KB without a scale.
func TestWindowsWindow(t *testing.T) {
	for _, c := range []struct {
		options string
		own     []string // of the interfaces
		want    unit.Size
	}{
		{"1", nil, 1 << 20},
		{"3", nil, 1 << 20},
		{"0", nil, 65535},
		{"2", nil, 65535}, // timestamps alone
		{"", nil, 65535},
		{"1", []string{"0", "524288"}, 524288},
		{"1", []string{"524288", "0"}, 524288},
		{"1", []string{"2097152"}, 1 << 20},
		{"1", []string{"524288", "262144"}, 262144},
	} {
		h := facts(t, "windows2003", windowSize, "1048576", options, c.options)
		for i, own := range c.own {
			h.Tunables[fmt.Sprintf("%s.interface@eth%d", windowSize, i)] = own
		}
		if got := windowsWindow(h); got != c.want {
			t.Errorf("%+v: %d", c, int64(got))
		}
	}
}
