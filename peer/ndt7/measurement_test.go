package ndt7

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/internal/golden"
)

// filled has a different value in every field that the kernel has.
func filled(length int) bulk.TCPInfo {
	t := bulk.TCPInfo{Length: length}
	for i, f := range tcpFields {
		if f.end > length {
			break
		}
		switch v := f.of(&t).(type) {
		case *uint8:
			*v = uint8(i + 1)
		case *uint32:
			*v = uint32(1000 + i)
		case *uint64:
			*v = uint64(1_000_000 + i)
		case *rate:
			*v = math.MaxUint64
		case *bool:
			*v = true
		case *scales:
			v.SndWScale, v.RcvWScale = 7, 10
		}
	}
	return t
}

// TestWire pins what is sent, key for key: other people's programs read it.
func TestWire(t *testing.T) {
	m := Measurement{
		AppInfo:        &AppInfo{NumBytes: 123456789, ElapsedTime: 250000},
		ConnectionInfo: &ConnectionInfo{Client: "192.0.2.1:5678", Server: "[2001:db8::1]:5201", UUID: "U", StartTime: "2026-11-21T03:00:00Z"},
		BBRInfo:        &BBRInfo{BW: 125000000, MinRTT: 40000, PacingGain: 739, CwndGain: 739, ElapsedTime: 250001},
		TCPInfo:        &TCPInfo{TCPInfo: filled(280), ElapsedTime: 250001},
		Origin:         "server", Test: "download",
	}
	compact, err := json.Marshal(&m)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(json.RawMessage(compact), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	golden.Check(t, "measurement.json", got)
}

// mlab are the keys of TCPInfo in M-Lab's data, that its clients may read; the
// two that kernels no longer fill in are left out.
var mlab = []string{
	"State", "CAState", "Retransmits", "Probes", "Backoff", "Options", "WScale", "AppLimited", "RTO", "ATO", "SndMSS", "RcvMSS",
	"Unacked", "Sacked", "Lost", "Retrans", "LastDataSent", "LastDataRecv", "LastAckRecv", "PMTU", "RcvSsThresh", "RTT", "RTTVar",
	"SndSsThresh", "SndCwnd", "AdvMSS", "Reordering", "RcvRTT", "RcvSpace", "TotalRetrans", "PacingRate", "MaxPacingRate", "BytesAcked",
	"BytesReceived", "SegsOut", "SegsIn", "NotsentBytes", "MinRTT", "DataSegsIn", "DataSegsOut", "DeliveryRate", "BusyTime", "RWndLimited",
	"SndBufLimited", "Delivered", "DeliveredCE", "BytesSent", "BytesRetrans", "DSackDups", "ReordSeen", "RcvOooPack", "SndWnd", "ElapsedTime",
}

func TestNamesAreMLabs(t *testing.T) {
	text, err := json.Marshal(&TCPInfo{TCPInfo: filled(280)})
	if err != nil {
		t.Fatal(err)
	}
	var sent map[string]int64 // M-Lab's fields are signed
	if err := json.Unmarshal(text, &sent); err != nil {
		t.Fatal(err)
	}
	for _, name := range mlab {
		if _, ok := sent[name]; !ok {
			t.Errorf("no %s", name)
		}
		delete(sent, name)
	}
	if len(sent) > 0 {
		t.Errorf("others: %v", sent)
	}
}

// What a kernel of any age knows is what the client learns of it.
func TestTCPInfoSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := tcpFields[rapid.IntRange(0, len(tcpFields)-1).Draw(t, "field")].end
		want := TCPInfo{TCPInfo: filled(length), ElapsedTime: rapid.Int64Range(0, longestTime).Draw(t, "elapsed")}
		text, err := json.Marshal(&Measurement{TCPInfo: &want})
		if err != nil {
			t.Fatal(err)
		}
		m, err := parseMeasurement(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, m.TCPInfo); diff != "" {
			t.Fatal(diff)
		}
	})
}

// The offsets must be those that bulk reads the kernel's struct by.
func TestFieldsAreWhereTheKernelHasThem(t *testing.T) {
	raw := make([]byte, 280)
	for i := range raw {
		raw[i] = 0xff
	}
	for _, f := range tcpFields {
		short, whole := bulk.ParseTCPInfo(raw[:f.end-1]), bulk.ParseTCPInfo(raw[:f.end])
		if f.name != "WScale" && f.name != "AppLimited" && (isZero(f.of(&whole)) || !isZero(f.of(&short))) {
			t.Errorf("%s does not end at byte %d", f.name, f.end)
		}
	}
}

func isZero(field any) bool {
	switch v := field.(type) {
	case *uint8:
		return *v == 0
	case *uint32:
		return *v == 0
	case *uint64:
		return *v == 0
	case *rate:
		return *v == 0
	}
	return false
}

func TestMeasurementsThatAreNone(t *testing.T) {
	for text, words := range map[string]string{
		``:     "unexpected end",
		`[]`:   "cannot unmarshal",
		`{{`:   "invalid character",
		`null`: "",
		`{}`:   "",
		`{"AppInfo":null,"TCPInfo":null,"Weather":"fine"}`:  "",
		`{"AppInfo":{"NumBytes":-1}}`:                       "must not be negative",
		`{"AppInfo":{"ElapsedTime":-1}}`:                    "microseconds within a test",
		`{"TCPInfo":{"ElapsedTime":9000000000000}}`:         "microseconds within a test",
		`{"TCPInfo":{"RTT":-1}}`:                            "TCPInfo.RTT",
		`{"TCPInfo":{"RTT":4294967296}}`:                    "TCPInfo.RTT",
		`{"TCPInfo":{"BytesReceived":-1}}`:                  "TCPInfo.BytesReceived",
		`{"TCPInfo":{"BytesReceived":9223372036854775808}}`: "TCPInfo.BytesReceived",
		`{"TCPInfo":{"BytesReceived":"1"}}`:                 "TCPInfo.BytesReceived",
		`{"TCPInfo":{"MaxPacingRate":-1}}`:                  "",
		`{"TCPInfo":{"Fackets":3,"LastAckSent":0}}`:         "",
		`{"AppInfo":{"NumBytes":1e99}}`:                     "cannot unmarshal",
	} {
		if _, err := parseMeasurement([]byte(text)); !says(err, words) {
			t.Errorf("%s: %v, want %q", text, err, words)
		}
	}
}

// Whatever a server sends: no panic, and what is accepted holds what the client
// counts on.
func FuzzMeasurement(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "measurement.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add([]byte(plausible))
	f.Add([]byte(`{"TCPInfo":{"MaxPacingRate":-1,"AppLimited":7,"WScale":255}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parseMeasurement(text)
		if err != nil {
			return
		}
		if m.elapsed() < 0 || m.AppInfo != nil && m.AppInfo.NumBytes < 0 {
			t.Fatalf("%s: %+v", text, m)
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseMeasurement(again); err != nil && len(again) <= maxText {
			t.Fatalf("%s becomes %s: %v", text, again, err)
		}
		var told far
		told.hear(text)
		told.read()
		end := told.end("b", &bulk.Stream{ID: 1, Sender: true, Bytes: 1 << 20})
		for _, s := range end.Streams {
			if s.Bytes < 0 || s.Elapsed < 0 || s.Sender {
				t.Fatalf("%s: %+v", text, s)
			}
		}
	})
}
