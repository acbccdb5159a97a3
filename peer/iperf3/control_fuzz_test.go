package iperf3

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fullbore/fullbore/bulk"
)

func FuzzCookie(f *testing.F) {
	for _, name := range exchangeNames(f) {
		f.Add(readExchange(f, name).client[:cookieSize])
	}
	f.Add([]byte("6F9619FF-8B86-d011-b42d-00cf4fc964ff\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseCookie(b)
		if err == nil && (!bytes.Equal(c[:], b) || bytes.IndexByte(b, 0) != cookieSize-1) {
			t.Errorf("%q became %q", b, c[:])
		}
	})
}

func FuzzParameters(f *testing.F) {
	for _, name := range exchangeNames(f) {
		var h heard
		h.asServer(playing(f, readExchange(f, name).client[cookieSize:]))
		text, err := json.Marshal(h.Parameters)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"tcp":1,"time":1e400,"parallel":-0.5,"len":18446744073709551615,"num":null,"title":"\ud800"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var p Parameters
		if len(text) > maxParameters || json.Unmarshal(text, &p) != nil {
			return
		}
		spec, notes, err := p.Spec()
		if len(notes) > maxFields {
			t.Errorf("%d notes", len(notes))
		}
		if err != nil {
			return
		}
		if err := spec.Check(); err != nil {
			t.Errorf("%+v: %v", spec, err)
		}
		// A client that asks for this says so in words that mean the same, but
		// for fractions of a second and what iperf3 takes as text.
		again := ParametersOf(spec)
		back, notes, err := again.Spec()
		if err != nil || len(notes) > 0 {
			t.Errorf("%+v: %q, %v", again, notes, err)
		}
		ignored := cmpopts.IgnoreFields(bulk.Spec{}, "Duration", "Rate", "Pace") // float64 is exact up to 2^53
		if diff := cmp.Diff(spec, back, ignored); diff != "" {
			t.Errorf("(-asked +understood):\n%s", diff)
		}
	})
}

func FuzzResults(f *testing.F) {
	for _, name := range exchangeNames(f) {
		e := readExchange(f, name)
		for _, sent := range [][]byte{e.client, e.server} {
			if at := bytes.Index(sent, []byte(`{"cpu_util_total"`)); at >= 0 {
				f.Add(bytes.TrimRight(sent[at:], "\x0e\x10"), true)
			}
		}
	}
	f.Add([]byte(good(goodStream)), false)
	f.Add([]byte(results314), false)
	f.Fuzz(func(t *testing.T, text []byte, datagrams bool) {
		var r Results
		if json.Unmarshal(text, &r) != nil {
			return
		}
		if len(r.Streams) > maxStreamResults {
			t.Errorf("%d streams", len(r.Streams))
		}
		spec := bulk.Spec{Protocol: bulk.TCP, Direction: bulk.Forward, Streams: len(r.Streams)}
		mine := bulk.End{}
		for i := range r.Streams {
			s := bulk.Stream{ID: StreamID(i), Sender: i%2 == 0, Retransmits: -1}
			if datagrams {
				spec.Protocol = bulk.UDP
				s.Datagrams = &bulk.Datagrams{}
			}
			mine.Streams = append(mine.Streams, s)
		}
		end, err := r.End(spec, mine)
		if err != nil {
			return
		}
		for _, s := range end.Streams {
			if s.Bytes < 0 || s.Elapsed < 0 || s.Retransmits < -1 || datagrams && (s.Datagrams.Packets < 0 || s.Datagrams.Lost < 0 || !(s.Datagrams.Jitter >= 0)) {
				t.Errorf("%+v", s)
			}
		}
		if end.CPU.User < 0 || end.CPU.System < 0 {
			t.Errorf("%+v", end.CPU)
		}
		// What one end has taken, it can say again, and others take it.
		written, err := json.Marshal(ResultsOf(end, spec))
		if err != nil {
			t.Fatal(err)
		}
		var again Results
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		for i := range mine.Streams {
			mine.Streams[i].Elapsed = end.Streams[i].Elapsed
		}
		same, err := again.End(spec, mine)
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		ignored := cmpopts.IgnoreFields(bulk.Stream{}, "Elapsed") // a nanosecond may be lost in seconds
		if diff := cmp.Diff(end.Streams, same.Streams, ignored); diff != "" {
			t.Errorf("(-read +said and read):\n%s", diff)
		}
	})
}

func FuzzToken(f *testing.F) {
	u := testUsers(f, true)
	for _, name := range []string{"auth", "auth-wrong"} {
		var h heard
		h.asServer(playing(f, readExchange(f, name).client[cookieSize:]))
		f.Add(h.Parameters.AuthToken, []byte("user: a\npwd:  b\nts:   1"))
	}
	f.Add(string(authFile(f, "oaep.token")), []byte("user: mario\npwd:  rossi\nts:   99999999999999999999"))
	f.Fuzz(func(t *testing.T, token string, text []byte) {
		if user, err := u.authorise(token, time.Unix(1_795_229_900, 0)); err == nil && user != "mario" {
			t.Errorf("%q came in as %q", token, user)
		}
		// The words of a token, as if somebody with the key had encrypted them.
		user, password, at, err := parseToken(text)
		if err != nil {
			return
		}
		if u.List.allow(user, password) && (user != "mario" || password != "rossi") {
			t.Errorf("%q, %q", user, password)
		}
		if again, _, when, err := parseToken(tokenText(user, password, at)); err != nil || again != user || !when.Equal(at) {
			t.Errorf("%q, %v: %q, %v, %v", user, at, again, when, err)
		}
		if len(u.used) > maxRemembered {
			t.Error("remembers without end")
		}
	})
}
