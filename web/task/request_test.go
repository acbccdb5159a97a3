package task

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/bulk"
)

// What a page asks for is a command line that anybody could type.
func TestArgs(t *testing.T) {
	for _, c := range []struct {
		request Request
		args    string
	}{
		{Request{Verb: Test, Host: "nas1"}, "test nas1"},
		{Request{Verb: Test, Host: "iperf3://[2001:db8::1]:5202", Direction: bulk.Both, Streams: 8, Seconds: 30}, "test --parallel=8 --time=30 --bidir iperf3://[2001:db8::1]:5202"},
		{Request{Verb: Diagnose, Scenario: "lossy-wan", Direction: bulk.Reverse, Quick: true, Seconds: 20}, "diagnose --lab=lossy-wan --budget=20s --direction=reverse --quick"},
		{Request{Verb: Tune, Host: "fe80::1%eth0", Apply: "none", DryRun: true, Tags: []string{"before, and after"}}, "tune --apply=none --dry-run --tag=before, and after fe80::1%eth0"},
		{Request{Verb: Sweep, Experiment: "gigaswift-buffers", Afresh: true}, "sweep --afresh gigaswift-buffers"},
		{Request{Verb: Sweep, Experiment: "gigaswift-buffers", Host: "nas1:5201"}, "sweep gigaswift-buffers nas1:5201"},
	} {
		if err := c.request.Check(); err != nil {
			t.Errorf("%+v: %v", c.request, err)
		}
		if args := strings.Join(c.request.Args(), " "); args != c.args {
			t.Errorf("%+v: %s, want %s", c.request, args, c.args)
		}
	}
}

// What cannot be meant is refused with the field, what is wrong with it and what to do. Nothing
// becomes a flag, a file, or a line of its own.
func TestRefusedRequests(t *testing.T) {
	test := func(host string) Request { return Request{Verb: Test, Host: host} }
	for _, c := range []struct {
		request Request
		field   string
		says    string
	}{
		{Request{Host: "nas1"}, "verb", "use test, diagnose, tune or sweep"},
		{Request{Verb: "serve"}, "verb", "use test, diagnose, tune or sweep"},
		{Request{Verb: Test}, "host", "name the far end"},
		{Request{Verb: Test, Host: "nas1", Scenario: "gigaswift"}, "scenario", "use one"},
		{test("--evidence=/etc/passwd"), "host", "no name or address"},
		{test("-h"), "host", "no name or address"},
		{test("iperf3://-c"), "host", "no name or address"},
		{test("nas1 --token=x"), "host", "no name or address"},
		{test("nas1\n"), "host", "no name or address"},
		{test("nas1:0"), "host", "port"},
		{test("ssh://nas1"), "host", "iperf3://HOST"},
		{test(strings.Repeat("a", 301)), "host", "use up to 300"},
		{Request{Verb: Tune, Host: "iperf3://nas1"}, "host", "only test takes"},
		{Request{Verb: Tune, Scenario: "gigaswft"}, "scenario", "did you mean gigaswift?"},
		{Request{Verb: Tune, Scenario: "/etc/passwd"}, "scenario", "none that is built in"},
		{Request{Verb: Tune, Scenario: "path.yaml"}, "scenario", "none that is built in"},
		{Request{Verb: Sweep}, "experiment", "name one: gigaswift-acks"},
		{Request{Verb: Sweep, Experiment: "../x.yaml"}, "experiment", "none that is built in"},
		{Request{Verb: Sweep, Experiment: "window-rtt", Streams: 2}, "streams", "sweep does not take it"},
		{Request{Verb: Test, Host: "b", Apply: "live"}, "apply", "test does not take it"},
		{Request{Verb: Tune, Host: "b", Direction: bulk.Both}, "direction", "tune takes forward or reverse"},
		{Request{Verb: Test, Host: "b", Streams: 257}, "streams", "use 1 to 256"},
		{Request{Verb: Test, Host: "b", Streams: -1}, "streams", "use 1 to 256"},
		{Request{Verb: Tune, Host: "b", Seconds: 14}, "seconds", "use 15 to 3600"},
		{Request{Verb: Test, Host: "b", Seconds: 3601}, "seconds", "use 1 to 3600"},
		{Request{Verb: Tune, Host: "b", Apply: "now"}, "apply", "use none, live or persist"},
		{Request{Verb: Tune, Host: "b", Tags: []string{"a\nb"}}, "tags", "1 to 100 bytes of text"},
		{Request{Verb: Tune, Host: "b", Token: "a\x00b"}, "token", "copy it whole"},
		{Request{Verb: Tune, Host: "b", Token: strings.Repeat("a", 513)}, "token", "copy it whole"},
	} {
		err := c.request.Check()
		wrong, ok := errors.AsType[*Invalid](err)
		if !ok || wrong.Field != c.field || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %s: %s", c.request, err, c.field, c.says)
		}
		if _, err := New(Options{Program: "/nothing"}).Start(c.request); err == nil {
			t.Errorf("%+v was started", c.request)
		}
	}
	for text, says := range map[string]string{
		``:                                     "one JSON object is needed",
		`[]`:                                   "it is a array: use a struct",
		`{"verb":"test","host":"b"} x`:         "more behind",
		`{"verb":"test","host":"b","place":1}`: `unknown field "place"`,
		`{"verb":"test","host":"b","streams":"2"}`:              "streams: it is a string: use a int",
		`{"verb":"test","host":"b","streams":1.5}`:              "streams: ",
		`{"verb":"test","host":"` + strings.Repeat("a", 64<<10): "use up to 65536",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60s: %v, want %s", text, err, says)
		}
	}
}

// Whatever JSON comes, what is taken as a request has a command line of known flags, one value each, and
// comes back the same.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{"verb":"test","host":"nas1","direction":"both","streams":2,"seconds":5,"tags":["a"],"token":"t"}`,
		`{"verb":"diagnose","scenario":"lossy-wan","quick":true}`,
		`{"verb":"tune","host":"[::1]:5201","apply":"none","dry_run":true}`,
		`{"verb":"sweep","experiment":"window-rtt","afresh":true}`,
	} {
		f.Add([]byte(text))
	}
	flags := []string{"--lab", "--parallel", "--time", "--reverse", "--bidir", "--budget", "--direction", "--apply", "--dry-run", "--quick", "--afresh", "--tag"}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Parse(text)
		if err != nil {
			if _, ok := errors.AsType[*Invalid](err); !ok {
				t.Fatalf("%v is not Invalid", err)
			}
			return
		}
		args := r.Args()
		if args[0] != string(r.Verb) {
			t.Fatal(args)
		}
		for _, arg := range args[1:] {
			flag, _, _ := strings.Cut(arg, "=")
			positional := arg == r.Host || arg == r.Experiment
			if strings.HasPrefix(arg, "-") == positional || !positional && !slices.Contains(flags, flag) {
				t.Fatalf("%q", args)
			}
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := Parse(again); err != nil || !slices.Equal(same.Args(), args) || same.Token != r.Token {
			t.Fatalf("%+v, %v", same, err)
		}
	})
}
