package html

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/record"
)

// foreign is a run in which both hosts have names, addresses of every kind, and
// errors that repeat them.
func foreign(t interface{ Fatal(...any) }, near, far, v4, v6, mac string) *record.Run {
	short, _, _ := strings.Cut(far, ".")
	document, err := json.Marshal(map[string]any{
		"from": near, "to": far, "verdict": map[string]any{"cause": "receiver-buffer", "says": "the window of " + far + " is used up"},
		"kept":        []any{map[string]any{"host": far, "tunable": "route.congctl@" + v4 + "/24", "from": "cubic", "to": "bbr", "effect": short + " sends to " + near}},
		"advice":      []any{map[string]any{"host": near, "says": "on " + strings.ToUpper(near) + " run", "commands": []string{"ssh root@" + far + " ip route change " + v4 + " via " + v6}}},
		"change_sets": []any{map[string]any{"host": far, "id": "1", "undo": "fullbore revert 1 --on " + far}},
		"interrupted": fmt.Sprintf("dial tcp [%s]:5201: connect: connection refused; lookup gate.%s on %s:53: no such host", v6, far, v4),
	})
	if err != nil {
		t.Fatal(err)
	}
	facts := func(name string) *host.Facts {
		return &host.Facts{Name: name, OS: "linux", Version: "6.18.44", BootID: "5d41402a-bc4b-2a76-b971-9d911017c592",
			Interfaces: []host.Interface{{Name: "eth0", Up: true, Addresses: []string{v4 + "/24", v6 + "/64"}}},
			Tunables:   map[string]string{"route.congctl@" + v4 + "/24": "cubic", "net.ipv4.tcp_rmem": "4096 131072 6291456"}, WhyNot: mac + " on " + name}
	}
	stream := bulk.Stream{ID: 1, Sender: true, Local: v4 + ":40000", Remote: "[" + v6 + "]:5201", PathNote: "no zero copy by " + mac}
	return &record.Run{
		Header: record.Header{Schema: record.Schema, ID: "019aa0f1-3c00-7000-8000-000000000003", Kind: record.Tune, State: record.Failed,
			Command: []string{"tune", "--json", "ssh://alice@" + far + ":22", "--evidence=/home/" + near + "/x.json"}, Version: "0.9.0", From: near, To: far,
			Error: "peer " + far + " (" + v4 + "): no answer from " + mac, Tags: []string{near, "slow"}},
		Document: document,
		Events:   []record.Event{{Kind: record.Phase, Text: "try: on " + short + " at " + v4 + ", as on the old" + near + "s."}},
		Transfers: []record.Transfer{{Phase: "x", Error: v6 + " is gone", Result: &bulk.Result{Spec: bulk.Spec{Direction: bulk.Forward, Streams: 1},
			Client: bulk.End{Host: near, Streams: []bulk.Stream{stream}, Counters: map[string]int64{"Tcp.RetransSegs": 1}}, Server: bulk.End{Host: far, Error: near + " left"}}}},
		Hosts: []record.Host{{Side: record.Near, When: record.Before, Is: facts(near)}, {Side: record.Far, When: record.Before, Is: facts(far)}},
	}
}

