package tunable

import (
	"strings"
	"testing"
)

// The names that the plan, the formats and the collectors rely on.
var relied = map[string]string{
	"linux": `net.ipv4.tcp_rmem net.ipv4.tcp_wmem net.core.rmem_max net.core.wmem_max net.core.rmem_default net.core.wmem_default
		net.ipv4.tcp_mem net.ipv4.tcp_moderate_rcvbuf net.ipv4.tcp_rcvbuf_low_rtt net.ipv4.tcp_shrink_window net.ipv4.tcp_window_scaling
		net.ipv4.tcp_timestamps net.ipv4.tcp_sack net.ipv4.tcp_dsack net.ipv4.tcp_fack net.ipv4.tcp_low_latency net.ipv4.tcp_no_metrics_save
		net.ipv4.tcp_no_ssthresh_metrics_save net.ipv4.tcp_slow_start_after_idle net.ipv4.tcp_notsent_lowat net.ipv4.tcp_limit_output_bytes
		net.ipv4.tcp_mtu_probing net.ipv4.tcp_congestion_control net.core.default_qdisc net.ipv4.tcp_ecn net.ipv4.tcp_max_reordering
		net.ipv4.tcp_reordering net.ipv4.tcp_tso_win_divisor net.ipv4.tcp_min_tso_segs net.ipv4.tcp_tso_rtt_log net.ipv4.tcp_pacing_ss_ratio
		net.ipv4.tcp_pacing_ca_ratio net.core.netdev_max_backlog net.core.netdev_budget net.core.netdev_budget_usecs net.core.dev_weight
		net.core.somaxconn net.core.optmem_max net.core.rps_sock_flow_entries net.ipv4.tcp_adv_win_scale net.ipv4.tcp_bic
		sunrpc.tcp_slot_table_entries sunrpc.tcp_max_slot_table_entries link.mtu link.txqueuelen link.ring.rx link.ring.tx
		link.channels.combined link.coalesce.rx-usecs link.coalesce.adaptive-rx link.offload.rx link.offload.tx link.offload.sg
		link.offload.tso link.offload.gso link.offload.gro link.offload.lro link.pause.autoneg link.pause.rx link.pause.tx link.qdisc
		link.rps_cpus link.rps_flow_cnt cpu.governor module.nfs.max_session_slots nfsd.threads nfsd.max_block_size nfs.rsize nfs.wsize
		nfs.nconnect nfs.max_connect nfs.read_ahead_kb route.congctl cmdline.iommu`,
	"solaris": `tcp_recv_hiwat tcp_xmit_hiwat tcp_max_buf tcp_cwnd_max tcp_wscale_always tcp_tstamp_if_wscale tcp_sack_permitted
		tcp_slow_start_initial tcp_deferred_acks_max tcp_maxpsz_multiplier recv_buf send_buf max_buf _cwnd_max _wscale_always
		_tstamp_if_wscale sack _slow_start_initial _deferred_acks_max ip:ip_soft_rings_cnt ip:ip_squeue_soft_ring
		ip:ip_multidata_outbound rpcmod:clnt_max_conns nfs:nfs3_max_transfer_size nfs:nfs3_max_transfer_size_cots nfs:nfs3_bsize
		nfs:nfs3_nra nfs:nfs3_max_threads nfsd.servers link.mtu link.rxrings`,
	"illumos": `recv_buf send_buf max_buf _cwnd_max _wscale_always _tstamp_if_wscale sack _slow_start_initial _deferred_acks_max
		rpcmod:clnt_max_conns nfs:nfs3_max_transfer_size nfs:nfs3_max_transfer_size_cots nfs:nfs3_bsize nfs:nfs3_nra
		nfs:nfs3_max_threads nfsd.servers link.mtu link.rxrings`,
	"macos": `kern.ipc.maxsockbuf net.inet.tcp.sendspace net.inet.tcp.recvspace net.inet.tcp.autorcvbufmax net.inet.tcp.autosndbufmax
		net.inet.tcp.doautorcvbuf net.inet.tcp.doautosndbuf net.inet.tcp.win_scale_factor net.inet.tcp.rfc1323 net.inet.tcp.delayed_ack
		kern.ipc.nmbclusters link.mtu`,
	"freebsd": `kern.ipc.maxsockbuf kern.ipc.nmbclusters net.inet.tcp.sendbuf_max net.inet.tcp.recvbuf_max net.inet.tcp.sendbuf_auto
		net.inet.tcp.recvbuf_auto net.inet.tcp.sendbuf_inc net.inet.tcp.recvbuf_inc net.inet.tcp.sendspace net.inet.tcp.recvspace
		net.inet.tcp.rfc1323 net.inet.tcp.functions_default net.inet.tcp.cc.algorithm net.inet.tcp.cc.available
		net.inet.tcp.hostcache.expire link.mtu`,
	"windows": `TcpWindowSize TcpWindowSize.interface GlobalMaxTcpWindowSize Tcp1323Opts SackOpts DefaultReceiveWindow DefaultSendWindow
		autotuninglevel heuristics rss rsc ecncapability timestamps chimney CongestionProvider InitialCongestionWindowMss
		AutoTuningLevelEffective link.mtu ReceiveBuffers JumboPacket nfs.ReadBufferSize nfs.WriteBufferSize smb.EnableMultiChannel
		smb.ConnectionCountPerRssNetworkInterface`,
}

func TestNames(t *testing.T) {
	for id, names := range relied {
		for name := range strings.FieldsSeq(names) {
			if _, ok := Lookup(id, name); !ok {
				t.Errorf("%s has no %s", id, name)
			}
		}
	}
}

// A name is of an instance only where there can be one.
func TestLookupInstance(t *testing.T) {
	for name, want := range map[string]bool{
		"link.mtu": true, "link.mtu@eth0": true, "nfs.rsize@/mnt/a b": true, "route.congctl@198.18.0.0/15": true,
		"net.core.rmem_max": true, "net.core.rmem_max@eth0": false, "link.mt": false, "": false, "@eth0": false,
	} {
		if _, ok := Lookup("linux", name); ok != want {
			t.Errorf("%q: found %v, want %v", name, ok, want)
		}
	}
}
