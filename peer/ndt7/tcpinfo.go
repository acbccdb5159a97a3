package ndt7

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/fullbore/fullbore/bulk"
)

// TCPInfo is struct tcp_info as ndt7 writes it: M-Lab's names, the kernel's
// units. Fields that the kernel is too old to have are left out, as the
// specification asks.
type TCPInfo struct {
	bulk.TCPInfo
	ElapsedTime int64 // microseconds since the handshake
}

// tcpFields are the names in the order of the struct, each with the length that
// the struct must have to contain the field. Fackets and LastAckSent, which the
// kernel no longer fills in, are not among them.
var tcpFields = []struct {
	name string
	end  int // of the field, bytes from the beginning of the struct
	of   func(*bulk.TCPInfo) any
}{
	{"State", 1, func(t *bulk.TCPInfo) any { return &t.State }},
	{"CAState", 2, func(t *bulk.TCPInfo) any { return &t.CAState }},
	{"Retransmits", 3, func(t *bulk.TCPInfo) any { return &t.Retransmits }},
	{"Probes", 4, func(t *bulk.TCPInfo) any { return &t.Probes }},
	{"Backoff", 5, func(t *bulk.TCPInfo) any { return &t.Backoff }},
	{"Options", 6, func(t *bulk.TCPInfo) any { return &t.Options }},
	{"WScale", 7, func(t *bulk.TCPInfo) any { return (*scales)(t) }},
	{"AppLimited", 8, func(t *bulk.TCPInfo) any { return &t.AppLimited }},
	{"RTO", 12, func(t *bulk.TCPInfo) any { return &t.RTO }},
	{"ATO", 16, func(t *bulk.TCPInfo) any { return &t.ATO }},
	{"SndMSS", 20, func(t *bulk.TCPInfo) any { return &t.SndMSS }},
	{"RcvMSS", 24, func(t *bulk.TCPInfo) any { return &t.RcvMSS }},
	{"Unacked", 28, func(t *bulk.TCPInfo) any { return &t.Unacked }},
	{"Sacked", 32, func(t *bulk.TCPInfo) any { return &t.Sacked }},
	{"Lost", 36, func(t *bulk.TCPInfo) any { return &t.Lost }},
	{"Retrans", 40, func(t *bulk.TCPInfo) any { return &t.Retrans }},
	{"LastDataSent", 48, func(t *bulk.TCPInfo) any { return &t.LastDataSent }},
	{"LastDataRecv", 56, func(t *bulk.TCPInfo) any { return &t.LastDataRecv }},
	{"LastAckRecv", 60, func(t *bulk.TCPInfo) any { return &t.LastAckRecv }},
	{"PMTU", 64, func(t *bulk.TCPInfo) any { return &t.PMTU }},
	{"RcvSsThresh", 68, func(t *bulk.TCPInfo) any { return &t.RcvSsthresh }},
	{"RTT", 72, func(t *bulk.TCPInfo) any { return &t.RTT }},
	{"RTTVar", 76, func(t *bulk.TCPInfo) any { return &t.RTTVar }},
	{"SndSsThresh", 80, func(t *bulk.TCPInfo) any { return &t.SndSsthresh }},
	{"SndCwnd", 84, func(t *bulk.TCPInfo) any { return &t.SndCwnd }},
	{"AdvMSS", 88, func(t *bulk.TCPInfo) any { return &t.AdvMSS }},
	{"Reordering", 92, func(t *bulk.TCPInfo) any { return &t.Reordering }},
	{"RcvRTT", 96, func(t *bulk.TCPInfo) any { return &t.RcvRTT }},
	{"RcvSpace", 100, func(t *bulk.TCPInfo) any { return &t.RcvSpace }},
	{"TotalRetrans", 104, func(t *bulk.TCPInfo) any { return &t.TotalRetrans }},
	{"PacingRate", 112, func(t *bulk.TCPInfo) any { return (*rate)(&t.PacingRate) }},
	{"MaxPacingRate", 120, func(t *bulk.TCPInfo) any { return (*rate)(&t.MaxPacingRate) }},
	{"BytesAcked", 128, func(t *bulk.TCPInfo) any { return &t.BytesAcked }},
	{"BytesReceived", 136, func(t *bulk.TCPInfo) any { return &t.BytesReceived }},
	{"SegsOut", 140, func(t *bulk.TCPInfo) any { return &t.SegsOut }},
	{"SegsIn", 144, func(t *bulk.TCPInfo) any { return &t.SegsIn }},
	{"NotsentBytes", 148, func(t *bulk.TCPInfo) any { return &t.NotsentBytes }},
	{"MinRTT", 152, func(t *bulk.TCPInfo) any { return &t.MinRTT }},
	{"DataSegsIn", 156, func(t *bulk.TCPInfo) any { return &t.DataSegsIn }},
	{"DataSegsOut", 160, func(t *bulk.TCPInfo) any { return &t.DataSegsOut }},
	{"DeliveryRate", 168, func(t *bulk.TCPInfo) any { return &t.DeliveryRate }},
	{"BusyTime", 176, func(t *bulk.TCPInfo) any { return &t.BusyTime }},
	{"RWndLimited", 184, func(t *bulk.TCPInfo) any { return &t.RwndLimited }},
	{"SndBufLimited", 192, func(t *bulk.TCPInfo) any { return &t.SndbufLimited }},
	{"Delivered", 196, func(t *bulk.TCPInfo) any { return &t.Delivered }},
	{"DeliveredCE", 200, func(t *bulk.TCPInfo) any { return &t.DeliveredCE }},
	{"BytesSent", 208, func(t *bulk.TCPInfo) any { return &t.BytesSent }},
	{"BytesRetrans", 216, func(t *bulk.TCPInfo) any { return &t.BytesRetrans }},
	{"DSackDups", 220, func(t *bulk.TCPInfo) any { return &t.DsackDups }},
	{"ReordSeen", 224, func(t *bulk.TCPInfo) any { return &t.ReordSeen }},
	{"RcvOooPack", 228, func(t *bulk.TCPInfo) any { return &t.RcvOooPack }},
	{"SndWnd", 232, func(t *bulk.TCPInfo) any { return &t.SndWnd }},
}

