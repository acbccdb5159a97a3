package tune

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/plan"
)

// What the other end's administrator is told is the system's own way of setting
// each tunable, and what no command sets is told in words.
func TestAdviseStep(t *testing.T) {
	tuning := tuned(&hole{}, time.Minute)
	tuning.adviseStep(plan.Step{Idea: "try", Changes: []plan.Change{
		{Role: plan.Receiver, Host: "b", Tunable: "link.qdisc@eth0", From: "pfifo_fast", To: "fq"},
		{Role: plan.Receiver, Host: "b", Tunable: "net.ipv4.tcp_sack", From: "0", To: "1"},
		{Role: plan.Receiver, Host: "b", Tunable: "nfs.rsize@/srv", From: "65536", To: "1048576"},
		{Role: plan.Receiver, Host: "b", Tunable: "link.mtu@eth0; reboot", From: "1500", To: "9000"},
		{Role: plan.Sender, Host: "a", Tunable: "net.ipv4.tcp_sack", From: "0", To: "1"},
	}}, func(c plan.Change) bool { return c.Role == plan.Receiver })
	if len(tuning.result.Advice) != 1 {
		t.Fatalf("advice %+v", tuning.result.Advice)
	}
	a := tuning.result.Advice[0]
	want := []string{"tc qdisc replace dev eth0 root fq", "sysctl -w net.ipv4.tcp_sack='1'", "ip link set dev 'eth0; reboot' mtu 9000"}
	if !slices.Equal(a.Commands, want) || !strings.Contains(a.Says, "rsize=1048576 among the options of /srv in /etc/fstab") || a.Host != "b" {
		t.Errorf("advice %+v, want the commands %q", a, want)
	}
}
