package host

import (
	"math"
	"strings"

	"github.com/safchain/ethtool"
)

// driverNames are the names by which drivers count what matters here (ethtool
// -S), by the bareName. Drivers are those of Linux 6.18,
// drivers/net/ethernet/; names that mean something else in another driver are
// left out.
var driverNames = map[string]func(*LinkCounters) *int64{
	"rx_crc_errors":                  crc, // e1000e, igb, ixgbe, i40e, ice, mlx5, bnx2, bnx2x, be2net, qede, enic
	"rx_fcs_errors":                  crc, // tg3
	"rx_fcs_err_frames":              crc, // bnxt_en
	"rx_fcs_error":                   crc, // sky2
	"rx_frame_check_sequence_errors": crc, // macb
	"mmc_rx_crc_error":               crc, // stmmac
	"IEEE_rx_crc":                    crc, // fec
	"crc_errors_received":            crc, // mvneta
	"port_rx_bad":                    crc, // sfc
	"mac_rx_fcs_err_pkt_num":         crc, // hns3
	"frames_rx_bad_fcs":              crc, // ionic
	"rx_fcs":                         crc, // bcmgenet

	"rx_align_errors":            frame, // e1000e, igb, tg3, bnx2, bnx2x
	"align_errors":               frame, // r8169
	"rx_align_err_frames":        frame, // bnxt_en
	"rx_alignment_errors":        frame, // macb
	"mmc_rx_align_error":         frame, // stmmac
	"IEEE_rx_align":              frame, // fec
	"rx_frame_align_error":       frame, // forcedeth
	"port_rx_align_error":        frame, // sfc
	"rx_alignment_symbol_errors": frame, // be2net
	"rx_align":                   frame, // bcmgenet

	"rx_symbol_err":        symbol, // mlx5
	"rx_code":              symbol, // bcmgenet
	"rx_symbol_errors":     symbol, // macb
	"port_rx_symbol_error": symbol, // sfc
	"illegal_bytes":        symbol, // i40e, ice

	"rx_jabbers":          jabber, // tg3, bnx2, bnx2x, mlx5, macb
	"rx_jabber":           jabber, // i40e, ice, sky2, bcmgenet
	"rx_jbr_frames":       jabber, // bnxt_en
	"mmc_rx_jabber_error": jabber, // stmmac
	"jabber_received":     jabber, // mvneta
	"jabber_events":       jabber, // be2net

	"tx_late_collisions":     lateCollisions, // tg3, bnx2, bnx2x, macb
	"tx_abort_late_coll":     lateCollisions, // e1000e, igb
	"tx_late_collision":      lateCollisions, // forcedeth
	"late_collision":         lateCollisions, // sky2, mvneta
	"mmc_tx_latecol":         lateCollisions, // stmmac
	"tx_late_col":            lateCollisions, // bcmgenet
	"IEEE_tx_lcol":           lateCollisions, // fec
	"port_tx_late_collision": lateCollisions, // sfc

	"tx_collisions":       collisions, // tg3
	"tx_total_collisions": collisions, // bnx2, bnx2x, bnxt_en

	"rx_discards":           missed, // tg3, bnx2, bnx2x, mlx5
	"rx_out_of_buffer":      missed, // mlx5
	"rx_missed":             missed, // r8169
	"rx_no_dma_resources":   missed, // ixgbe
	"rx_total_discard_pkts": missed, // bnxt_en
	"port_rx_nodesc_drops":  missed, // sfc
	"rx_drops_no_pbuf":      missed, // be2net

	"tx_discards":           txDropped, // tg3, mlx5
	"tx_total_discard_pkts": txDropped, // bnxt_en
}

func crc(c *LinkCounters) *int64            { return &c.CRC }
func frame(c *LinkCounters) *int64          { return &c.Frame }
func symbol(c *LinkCounters) *int64         { return &c.Symbol }
func jabber(c *LinkCounters) *int64         { return &c.Jabber }
func collisions(c *LinkCounters) *int64     { return &c.Collisions }
func lateCollisions(c *LinkCounters) *int64 { return &c.LateCollisions }
func missed(c *LinkCounters) *int64         { return &c.RxMissed }
func txDropped(c *LinkCounters) *int64      { return &c.TxDropped }

// bareName takes off what some drivers mark the counters of the port with, as
// opposed to those of a queue or a virtual function: i40e "port.rx_crc_errors",
// ice "rx_crc_errors.nic", mlx5 "rx_crc_errors_phy".
func bareName(name string) string {
	name = strings.TrimPrefix(name, "port.")
	name = strings.TrimSuffix(name, ".nic")
	return strings.TrimSuffix(name, "_phy")
}

// addDriver takes over what a driver counts, where that is more than what the
// kernel does.
func (c *LinkCounters) addDriver(counters map[string]uint64) {
	for name, value := range counters {
		if field, ok := driverNames[bareName(name)]; ok {
			*field(c) = max(*field(c), int64(min(value, math.MaxInt64)))
		}
	}
}

// driverCounters are what ethtool -S shows; nil for a device that has none.
func driverCounters(name string) map[string]uint64 {
	e, err := ethtool.NewEthtool()
	if err != nil {
		return nil
	}
	defer e.Close()
	counters, err := e.Stats(name)
	if err != nil {
		return nil
	}
	return counters
}