// scales is the byte with both window scales: the peer's in the low half.
type scales bulk.TCPInfo

// rate is written with a sign, since M-Lab's programs read it so: no limit, all
// ones, is -1.
type rate uint64

// MarshalJSON writes the fields that the kernel has.
func (t *TCPInfo) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for _, f := range tcpFields {
		if f.end > t.Length {
			break
		}
		out = strconv.AppendQuote(out, f.name)
		out = append(out, ':')
		switch v := f.of(&t.TCPInfo).(type) {
		case *uint8:
			out = strconv.AppendUint(out, uint64(*v), 10)
		case *uint32:
			out = strconv.AppendUint(out, uint64(*v), 10)
		case *uint64:
			out = strconv.AppendUint(out, *v, 10)
		case *rate:
			out = strconv.AppendInt(out, int64(*v), 10)
		case *bool:
			out = strconv.AppendUint(out, uint64(bit(*v)), 10)
		case *scales:
			out = strconv.AppendUint(out, uint64(v.SndWScale&0xf|v.RcvWScale<<4), 10)
		}
		out = append(out, ',')
	}
	out = append(out, `"ElapsedTime":`...)
	out = strconv.AppendInt(out, t.ElapsedTime, 10)
	return append(out, '}'), nil
}

// UnmarshalJSON reads the fields it knows and ignores others. Length becomes
// that of the struct up to the first field that is missing.
func (t *TCPInfo) UnmarshalJSON(text []byte) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*t = TCPInfo{}
	whole := true
	for _, f := range tcpFields {
		raw, ok := values[f.name]
		if whole = whole && ok; whole {
			t.Length = f.end
		}
		if !ok {
			continue
		}
		if err := setField(f.of(&t.TCPInfo), string(raw)); err != nil {
			return fmt.Errorf("TCPInfo.%s: %w", f.name, err)
		}
	}
	if raw, ok := values["ElapsedTime"]; ok {
		if err := json.Unmarshal(raw, &t.ElapsedTime); err != nil {
			return fmt.Errorf("TCPInfo.ElapsedTime: %w", err)
		}
	}
	return nil
}

func setField(field any, value string) error {
	switch f := field.(type) {
	case *uint8:
		n, err := strconv.ParseUint(value, 10, 8)
		*f = uint8(n)
		return err
	case *uint32:
		n, err := strconv.ParseUint(value, 10, 32)
		*f = uint32(n)
		return err
	case *uint64:
		n, err := strconv.ParseUint(value, 10, 63) // it is counted with
		*f = n
		return err
	case *rate:
		n, err := strconv.ParseInt(value, 10, 64)
		*f = rate(n)
		return err
	case *bool:
		n, err := strconv.ParseUint(value, 10, 8)
		*f = n&1 != 0
		return err
	case *scales:
		n, err := strconv.ParseUint(value, 10, 8)
		f.SndWScale, f.RcvWScale = uint8(n)&0xf, uint8(n)>>4
		return err
	}
	return nil
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// tcpEnd is the length that struct tcp_info must have to contain a field.
func tcpEnd(name string) int {
	for _, f := range tcpFields {
		if f.name == name {
			return f.end
		}
	}
	panic("ndt7: TCPInfo has no field " + name)
}
