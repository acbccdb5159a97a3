package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// flagsOf parses flags of test.
func flagsOf(t *testing.T, args string) (*testCmd, error) {
	t.Helper()
	var command testCmd
	parser, err := kong.New(&command, kong.Name("test"), kong.Writers(&bytes.Buffer{}, &bytes.Buffer{}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(strings.Fields(args))
	return &command, err
}

// An iperf3 command line means what it means there.
func TestTestSpec(t *testing.T) {
	usual := bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: 10 * time.Second}
	for args, change := range map[string]func(*bulk.Spec){
		"b":                                   func(*bulk.Spec) {},
		"-c b -P 4 -t 3.5 -O 2":               func(s *bulk.Spec) { s.Streams, s.Duration, s.Omit = 4, 3500*time.Millisecond, 2*time.Second },
		"b -R":                                func(s *bulk.Spec) { s.Direction = bulk.Reverse },
		"b --bidir":                           func(s *bulk.Spec) { s.Direction = bulk.Both },
		"b -n 10M":                            func(s *bulk.Spec) { s.Bytes, s.Duration = 10<<20, 0 },
		"b -n 0":                              func(s *bulk.Spec) { s.Duration = 0 },
		"b -n 1":                              func(s *bulk.Spec) { s.Bytes, s.Duration = 1, 0 },
		"b -k 10":                             func(s *bulk.Spec) { s.Bytes, s.Duration = 10*bulk.DefaultLength, 0 },
		"b -k 1K -l 1000":                     func(s *bulk.Spec) { s.Bytes, s.Duration, s.Length = 1024*1000, 0, 1000 },
		"b -w 256K -M 1400 -l 64K":            func(s *bulk.Spec) { s.SendBuf, s.RecvBuf, s.MSS, s.Length = 256<<10, 256<<10, 1400, 64<<10 },
		"b -C cubic -N":                       func(s *bulk.Spec) { s.Congest, s.NoDelay = "cubic", true },
		"b -u -k 5":                           func(s *bulk.Spec) { s.Protocol, s.Rate, s.Duration = bulk.UDP, unit.Mbps, 0 },
		"b -b 10M":                            func(s *bulk.Spec) { s.Rate = 10 * unit.Mbps },
		"b -b 1G/50":                          func(s *bulk.Spec) { s.Rate, s.Burst = unit.Gbps, 50 },
		"b -b 10Mb/s":                         func(s *bulk.Spec) { s.Rate = 10 * unit.Mbps },
		"b -b 0":                              func(*bulk.Spec) {},
		"b --fq-rate 2.5G":                    func(s *bulk.Spec) { s.Pace = 2.5 * unit.Gbps },
		"b -S 0x10":                           func(s *bulk.Spec) { s.TOS = 16 },
		"b -S 020":                            func(s *bulk.Spec) { s.TOS = 16 },
		"b -S 184":                            func(s *bulk.Spec) { s.TOS = 184 },
		"b --dscp EF":                         func(s *bulk.Spec) { s.TOS = 184 },
		"b --dscp 46":                         func(s *bulk.Spec) { s.TOS = 184 },
		"b -Z --skip-rx-copy":                 func(s *bulk.Spec) { s.SendPath, s.RecvPath = bulk.SendFile, bulk.RecvTruncate },
		"b --send-path zerocopy":              func(s *bulk.Spec) { s.SendPath = bulk.SendZeroCopy },
		"b --recv-path splice":                func(s *bulk.Spec) { s.RecvPath = bulk.RecvSplice },
		"b --notsent-lowat 128K":              func(s *bulk.Spec) { s.NotSentLowat = 128 << 10 },
		"b -A 1":                              func(s *bulk.Spec) { s.ClientCPUs = "1" },
		"b -A 0-3,nic":                        func(s *bulk.Spec) { s.ClientCPUs, s.ServerCPUs = "0-3", "nic" },
		"b --client-cpus 0,2 --server-cpus 1": func(s *bulk.Spec) { s.ClientCPUs, s.ServerCPUs = "0,2", "1" },
		"b -u":                                func(s *bulk.Spec) { s.Protocol, s.Rate = bulk.UDP, unit.Mbps },
		"b -u -b 0 --udp-counters-64bit --dont-fragment":                              func(s *bulk.Spec) { s.Protocol, s.Counters64, s.DontFragment = bulk.UDP, true, true },
		"b --forceflush -V -f m -4 -p 5202 --connect-timeout 500 -T x --extra-data y": func(*bulk.Spec) {},
	} {
		want := usual
		change(&want)
		command, err := flagsOf(t, args)
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		got, err := command.spec()
		if err != nil {
			t.Errorf("%s: %v", args, err)
		} else if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", args, d)
		}
	}
}

