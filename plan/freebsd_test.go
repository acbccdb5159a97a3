package plan

import (
	"testing"

	"github.com/fullbore/fullbore/unit"
)

func TestFreeBSD(t *testing.T) {
	wan := between(unit.Gbps, 150*ms)
	t.Run("receiver: the step only where there is one", func(t *testing.T) {
		is(t, Input{Path: wan, Receiver: facts(t, "freebsd12"), OneEnd: true}, "",
			"kern.ipc.maxsockbuf 2097152 -> 134217728", "net.inet.tcp.recvbuf_max 2097152 -> 67108864", "net.inet.tcp.recvbuf_inc 16384 -> 524288")
		is(t, Input{Path: wan, Receiver: facts(t, "freebsd14"), OneEnd: true}, "",
			"kern.ipc.maxsockbuf 2097152 -> 134217728", "net.inet.tcp.recvbuf_max 2097152 -> 67108864")
	})
	t.Run("a maximum of autotuning above the limit does nothing", func(t *testing.T) {
		in := Input{Path: wan, Receiver: facts(t, "freebsd14", "net.inet.tcp.recvbuf_max", "67108864"), OneEnd: true}
		is(t, in, "", "kern.ipc.maxsockbuf 2097152 -> 134217728")
		if got := Make(in).Steps[0].Predicted; got.String() != "965 Mb/s" {
			t.Errorf("predicted: %v", got)
		}
	})
	t.Run("sender: CUBIC where it is loaded, and said where it is not", func(t *testing.T) {
		buffers := []string{"net.inet.tcp.sendbuf_max", "67108864", "kern.ipc.maxsockbuf", "134217728"}
		is(t, Input{Path: wan, Sender: facts(t, "freebsd12", buffers...), OneEnd: true}, "kldload cc_cubic")
		is(t, Input{Path: wan, Sender: facts(t, "freebsd12", append(buffers, "net.inet.tcp.cc.available", "CCmod D PCB count newreno * 8 cubic 0")...), OneEnd: true}, "",
			"net.inet.tcp.cc.algorithm newreno -> cubic")
		is(t, Input{Path: wan, Sender: facts(t, "freebsd14", buffers...), OneEnd: true}, "")
	})
	t.Run("a short path does not need CUBIC", func(t *testing.T) {
		is(t, Input{Path: between(unit.Gbps, ms), Sender: facts(t, "freebsd12", "net.inet.tcp.cc.available", "newreno cubic"), OneEnd: true}, "")
	})
	t.Run("autotuning is off", func(t *testing.T) {
		is(t, Input{Path: between(unit.Gbps, 2*ms), Sender: facts(t, "freebsd14", "net.inet.tcp.sendbuf_auto", "0"), OneEnd: true}, "hostcache", "net.inet.tcp.sendbuf_auto 0 -> 1")
	})
	t.Run("a small pool of clusters", func(t *testing.T) {
		is(t, Input{Path: wan, Receiver: facts(t, "freebsd14", "kern.ipc.nmbclusters", "1024"), OneEnd: true}, "raise it by hand if netstat -m counts requests denied",
			"kern.ipc.maxsockbuf 2097152 -> 134217728", "net.inet.tcp.recvbuf_max 2097152 -> 67108864")
	})
}