// No name and no address of a host is left in what a redacted run makes, wherever and in
// whatever case it stood; and it is still the same run.
func TestRedactLeavesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.StringMatching(`[a-z][a-z0-9]{4,10}-?[0-9]{1,3}`)
		near, far := label.Draw(t, "near"), label.Draw(t, "far")+rapid.SampledFrom([]string{"", ".example.org", ".lan"}).Draw(t, "domain")
		number := rapid.IntRange(11, 250)
		v4 := fmt.Sprintf("%d.%d.%d.%d", number.Draw(t, "v4"), number.Draw(t, "v4"), number.Draw(t, "v4"), number.Draw(t, "v4"))
		if rapid.Bool().Draw(t, "documentation's") {
			v4 = fmt.Sprintf("192.0.2.%d", rapid.IntRange(1, 3).Draw(t, "v4"))
		}
		v6 := rapid.SampledFrom([]string{"2001:db8::", "fd12:3456:789a::", "fe80::1:2:", "2a00:1450:4001:82b::"}).Draw(t, "net") + fmt.Sprintf("%x", rapid.IntRange(2, 0xffff).Draw(t, "v6"))
		octet := rapid.IntRange(0, 255)
		mac := fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", 2, octet.Draw(t, "mac"), octet.Draw(t, "mac"), octet.Draw(t, "mac"), octet.Draw(t, "mac"), octet.Draw(t, "mac"))
		short, _, _ := strings.Cut(far, ".")
		if strings.Contains(near, short) || strings.Contains(far, near) {
			t.Skip("one name in the other")
		}
		run := foreign(t, near, far, v4, v6, mac)
		before, err := json.Marshal(run)
		if err != nil {
			t.Fatal(err)
		}
		redacted, err := Redact([]*record.Run{run, run})
		if err != nil {
			t.Fatal(err)
		}
		if after, _ := json.Marshal(run); !bytes.Equal(before, after) {
			t.Fatal("the run that was given has changed")
		}
		text, err := json.Marshal(redacted)
		if err != nil {
			t.Fatal(err)
		}
		var page, ticket bytes.Buffer
		if err := Write(&page, redacted); err != nil {
			t.Fatal(err)
		}
		if err := Markdown(&ticket, redacted); err != nil {
			t.Fatal(err)
		}
		shown, _, _ := strings.Cut(page.String(), opening)
		for _, all := range []string{string(text), shown, ticket.String()} {
			for _, gone := range []string{near, far, short, v4, v6, mac, "5d41402a-bc4b-2a76", "/home/"} {
				if i := strings.Index(strings.ToLower(all), gone); i >= 0 {
					t.Fatalf("%q is left: %.80q", gone, all[max(0, i-30):])
				}
			}
		}
		first, second := redacted[0], redacted[1]
		if first.From != second.From || first.From == first.To || first.Kind != run.Kind || first.ID != run.ID || first.Hosts[0].Is.Name != first.From || first.Transfers[0].Result.Client.Host != first.From {
			t.Fatalf("names are not the same everywhere: %+v and %+v", first.Header, second.Header)
		}
		if first.Hosts[0].Is.Tunables["net.ipv4.tcp_rmem"] == "" || first.Hosts[0].Is.Version != "6.18.44" || first.Transfers[0].Result.Spec.Direction != bulk.Forward {
			t.Fatalf("what is no name has changed: %+v", first.Hosts[0].Is)
		}
	})
}

// What is replaced by what.
func TestRedact(t *testing.T) {
	run := foreign(t, "db1", "backup.example.org", "10.1.2.3", "fd00::7", "52:54:00:12:34:56")
	run.Error = "db1 sends to BACKUP (10.1.2.3 and 10.1.2.30, 127.0.0.1, fd00::7%eth0, [fd00::7]:5201): dial tcp other.example.net:5201: refused; adb1c, 09:30:00, 10.0.19041.1, 6.18.44"
	redacted, err := Redact([]*record.Run{run})
	if err != nil {
		t.Fatal(err)
	}
	want := "host-a sends to host-b (192.0.2.1 and 192.0.2.2, 127.0.0.1, 2001:db8::1%eth0, [2001:db8::1]:5201): dial tcp host-d:5201: refused; adb1c, 09:30:00, 10.0.19041.1, 6.18.44"
	if got := redacted[0].Error; got != want {
		t.Errorf("the error is\n%s, want\n%s", got, want)
	}
	if got, want := redacted[0].Command, []string{"tune", "--json", "ssh://host-c@host-b:22", "--evidence=x.json"}; !slices.Equal(got, want) {
		t.Errorf("the command is %q, want %q", got, want)
	}
}

// In the lab hosts are a and b: what everybody's hosts are called needs no other
// name, and "a" is a word.
func TestRedactLeavesTheLab(t *testing.T) {
	run := diagnosed(t, "clean-wan")
	redacted, err := Redact([]*record.Run{run})
	if err != nil {
		t.Fatal(err)
	}
	if r := redacted[0]; r.From != "a" || r.To != "b" || !bytes.Contains(r.Document, []byte("a round trip")) && bytes.Contains(run.Document, []byte("a round trip")) {
		t.Errorf("the lab's hosts are %s and %s", r.From, r.To)
	}
}

// A host may be called like a word of the run's own form: that stays what it is.
func TestRedactKeepsTheForm(t *testing.T) {
	for _, name := range []string{"forward", "tune", "near", "before", "linux", "transfers", "streams", "null", "at_ns"} {
		run := foreign(t, name, "backup.example.org", "10.1.2.3", "fd00::7", "52:54:00:12:34:56")
		redacted, err := Redact([]*record.Run{run})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r := redacted[0]
		if r.From == name || r.Kind != record.Tune || len(r.Transfers) != 1 || r.Transfers[0].Result.Spec.Direction != bulk.Forward || r.Hosts[0].Side != record.Near || r.Hosts[0].Is.OS != "linux" {
			t.Errorf("%s: %+v", name, r.Header)
		}
	}
}
