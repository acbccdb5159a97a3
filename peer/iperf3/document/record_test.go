package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// made is a transfer made up for the golden files: each stream carries 100 Mb/s,
// a retransmission a second for a sender, a lost datagram in a hundred, a look
// every 100 ms.
type made struct {
	spec   bulk.Spec
	server bool
	end    time.Duration // in all, if not after omitted and measured time
}

const (
	madeRate = 100 * unit.Mbps
	madeTick = 100 * time.Millisecond
)

// record replays the transfer, and tells watch of every completed row.
func (m made) record(watch func(Record)) Record {
	r := Record{
		Result: &bulk.Result{Spec: m.spec}, Server: m.server, Host: "192.0.2.7", Port: 5201,
		Cookie: "kursogjletyyx2hb24bqk2iakewpwlzpksnd", Began: time.Unix(1_795_228_995, 123e6),
		Rows: NewRows(m.spec, time.Second),
	}
	if m.server {
		r.Port = 40118
	}
	whole := m.spec.Omit + m.spec.Duration
	if m.end > 0 {
		whole = m.end
	}
	for at := madeTick; at < whole+madeTick/2; at += madeTick {
		if r.Rows.Add(m.progress(at)) && watch != nil {
			watch(r)
		}
	}
	r.Result.Client, r.Result.Server = m.recorded(false, whole), m.recorded(true, whole)
	return r
}

func (m made) progress(at time.Duration) bulk.Progress {
	p := bulk.Progress{At: at, Omitting: at < m.spec.Omit}
	for _, s := range m.streams(m.server) {
		local, remote := m.addresses(s.ID, m.server)
		p.Streams = append(p.Streams, bulk.Look{ID: s.ID, Sender: s.Sender, Local: local, Remote: remote, Sample: m.sample(s, at)})
	}
	return p
}

// streams are numbered as iperf3 does.
func (m made) streams(server bool) []bulk.Look {
	var looks []bulk.Look
	add := func(clientSends bool) {
		for range m.spec.Streams {
			id := len(looks) + 1
			if id > 1 {
				id++
			}
			looks = append(looks, bulk.Look{ID: id, Sender: clientSends != server})
		}
	}
	if m.spec.Direction != bulk.Reverse {
		add(true)
	}
	if m.spec.Direction != bulk.Forward {
		add(false)
	}
	return looks
}

func (m made) addresses(id int, server bool) (local, remote string) {
	client, listener := fmt.Sprintf("198.51.100.4:%d", 40118+id), "192.0.2.7:5201"
	if server {
		return listener, client
	}
	return client, listener
}

func (m made) sample(s bulk.Look, at time.Duration) bulk.Sample {
	sample := bulk.Sample{At: at, Omitted: at < m.spec.Omit, Bytes: int64(madeRate.BytesIn(at))}
	sample.Mem.SendBuf, sample.Mem.RecvBuf = 16384, 131072
	if m.spec.Protocol == bulk.UDP {
		sample.UDP = m.datagrams(s.Sender, at)
		return sample
	}
	ms := uint32(at.Milliseconds())
	sample.TCP = bulk.TCPInfo{
		Length: 280, SndMSS: 1448, PMTU: 1500, SndCwnd: 800 + ms/10, SndWnd: 3 << 20, RTT: 20_000 + ms, RTTVar: 500,
		TotalRetrans: uint32(at / time.Second), ReordSeen: uint32(at / time.Second / 2),
	}
	return sample
}

func (m made) datagrams(sender bool, at time.Duration) *bulk.Datagrams {
	counts := func(at time.Duration) bulk.Counts {
		packets := int64(madeRate.BytesIn(at)) / 1250
		if sender {
			return bulk.Counts{Packets: packets}
		}
		return bulk.Counts{Packets: packets, Lost: packets / 100, OutOfOrder: packets / 5000}
	}
	all, before := counts(at), counts(min(at, m.spec.Omit))
	d := &bulk.Datagrams{
		Packets: all.Packets - before.Packets, Lost: all.Lost - before.Lost, OutOfOrder: all.OutOfOrder - before.OutOfOrder, Omitted: before,
	}
	if !sender {
		d.Jitter = 0.000_042
	}
	return d
}

func (m made) recorded(server bool, whole time.Duration) bulk.End {
	end := bulk.End{Host: "a", CPU: bulk.CPU{Elapsed: 4 * time.Second, User: 100 * time.Millisecond, System: time.Second}}
	for _, look := range m.streams(server) {
		s := bulk.Stream{
			ID: look.ID, Sender: look.Sender, SendBuf: 4 << 20, RecvBuf: 6 << 20, Retransmits: -1,
			Bytes: int64(madeRate.BytesIn(whole)) - int64(madeRate.BytesIn(m.spec.Omit)), Omitted: int64(madeRate.BytesIn(m.spec.Omit)),
			Began: m.spec.Omit, Elapsed: whole - m.spec.Omit, Samples: []bulk.Sample{m.sample(look, 0), m.sample(look, whole)},
		}
		s.Local, s.Remote = m.addresses(look.ID, server)
		switch m.spec.Protocol {
		case bulk.UDP:
			s.Datagrams = m.datagrams(s.Sender, whole)
			if !s.Sender {
				s.Bytes = s.Bytes / 100 * 99
			}
		default:
			s.Congestion, s.MSS = "cubic", 1448
			if s.Sender {
				s.Retransmits = 3
				s.Peaks = bulk.Peaks{MaxSndCwnd: 1_700_000, MaxSndWnd: 3 << 20, MinRTT: 20_000, MaxRTT: 24_000, MeanRTT: 22_000}
			}
		}
		end.Streams = append(end.Streams, s)
	}
	if server {
		end.Host = "b"
	}
	return end
}

// still replaces what differs from host to host and from build to build.
func still(start *Start) {
	start.Version, start.SystemInfo = "iperf 3.21 (fullbore v1.0.0)", "Linux a 6.18.0 #1 SMP x86_64"
}

func indented(t *testing.T, doc *Document) []byte {
	t.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(doc); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
