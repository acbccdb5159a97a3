package format

import (
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/plan"
	"os"
	"testing"
)

func TestTry(t *testing.T) {
	h := &host.Facts{Name: "a", OS: "linux", Version: "6.18.1"}
	p := &plan.Plan{Steps: []plan.Step{{Changes: []plan.Change{
		{Host: "a", Tunable: "net.ipv4.tcp_rmem", From: "4096 131072 33554432", To: "4096 131072 67108864", Why: "because", Source: "x, https://y"},
		{Host: "a", Tunable: "net.ipv4.tcp_slow_start_after_idle", From: "1", To: "0", Why: "because", Source: "x, https://y"},
		{Host: "a", Tunable: "link.txqueuelen@lo", From: "1000", To: "5000", Why: "because", Source: "x, https://y"},
		{Host: "a", Tunable: "link.offload.gro@e'th$(touch /tmp/x)0", From: "1", To: "0", Why: "because", Source: "x, https://y"},
		{Host: "a", Tunable: "cmdline.iommu", From: "", To: "pt", Why: "because", Source: "x, https://y"},
	}}}}
	for _, f := range []Format{script, sysctl} {
		fs, err := f.Write(p, h)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range fs {
			os.WriteFile("/tmp/ffmt/out-"+x.Name, []byte(x.Text), 0o755)
		}
		fs, err = f.Undo(p, h)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range fs {
			os.WriteFile("/tmp/ffmt/out-"+x.Name, []byte(x.Text), 0o755)
		}
	}
}