// What is wrong says where.
func TestTestRefuses(t *testing.T) {
	for args, says := range map[string]string{
		"b -t 0":                            "--time 0",
		"b -t 1e300":                        "--time",
		"b -t NaN":                          "--time",
		"b -O -1":                           "--omit",
		"b -i 0.01":                         "--interval",
		"b -i NaN":                          "--interval",
		"b -R --bidir":                      "--bidir",
		"b -l 2M":                           "length",
		"b -P 0":                            "streams",
		"b -w 5G":                           "buffers",
		"b -n many":                         "--bytes",
		"b -n 1M -k 3":                      "--blockcount",
		"b -k 0":                            "--blockcount",
		"b -k 9999999999999":                "--blockcount",
		"b -k 90G -l 1M":                    "too many",
		"b -b fast":                         "--bitrate",
		"b -b 10M/0":                        "--bitrate",
		"b -b 10M/many":                     "--bitrate",
		"b -b 10M/1001":                     "burst",
		"b -S 256":                          "--tos",
		"b -S ef":                           "--tos",
		"b --dscp 64":                       "--dscp",
		"b --dscp af51":                     "--dscp",
		"b -S 1 --dscp 1":                   "--dscp",
		"b -Z --send-path zerocopy":         "--zerocopy",
		"b --skip-rx-copy --recv-path copy": "--skip-rx-copy",
		"b --send-path fast":                "--send-path",
		"b -A 1,2,3":                        "--affinity",
		"b -A 1 --client-cpus 2":            "--affinity",
		"b --dont-fragment":                 "add -u",
		"b -f x":                            "--format",
		"b --repeat 2 --until-ci 2%":        "--until-ci",
		"b --until-ci 0":                    "--until-ci",
		"b --until-ci much":                 "--until-ci",
		"b --repeat -1":                     "--repeat",
		"b -J --csv":                        "--csv",
		"b -4 -6":                           "--version6",
		"b -c b":                            "--client",
		"":                                  "name the far end",
		"b --mptcp":                         "one path",
		"-s":                                "fullbore serve",
		"b -B 10.0.0.1":                     "ip route",
		"b -F file":                         "memory to memory",
		"b --no-such-flag":                  "--no-such-flag",
	} {
		command, err := flagsOf(t, args)
		if err == nil {
			_, err = command.spec()
		}
		if err == nil {
			_, err = command.form(&app{}, "", "")
		}
		if err == nil {
			_, err = command.repeats()
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want an error about %s", args, err, says)
		}
	}
}

// The far end is told apart by its scheme, and may have its port in two places.
func TestTestTarget(t *testing.T) {
	for args, want := range map[string]string{
		"b":                    "fullbore b",
		"b:1":                  "fullbore b:1",
		"b -p 1":               "fullbore b:1",
		"192.0.2.1 -p 1":       "fullbore 192.0.2.1:1",
		"2001:db8::1":          "fullbore 2001:db8::1",
		"2001:db8::1 -p 1":     "fullbore [2001:db8::1]:1",
		"[2001:db8::1] -p 1":   "fullbore [2001:db8::1]:1",
		"fe80::1%eth0 -p 1":    "fullbore [fe80::1%eth0]:1",
		"fullbore://b":         "fullbore b",
		"iperf3://b:1":         "iperf3 b:1",
		"IPERF3://b/":          "iperf3 b",
		"ndt7://b":             "ndt7 b",
		"ndt7s://b:1":          "ndt7s b:1",
		"b:1 -p 2":             "give it once",
		"[2001:db8::1]:1 -p 2": "give it once",
		"ndt7://b -p 1":        "ndt7://HOST:1",
		"ssh://a@b:22":         "ssh ssh://a@b:22",
		"ssh://b -p 1":         "write ssh's port behind the host: ssh://HOST:1",
		"ssh://b -6":           "-4 and -6 are not for ssh://",
		"gopher://b":           "no protocol known here",
	} {
		command, err := flagsOf(t, args)
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		kind, address, err := command.parse()
		got := string(kind) + " " + address
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != want || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
}

func TestTestAddressFamily(t *testing.T) {
	for args, want := range map[string]string{
		"127.0.0.1 -4":   "127.0.0.1",
		"127.0.0.1:9 -4": "127.0.0.1:9",
		"127.0.0.1 -6":   "not an IPv6 address",
		"[::1]:9 -6":     "[::1]:9",
		"fe80::1%lo -6":  "fe80::1%lo",
		"fe80::1%lo -4":  "not an IPv4 address",
		"localhost:9 -4": "127.0.0.1:9",
	} {
		command, err := flagsOf(t, args)
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		got, err := command.within(t.Context(), command.Host)
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != want || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
}
