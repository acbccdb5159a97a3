package document

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/internal/freeport"
)

// iperf3 runs a test with the real one over the loopback, and returns the
// documents of its client and its server.
func iperf3(t *testing.T, spec bulk.Spec) (client, server []byte) {
	t.Helper()
	program, err := exec.LookPath("iperf3")
	if err != nil {
		t.Skip("iperf3 is not installed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	port := freeport.Find(t)
	var out bytes.Buffer
	listening := exec.CommandContext(ctx, program, "-s", "-1", "-J", "-p", port, "-B", "127.0.0.1")
	listening.Stdout = &out
	if err := listening.Start(); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"-c", "127.0.0.1", "-p", port, "-J", "-P", strconv.Itoa(spec.Streams), "-b", strconv.FormatInt(int64(spec.Rate), 10), "-l", strconv.Itoa(spec.Length),
		"-t", strconv.Itoa(int(spec.Duration / time.Second)), "-O", strconv.Itoa(int(spec.Omit / time.Second)),
	}
	switch spec.Direction {
	case bulk.Reverse:
		args = append(args, "-R")
	case bulk.Both:
		args = append(args, "--bidir")
	case bulk.Forward:
	}
	if spec.Protocol == bulk.UDP {
		args = append(args, "-u")
	}
	var failed struct{ Error string }
	for range 50 { // until it listens
		client, err = exec.CommandContext(ctx, program, args...).Output()
		if err == nil {
			err = json.Unmarshal(client, &failed)
		}
		if err != nil || !strings.Contains(failed.Error, "Connection refused") {
			break
		}
		failed.Error = ""
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil || failed.Error != "" {
		cancel()
		_ = listening.Wait()
		t.Fatalf("iperf3: %v: %s", err, client)
	}
	if err := listening.Wait(); err != nil {
		t.Fatalf("iperf3 -s: %v: %s", err, out.Bytes())
	}
	return client, out.Bytes()
}

// paths are the types of all keys of a document: "end.streams[].sender.bytes" is
// a number.
func paths(t *testing.T, document []byte) map[string]string {
	t.Helper()
	var v any
	if err := json.Unmarshal(document, &v); err != nil {
		t.Fatalf("%v: %s", err, document)
	}
	out := map[string]string{}
	walk(v, "", out)
	return out
}

func walk(v any, path string, out map[string]string) {
	out[path] = strings.TrimRight(fmt.Sprintf("%T", v), "0123456789")
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			walk(value, strings.TrimPrefix(path+"."+key, "."), out)
		}
	case []any:
		for _, value := range v {
			walk(value, path+"[]", out)
		}
	}
}

// Programs made for iperf3 find all that it prints, at both ends, and what was
// asked for and who sent reads the same.
func TestAllKeysOfIPerf3(t *testing.T) {
	for name, spec := range specs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec.Streams, spec.Duration, spec.Omit, spec.Rate = 2, time.Second, time.Second, 10e6
			theirClient, theirServer := iperf3(t, spec)
			compare(t, "client", theirClient, indented(t, New(made{spec: spec}.record(nil))))
			compare(t, "server", theirServer, indented(t, New(made{spec: spec, server: true}.record(nil))))
		})
	}
}

func compare(t *testing.T, end string, theirs, ours []byte) {
	t.Helper()
	have := paths(t, ours)
	for path, kind := range paths(t, theirs) {
		if have[path] != kind {
			t.Errorf("%s: iperf3's %s is a %s, ours a %q", end, path, kind, have[path])
		}
	}
	var their, our Document
	for document, into := range map[*Document][]byte{&their: theirs, &our: ours} {
		var beyond *json.UnmarshalTypeError // 3.12 counts below 0 datagrams with -O, as an unsigned number
		if err := json.Unmarshal(into, document); err != nil && !errors.As(err, &beyond) {
			t.Fatal(err)
		}
	}
	// What 3.12 does not print yet.
	test := our.Start.Test
	test.Bidir, test.Interval = 0, 0
	if d := cmp.Diff(their.Start.Test, test); d != "" {
		t.Errorf("%s: test_start (-iperf3 +ours):\n%s", end, d)
	}
	if d := cmp.Diff(senders(&their), senders(&our)); d != "" {
		t.Errorf("%s: who sends (-iperf3 +ours):\n%s", end, d)
	}
}

// senders are all "sender" flags.
func senders(d *Document) map[string][]bool {
	out := map[string][]bool{}
	end := func(name string, row *EndRow) {
		if row != nil {
			out[name] = append(out[name], row.Sender)
		}
	}
	for i, s := range d.End.Streams {
		end(fmt.Sprint("sender ", i), s.Sender)
		end(fmt.Sprint("receiver ", i), s.Receiver)
		end(fmt.Sprint("udp ", i), s.UDP)
	}
	end("sum", d.End.Sum)
	end("sum_sent", d.End.SumSent)
	end("sum_received", d.End.SumReceived)
	end("sum_bidir_reverse", d.End.SumReverse)
	end("sum_sent_bidir_reverse", d.End.SumSentReverse)
	end("sum_received_bidir_reverse", d.End.SumReceivedReverse)
	for _, row := range d.Intervals[0].Streams {
		out["interval"] = append(out["interval"], row.Sender)
	}
	out["interval sum"] = []bool{d.Intervals[0].Sum.Sender}
	if d.Intervals[0].SumReverse != nil {
		out["interval sum"] = append(out["interval sum"], d.Intervals[0].SumReverse.Sender)
	}
	return out
}

