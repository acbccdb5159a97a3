package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// port is where every receiver listens; nuttcp takes a second one for data.
const port = 5299

// tool is one program at both ends.
type tool struct {
	name     string
	fastest  bool // it avoids copies
	receiver func(address string, streams int) []string
	sender   func(address string, streams int, seconds float64) []string
	// read finds bytes and seconds, as the receiver counted them, in what both
	// ends printed.
	read func(sender, receiver []byte) (count, error)
	ends bool // the receiver ends by itself after one transfer
}

// ours says whether it is fullbore.
func (t tool) ours() bool { return strings.HasPrefix(t.name, "fullbore") }

// rawName is the limit's row.
const rawName = "raw loop"

// count is what a receiver got, in which time.
type count struct {
	bytes   float64
	seconds float64
}

// tools are all that are installed, fullbore's engine first.
func tools(fullbore string) []tool {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	at := strconv.Itoa(port)
	serve := func(address string, _ int) []string {
		return []string{fullbore, "serve", "--bind", address, "--port", at, "--ephemeral"}
	}
	test := func(extra ...string) func(string, int, float64) []string {
		return func(address string, streams int, seconds float64) []string {
			return slices.Concat([]string{fullbore, "test", address + ":" + at, "--json", "-P", strconv.Itoa(streams), "-t", number(seconds)}, extra)
		}
	}
	iperf3 := func(extra ...string) func(string, int, float64) []string {
		return func(address string, streams int, seconds float64) []string {
			// Whole seconds are all that iperf3 takes.
			return slices.Concat([]string{"iperf3", "-c", address, "-p", at, "-J", "-P", strconv.Itoa(streams), "-t", strconv.Itoa(max(1, int(seconds+0.5)))}, extra)
		}
	}
	iperf3Server := func(address string, _ int) []string { return []string{"iperf3", "-s", "-1", "-B", address, "-p", at} }
	all := []tool{
		{name: rawName, ends: true, read: readRaw,
			receiver: func(address string, streams int) []string {
				return []string{self, rawCommand, "receive", address + ":" + at, strconv.Itoa(streams)}
			},
			sender: func(address string, streams int, seconds float64) []string {
				return []string{self, rawCommand, "send", address + ":" + at, strconv.Itoa(streams), number(seconds)}
			}},
		{name: "fullbore", receiver: serve, sender: test(), read: readIperf3},
		{name: "iperf3", ends: true, receiver: iperf3Server, sender: iperf3(), read: readIperf3},
		{name: "iperf2", read: readIperf2,
			receiver: func(address string, _ int) []string {
				return []string{"iperf", "-s", "-B", address, "-p", at, "-y", "C"}
			},
			sender: func(address string, streams int, seconds float64) []string {
				return []string{"iperf", "-c", address, "-p", at, "-P", strconv.Itoa(streams), "-t", number(seconds), "-y", "C"}
			}},
		{name: "nuttcp", ends: true, read: readNuttcp,
			receiver: func(string, int) []string { return []string{"nuttcp", "-S", "-1", "--nofork", "-P", at} },
			sender: func(address string, streams int, seconds float64) []string {
				args := []string{"nuttcp", "-t", "-P", at, "-p", strconv.Itoa(port + 1), "-T", number(seconds), "-fparse"}
				if streams > 1 {
					args = append(args, "-N"+strconv.Itoa(streams))
				}
				return append(args, address)
			}},
		{name: "fullbore --recv-path truncate", fastest: true, receiver: serve, read: readIperf3, sender: test("--recv-path", "truncate")},
		{name: "fullbore -Z --recv-path truncate", fastest: true, receiver: serve, read: readIperf3, sender: test("-Z", "--recv-path", "truncate")},
		{name: "iperf3 -Z", fastest: true, ends: true, receiver: iperf3Server, sender: iperf3("-Z"), read: readIperf3},
	}
	return slices.DeleteFunc(all, func(t tool) bool {
		_, err := exec.LookPath(t.receiver("", 1)[0])
		return err != nil
	})
}

func pick(all []tool, names []string) []tool {
	return slices.DeleteFunc(all, func(t tool) bool { return !slices.Contains(names, t.name) })
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func readRaw(_, receiver []byte) (c count, err error) {
	_, err = fmt.Sscan(string(receiver), &c.bytes, &c.seconds)
	return c, err
}

// readIperf3 reads the document that iperf3 and fullbore share.
func readIperf3(sender, _ []byte) (count, error) {
	var document struct {
		End struct {
			Received struct {
				Bytes   float64 `json:"bytes"`
				Seconds float64 `json:"seconds"`
			} `json:"sum_received"`
		} `json:"end"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal(sender, &document); err != nil {
		return count{}, err
	}
	if document.Error != "" {
		return count{}, fmt.Errorf("it says: %s", document.Error)
	}
	return count{document.End.Received.Bytes, document.End.Received.Seconds}, nil
}

// readIperf2 adds up the last line of each stream: time, address, port, address,
// port, id, interval, bytes, bit/s.
func readIperf2(_, receiver []byte) (count, error) {
	last := map[string]count{}
	lines := bufio.NewScanner(bytes.NewReader(receiver))
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ",")
		if len(fields) < 9 || fields[5] == "-1" { // -1: a sum
			continue
		}
		from, to, _ := strings.Cut(fields[6], "-")
		began, err1 := strconv.ParseFloat(from, 64)
		ended, err2 := strconv.ParseFloat(to, 64)
		total, err3 := strconv.ParseFloat(fields[7], 64)
		if err1 != nil || err2 != nil || err3 != nil || ended <= began {
			return count{}, fmt.Errorf("cannot read %q", lines.Text())
		}
		last[fields[5]] = count{total, ended - began}
	}
	var all count
	for _, c := range last {
		all.bytes += c.bytes
		all.seconds = max(all.seconds, c.seconds)
	}
	if all.seconds == 0 {
		return count{}, fmt.Errorf("it reported nothing")
	}
	return all, nil
}

var nuttcpField = regexp.MustCompile(`(megabytes|real_seconds)=\s*([0-9.]+)`)

func readNuttcp(sender, _ []byte) (c count, err error) {
	for _, match := range nuttcpField.FindAllSubmatch(sender, -1) {
		value, err := strconv.ParseFloat(string(match[2]), 64)
		if err != nil {
			return c, err
		}
		if string(match[1]) == "megabytes" {
			c.bytes = value * (1 << 20)
		} else {
			c.seconds = value
		}
	}
	if c.seconds == 0 {
		return c, fmt.Errorf("it reported nothing: %s", sender)
	}
	return c, nil
}
