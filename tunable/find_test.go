package tunable

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFind(t *testing.T) {
	for name, want := range map[string]string{
		"linux":                      "linux ", // any version
		"linux2.4":                   "linux 2.4",
		"Linux 5.15":                 "linux 5.15",
		"linux6.1.0-18-amd64":        "linux 6.1.0",
		"Linux 4.18.0-553.el8.x86":   "linux 4.18.0",
		"linux7.0":                   "linux 7.0", // the next there will be
		"rhel7":                      "linux 3.10",
		"RHEL 10":                    "linux 6.12",
		"debian12":                   "linux 6.1",
		"linuxdebian12":              "linux 6.1",
		"ubuntu18.04":                "linux 4.15",
		"Red Hat Enterprise Linux 9": "linux 5.14",
		"solaris10":                  "solaris 10",
		"SunOS 5.10":                 "solaris 10",
		"SunOS":                      "solaris ",
		"solaris8":                   "solaris 8",
		"solaris11.3":                "solaris 11.3",
		"illumos":                    "illumos ",
		"mac":                        "macos ",
		"osx10.9":                    "macos 10.9",
		"Mac OS X 10.4.11":           "macos 10.4.11",
		"win2000":                    "windows 5.0",
		"omnios":                     "illumos 5.11",
		"macos10.4":                  "macos 10.4",
		"Mac OS X 10.4":              "macos 10.4",
		"freebsd13":                  "freebsd 13",
		"FreeBSD 13.2":               "freebsd 13.2",
		"windows2003":                "windows 5.2",
		"Windows Server 2003":        "windows 5.2",
		"windows 2008r2":             "windows 6.1",
		"windows10.0.17763":          "windows 10.0.17763",
	} {
		s, version, err := Find(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := s.ID + " " + version; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestFindUnknown(t *testing.T) {
	for name, says := range map[string]string{
		"":                                  "1 to 64 bytes, not 0",
		strings.Repeat("linux", 20):         "1 to 64 bytes, not 100",
		"linux-6.1.0-\x1e":                  "cannot be printed",
		"plan9":                             `system "plan9" is not known: there are freebsd, illumos, linux,`,
		"linnux":                            "(did you mean linux?)",
		"rehl7":                             "(did you mean rhel7",
		"windows95":                         "not known", // older than the catalogue
		"windows2004":                       "(did you mean windows2000 or windows2003 or windows2008?)",
		"solaris7":                          "not known",
		"linux1.2":                          "not known",
		"linux99":                           "not known",
		"linux2..4":                         "not known",
		"linux99999999999999999999999999.1": "not known",
		"2003":                              "not known", // of which system?
		"xp":                                "not known",
	} {
		if s, version, err := Find(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v %s %v, want %q", name, s, version, err, says)
		}
	}
}

// Every release is found by its short name, alone or behind its system, and by its
// whole name; the version found is one that the catalogue understands.
func TestFindEveryRelease(t *testing.T) {
	for _, id := range Systems() {
		s, err := Of(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Releases {
			names := []string{r.Name, id + r.Short, strings.ToUpper(id) + " " + r.Short}
			if r.alone() != "" {
				names = append(names, r.Short)
			}
			for _, name := range names {
				if got, version, err := Find(name); err != nil || got.ID != id || version != r.Version {
					t.Errorf("%s: %s %v, want %s %s", name, version, err, id, r.Version)
				}
			}
		}
	}
}

// However a name is written, it is refused, or the version found can be read. Long
// names are cut: looking for the nearest names takes most of the time.
func FuzzFind(f *testing.F) {
	f.Add("linux5.15")
	f.Add("Windows 2003")
	f.Add("sunos5.10")
	f.Fuzz(func(t *testing.T, name string) {
		s, version, err := Find(name[:min(len(name), 12)])
		if err != nil {
			return
		}
		if _, ok := parseVersion(version); !ok && version != "" {
			t.Errorf("%q: version %q of %s cannot be read", name, version, s.ID)
		}
	})
}

func TestDidYouMean(t *testing.T) {
	for _, tc := range []struct{ system, name, want string }{
		{"linux", "net.ipv4.tcp_rmm", " (did you mean net.ipv4.tcp_rmem or net.ipv4.tcp_wmem or net.ipv4.tcp_mem?)"},
		{"linux", "tcp_moderate_recvbuf", " (did you mean net.ipv4.tcp_moderate_rcvbuf?)"}, // without what stands before it
		{"linux", "MTU", " (did you mean link.mtu or net.ipv4.tcp_mtu_probing?)"},
		{"linux", "link.mut@eth0", " (did you mean link.mtu?)"},
		{"solaris", "nfs3_bsiz", " (did you mean nfs:nfs3_bsize?)"},
		{"windows", "tcpwindowsize", " (did you mean TcpWindowSize or GlobalMaxTcpWindowSize?)"},
		{"linux", "elephant", ""},
		{"linux", "", ""},
	} {
		s, err := Of(tc.system)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.DidYouMean(tc.name); got != tc.want {
			t.Errorf("%s %q: %q, want %q", tc.system, tc.name, got, tc.want)
		}
	}
}

// What a step says is what it was filled with, and nothing else stands in it.
func TestFill(t *testing.T) {
	known, ok := Lookup("linux", "link.offload.tso")
	if !ok {
		t.Fatal("no link.offload.tso")
	}
	filled := known.Fill("link.offload.tso", "0", "eth0")
	if filled.Live != "ethtool -K eth0 tso off" {
		t.Errorf("live: %s", filled.Live)
	}
	rapid.Check(t, func(r *rapid.T) {
		s, err := Of(rapid.SampledFrom(Systems()).Draw(r, "system"))
		if err != nil {
			r.Fatal(err)
		}
		known := rapid.SampledFrom(s.Tunables).Draw(r, "tunable")
		steps := known.Fill(known.Name, "1", "eth0")
		for _, step := range []string{steps.Read, steps.Live, steps.Persist, steps.Unset} {
			for _, left := range []string{"{name}", "{value}", "{instance}", "{on}"} {
				if strings.Contains(step, left) {
					r.Fatalf("%s: %s is left in %s", known.Name, left, step)
				}
			}
		}
	})
}
