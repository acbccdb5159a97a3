package plan

import (
	"strings"
	"testing"

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
	t.Run("RSS", func(t *testing.T) {
		in := one(facts(t, "windows2019", "rss", "disabled"))
		in.Diagnosis = found(diagnose.ReceiverCPU)
		is(t, in, "", "rss disabled -> enabled")
	})
}