// The keys that iperf3 prints since 3.13, to 3.21.
func TestNewerKeysOfIPerf3(t *testing.T) {
	for name, keys := range map[string][]string{
		"": {"start.timestamp.timemillisecs", "start.fq_rate", "start.test_start.bidir", "start.test_start.fqrate", "start.test_start.interval",
			"start.test_start.gso", "start.test_start.gro"},
		"tcp-forward": {"intervals[].streams[].reorder", "end.streams[].sender.reorder"},
		"tcp-reverse": {"end.streams[].sender.reorder", "end.sum_sent.retransmits"},
		"tcp-both":    {"intervals[].streams[].reorder", "intervals[].sum_bidir_reverse.bytes", "end.sum_received_bidir_reverse.bytes"},
		"udp-forward": {"end.sum_sent.packets", "end.sum_received.lost_percent", "end.sum.jitter_ms"},
		"udp-both":    {"end.sum_bidir_reverse.packets", "end.sum_sent_bidir_reverse.packets", "end.sum_received_bidir_reverse.packets"},
	} {
		for test, spec := range specs() {
			if name != "" && name != test {
				continue
			}
			have := paths(t, indented(t, New(made{spec: spec}.record(nil))))
			for _, key := range keys {
				if have[key] != "float" {
					t.Errorf("%s: %s is a %q, want a number", test, key, have[key])
				}
			}
		}
	}
}

// pScheduler's iperf3 tool reads no more than this.
func TestWhatPSchedulerReads(t *testing.T) {
	for name, spec := range specs() {
		if spec.Direction == bulk.Both {
			continue
		}
		var doc struct {
			Intervals []struct {
				Streams []map[string]any
				Sum     map[string]any
			}
			End struct {
				Streams     []struct{ Sender, UDP map[string]any }
				SumSent     map[string]any `json:"sum_sent"`
				SumReceived map[string]any `json:"sum_received"`
				Sum         map[string]any
			}
			Error *string
		}
		if err := json.Unmarshal(indented(t, New(made{spec: spec}.record(nil))), &doc); err != nil {
			t.Fatal(err)
		}
		need := func(where string, row map[string]any, keys ...string) {
			for _, key := range keys {
				if _, ok := row[key]; !ok {
					t.Errorf("%s: %s has no %s", name, where, key)
				}
			}
		}
		common := []string{"start", "end", "bytes", "bits_per_second"}
		perStream := append([]string{"socket"}, common...)
		if len(doc.Intervals) != 3 || doc.Error != nil {
			t.Errorf("%s: %d intervals, error %v, want 3 and none", name, len(doc.Intervals), doc.Error)
		}
		for _, interval := range doc.Intervals {
			need("an interval's sum", interval.Sum, append([]string{"omitted"}, common...)...)
			for _, s := range interval.Streams {
				need("an interval's stream", s, append([]string{"omitted"}, perStream...)...)
				if name == "tcp-forward" {
					need("an interval's stream", s, "retransmits", "snd_cwnd", "rtt")
				}
			}
		}
		need("end.sum_sent", doc.End.SumSent, common...)
		need("end.sum_received", doc.End.SumReceived, common...)
		for _, s := range doc.End.Streams {
			if spec.Protocol == bulk.UDP {
				need("end.streams[].udp", s.UDP, append([]string{"jitter_ms", "lost_packets", "packets"}, perStream...)...)
			} else {
				need("end.streams[].sender", s.Sender, append([]string{"retransmits", "mean_rtt"}, perStream...)...)
			}
		}
	}
}

// No object has a key twice, as iperf3's has for some tests: what a program then
// reads depends on its library.
func TestNoKeyTwice(t *testing.T) {
	for name, spec := range specs() {
		decoder := json.NewDecoder(bytes.NewReader(indented(t, New(made{spec: spec}.record(nil)))))
		if err := unique(decoder, name); err != nil {
			t.Error(err)
		}
	}
}

func unique(d *json.Decoder, path string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	var keys []string
	for token != nil && d.More() && (token == json.Delim('{') || token == json.Delim('[')) {
		under := path + "[]"
		if token == json.Delim('{') {
			key, err := d.Token()
			if err != nil {
				return err
			}
			if slices.Contains(keys, key.(string)) {
				return fmt.Errorf("%s has %v twice", path, key)
			}
			keys = append(keys, key.(string))
			under = path + "." + key.(string)
		}
		if err := unique(d, under); err != nil {
			return err
		}
	}
	if token == json.Delim('{') || token == json.Delim('[') {
		_, err = d.Token()
	}
	return err
}

// Transfers mostly wait for their time to pass: more of them go at once than
// there are processors, unless -parallel is given.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "6")
	os.Exit(m.Run())
}
