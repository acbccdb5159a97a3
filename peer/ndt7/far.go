package ndt7

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// far is what the server reported of its end. However many measurements come, they
// are read no more often than samples are taken: the latest is the summary of
// all before it.
type far struct {
	latest  []byte // not read yet; nil: none
	samples []bulk.Sample
	last    *Measurement
	bad     error         // what was wrong with the last one that was
	until   time.Duration // when an upload had arrived, at the latest, if it has; once known
}

// hear keeps a text message.
func (f *far) hear(text []byte) { f.latest = append(f.latest[:0], text...) }

// read reads the latest message, if it was not read yet. Another implementation
// may send what is none of these: a test does not fail for that.
func (f *far) read() {
	if len(f.latest) == 0 {
		return
	}
	m, err := parseMeasurement(f.latest)
	f.latest = f.latest[:0]
	if err != nil {
		f.bad = err
		return
	}
	if m.AppInfo == nil && m.TCPInfo == nil || f.last != nil && m.elapsed() <= f.last.elapsed() {
		return
	}
	f.last = m
	sample := bulk.Sample{At: m.elapsed()}
	if m.TCPInfo != nil {
		sample.TCP = m.TCPInfo.TCPInfo
	}
	if m.AppInfo != nil {
		sample.Bytes = m.AppInfo.NumBytes
	}
	f.samples = append(f.samples, sample)
}

// end is the server's end of the client's stream.
func (f *far) end(name string, ours *bulk.Stream) bulk.End {
	end := bulk.End{Host: name, Software: "ndt7", Streams: []bulk.Stream{}, CPU: bulk.CPU{Cores: []bulk.Core{}}}
	stream, err := f.stream(ours)
	if err != nil {
		end.Error = err.Error()
		return end
	}
	end.Streams = append(end.Streams, *stream)
	return end
}

func (f *far) stream(ours *bulk.Stream) (*bulk.Stream, error) {
	switch {
	case f.last == nil && f.bad != nil:
		return nil, fmt.Errorf("the server's measurements cannot be read: %w", f.bad)
	case f.last == nil:
		return nil, fmt.Errorf("the server sent no measurement: what it counted is not known")
	}
	stream := &bulk.Stream{ID: 1, Sender: !ours.Sender, Retransmits: -1, Samples: f.samples}
	bytes, took, known := f.counted(stream.Sender)
	if !known {
		return nil, fmt.Errorf("the server's measurements do not say how much arrived")
	}
	// What it received was sent by this end, TLS and WebSocket adding a little:
	// a first message, a handshake, and less than a tenth.
	if most := ours.Bytes + ours.Bytes/10 + largestMessage; !stream.Sender && bytes > most {
		return nil, fmt.Errorf("the server says that it received %d bytes of %d", bytes, ours.Bytes)
	}
	if !stream.Sender && bytes >= ours.Bytes { // all has arrived; what it has done since is wait
		bytes, took = ours.Bytes, min(took, max(f.until, ours.Elapsed))
	}
	stream.Bytes, stream.Elapsed = bytes, took
	if info := f.last.TCPInfo; info != nil {
		stream.MSS = int(info.SndMSS)
		if stream.Sender && info.Length >= tcpEnd("TotalRetrans") {
			stream.Retransmits = int64(info.TotalRetrans)
		}
	}
	if info := f.last.ConnectionInfo; info != nil {
		stream.Local, stream.Remote = address(info.Server), address(info.Client)
	}
	if f.last.BBRInfo != nil && f.last.BBRInfo.BW > 0 {
		stream.Congestion = "bbr"
	}
	return stream, nil
}

// counted is what the server counted, and in which time: its application if it
// reports that, else its kernel.
func (f *far) counted(sender bool) (bytes int64, took time.Duration, known bool) {
	if f.last == nil {
		return 0, 0, false
	}
	if app := f.last.AppInfo; app != nil && app.NumBytes > 0 && app.ElapsedTime > 0 {
		return app.NumBytes, time.Duration(app.ElapsedTime) * time.Microsecond, true
	}
	info := f.last.TCPInfo
	if info == nil || info.ElapsedTime == 0 {
		return 0, 0, false
	}
	bytes = int64(info.BytesReceived)
	if sender {
		bytes = int64(info.BytesAcked)
	}
	return bytes, time.Duration(info.ElapsedTime) * time.Microsecond, true
}

// address passes what is an address, and nothing else.
func address(text string) string {
	if _, err := netip.ParseAddrPort(text); err != nil {
		return ""
	}
	return text
}
