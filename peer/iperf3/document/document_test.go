package document

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/internal/golden"
)

// specs are one test of each kind.
func specs() map[string]bulk.Spec {
	out := map[string]bulk.Spec{}
	for _, protocol := range []bulk.Protocol{bulk.TCP, bulk.UDP} {
		for _, direction := range []bulk.Direction{bulk.Forward, bulk.Reverse, bulk.Both} {
			spec := bulk.Spec{Protocol: protocol, Direction: direction, Streams: 1, Duration: 3 * time.Second, Length: 128 << 10}
			if protocol == bulk.UDP {
				spec.Rate, spec.Length = madeRate, 1250
			}
			out[string(protocol)+"-"+string(direction)] = spec
		}
	}
	return out
}

func TestDocument(t *testing.T) {
	for name, spec := range specs() {
		spec.Streams, spec.Omit = 2, time.Second
		for _, server := range []bool{false, true} {
			end := "client"
			if server {
				end = "server"
			}
			t.Run(name+"-"+end, func(t *testing.T) {
				doc := New(made{spec: spec, server: server}.record(nil))
				still(&doc.Start)
				golden.Check(t, name+"-"+end+".json", indented(t, doc))
			})
		}
	}
}

// What a test has beside its numbers.
func TestDocumentOptions(t *testing.T) {
	r := made{spec: specs()["tcp-forward"], end: 1200 * time.Millisecond}.record(nil)
	r.Title, r.Extra, r.Failed = "nightly", `{"run": 7}`, errors.New("the server was stopped")
	r.Result.Spec.MSS, r.Result.Spec.Pace, r.Result.Spec.TOS = 1200, 200e6, 0x28
	r.Result.Spec.SendBuf, r.Result.Spec.RecvBuf = 1<<20, 1<<20
	r.Blocks, r.Result.Spec.Bytes, r.Result.Spec.Duration = 8, 8*128<<10, 0
	r.ServerJSON = json.RawMessage(`{"start": {}, "intervals": [], "end": {}}`)
	r.FullBore = map[string]int{"figures": 1}
	r.Result.Server = bulk.End{} // it could not tell
	doc := New(r)
	still(&doc.Start)
	golden.Check(t, "options.json", indented(t, doc))
}

// A test that never began still is a document.
func TestDocumentOfNothing(t *testing.T) {
	for name, r := range map[string]Record{
		"no-answer": {Host: "192.0.2.7", Port: 5201, Failed: errors.New("unable to connect"), Result: &bulk.Result{Spec: specs()["tcp-forward"]}},
		"no-result": {Failed: errors.New("the server is busy")},
	} {
		doc := New(r)
		still(&doc.Start)
		golden.Check(t, name+".json", indented(t, doc))
	}
}

// What a server reports as JSON and is not must not spoil the document.
func TestServerOutputIsChecked(t *testing.T) {
	doc := New(Record{ServerJSON: json.RawMessage(`{"start": `)})
	if doc.ServerOutputJSON != nil || doc.ServerOutputText != `{"start": ` {
		t.Errorf("broken JSON became %q and %q", doc.ServerOutputJSON, doc.ServerOutputText)
	}
	if _, err := json.Marshal(doc); err != nil {
		t.Error(err)
	}
}

func TestAddress(t *testing.T) {
	for text, want := range map[string]struct {
		host string
		port int
	}{
		"192.0.2.1:80":          {"192.0.2.1", 80},
		"[::ffff:192.0.2.1]:80": {"192.0.2.1", 80},
		"[2001:db8::1]:65535":   {"2001:db8::1", 65535},
		"[fe80::1%eth0]:5201":   {"fe80::1%eth0", 5201},
		"host.example:5201":     {"host.example", 5201},
		"host.example:service":  {"host.example", 0},
		"no address":            {"no address", 0},
		"":                      {"", 0},
	} {
		if host, port := address(text); host != want.host || port != want.port {
			t.Errorf("address(%q) = %q, %d, want %q, %d", text, host, port, want.host, want.port)
		}
	}
}
