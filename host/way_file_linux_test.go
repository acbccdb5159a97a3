package host

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// server is the tree of an NFS client and server, with the clocks of its CPUs.
var server = map[string]string{
	"proc/sys/kernel/osrelease":                               "6.1.0-18-amd64",
	"proc/sys/net/ipv4/tcp_mem":                               "1 2 3",
	"proc/sys/net/ipv4/tcp_rmem":                              "4096 131072 6291456",
	"proc/cmdline":                                            "BOOT_IMAGE=/vmlinuz root=/dev/sda1 iommu=off quiet iommu=pt",
	"proc/fs/nfsd/threads":                                    "8",
	"proc/fs/nfsd/max_block_size":                             "1048576",
	"proc/sys/sunrpc/tcp_slot_table_entries":                  "2",
	"sys/module/nfs/parameters/max_session_slots":             "64",
	"sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "powersave",
	"sys/devices/system/cpu/cpufreq/policy1/scaling_governor": "powersave",
	"sys/class/bdi/0:52/read_ahead_kb":                        "128",
	"sys/class/bdi/0:53/read_ahead_kb":                        "15360",
	"proc/self/mountinfo": `22 28 0:21 / /sys rw,nosuid shared:7 - sysfs sysfs rw
36 28 0:52 / /mnt/data rw,noatime shared:1 - nfs4 server:/export rw,vers=4.2,rsize=1048576,wsize=524288,namlen=255,hard,proto=tcp,nconnect=8,max_connect=4,timeo=600
37 28 0:53 / /mnt/my\040old\134files ro shared:2 - nfs server:/old ro,vers=3,rsize=32768,wsize=32768,proto=tcp
38 28 0:54 / /mnt/hidden rw shared:2 - nfs server:/h rw,vers=4.0,rsize=4096
39 28 8:1 / /mnt/hidden rw shared:2 - ext4 /dev/sda1 rw,rsize=1
40 28 ../x:1 / /mnt/odd rw - nfs4 server:/odd rw,rsize=4096
41 28 0:55 / /mnt/a\012b rw - nfs4 server:/line rw,rsize=4096
42 28 0:56 /`,
}

func TestFilesOfAServer(t *testing.T) {
	r := unpack(t, server)
	f := Facts{Tunables: map[string]string{}}
	if err := r.tunables(&f); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"net.ipv4.tcp_rmem": "4096 131072 6291456", "net.ipv4.tcp_mem": "1 2 3", "sunrpc.tcp_slot_table_entries": "2",
		"cmdline.iommu": "pt", "nfsd.threads": "8", "nfsd.max_block_size": "1048576", "module.nfs.max_session_slots": "64", "cpu.governor": "powersave",
		"nfs.rsize@/mnt/data": "1048576", "nfs.wsize@/mnt/data": "524288", "nfs.nconnect@/mnt/data": "8", "nfs.max_connect@/mnt/data": "4", "nfs.read_ahead_kb@/mnt/data": "128",
		`nfs.rsize@/mnt/my old\files`: "32768", `nfs.wsize@/mnt/my old\files`: "32768", `nfs.nconnect@/mnt/my old\files`: "1", `nfs.read_ahead_kb@/mnt/my old\files`: "15360",
	}
	if d := cmp.Diff(want, f.Tunables); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	wantReadOnly := []string{
		"cmdline.iommu", "nfs.max_connect@/mnt/data", "nfs.nconnect@/mnt/data", `nfs.nconnect@/mnt/my old\files`,
		"nfs.rsize@/mnt/data", `nfs.rsize@/mnt/my old\files`, "nfs.wsize@/mnt/data", `nfs.wsize@/mnt/my old\files`,
	}
	slices.Sort(f.ReadOnly)
	if d := cmp.Diff(wantReadOnly, f.ReadOnly); d != "" {
		t.Errorf("read only (-want +got):\n%s", d)
	}
}

func TestSetFiles(t *testing.T) {
	for _, test := range []struct{ name, value, says string }{
		{"cpu.governor", "performance", ""},
		{"nfsd.threads", "64", ""},
		{"nfsd.threads", "0", "start or stop the NFS server"},
		{"nfsd.threads", "-1", "not a number"},
		{"nfsd.threads", "064", "not a number"},
		{"nfsd.max_block_size", "4194304", ""},
		{"module.nfs.max_session_slots", "180", ""},
		{"nfs.read_ahead_kb@/mnt/data", "15360", ""},
		{`nfs.read_ahead_kb@/mnt/my old\files`, "30720", ""},
		{"nfs.read_ahead_kb@/mnt/data", "lots", "not a number"},
		{"nfs.read_ahead_kb@/mnt/hidden", "128", "not there"},
		{"nfs.read_ahead_kb@/mnt", "128", "not there"},
		{"nfs.read_ahead_kb@/mnt/odd", "128", "not there"},
		{"nfs.rsize@/mnt/data", "65536", "unmount it"},
		{"cmdline.iommu", "off", "boot loader"},
	} {
		s := &session{root: unpack(t, server)}
		err := s.set(test.name, test.value)
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("set %s to %q: %v, want %q", test.name, test.value, err, test.says)
		}
		if now, err := s.get(test.name); test.says == "" && now != test.value {
			t.Errorf("%s is %q (%v), want %q", test.name, now, err, test.value)
		}
	}
}

// In a network namespace within the machine, the machine's own are out of reach.
func TestFilesFromWithin(t *testing.T) {
	within := maps.Clone(server)
	delete(within, "proc/sys/net/ipv4/tcp_mem")
	s := &session{root: unpack(t, within)}
	for _, name := range []string{"cpu.governor", "nfsd.threads", "module.nfs.max_session_slots", "nfs.read_ahead_kb@/mnt/data"} {
		if err := s.set(name, "1"); err == nil || !strings.Contains(err.Error(), "whole machine") {
			t.Errorf("set %s: %v", name, err)
		}
		if s.settable(name) == nil {
			t.Errorf("%s can be set", name)
		}
	}
	if value, err := s.get("nfsd.threads"); err == nil {
		t.Errorf("another's NFS server has %q threads", value)
	}
}

// CPUs that are not alike have no one governor, and what fails half way is put back.
func TestAlike(t *testing.T) {
	files := maps.Clone(server)
	files["sys/devices/system/cpu/cpufreq/policy1/scaling_governor"] = "performance"
	s := &session{root: unpack(t, files)}
	if value, err := s.get("cpu.governor"); err == nil || !strings.Contains(err.Error(), "they differ: powersave of policy0, performance of policy1") {
		t.Errorf("%q, %v", value, err)
	}
	if err := s.set("cpu.governor", "performance"); err == nil {
		t.Error("it is set although it could not be put back")
	}

	s = &session{root: unpack(t, server)}
	policies, err := governor{}.policies(s)
	if err != nil {
		t.Fatal(err)
	}
	// /dev/full can be read, but not written.
	policies.files = append(policies.files, "/dev/full")
	policies.parse = func(text string) (string, error) {
		if strings.Trim(text, "\x00") == "" {
			return "powersave", nil
		}
		return text, nil
	}
	if err := policies.set("performance"); err == nil || !strings.Contains(err.Error(), "the kernel refuses it: no space left") {
		t.Errorf("the last CPU refuses: %v", err)
	}
	for _, file := range policies.files[:2] {
		if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), "powersave\n") {
			t.Errorf("%s is left at %q (%v)", owner(file), text, err)
		}
	}
	policies.files = append(policies.files[:2], filepath.Join(t.TempDir(), "gone"))
	if _, err := policies.get(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a CPU that went: %v", err)
	}
}

// Mounts of a machine with containers, cut off in the middle, and none at all.
func TestParseMounts(t *testing.T) {
	var b strings.Builder
	for range 200 {
		b.WriteString(server["proc/self/mountinfo"] + "\n")
	}
	if mounts := parseMounts(b.String()); len(mounts) != 2 {
		t.Errorf("%d mounts, want 2: %+v", len(mounts), mounts)
	}
	if mounts := parseMounts(""); mounts != nil {
		t.Errorf("mounts: %+v", mounts)
	}
	if mounts := parseMounts("36 28 0:52 / /mnt rw - nfs4 server:/export rw,rsize=1048"); mounts != nil {
		t.Errorf("cut off: %+v", mounts)
	}
}

func FuzzParseMounts(f *testing.F) {
	f.Add(server["proc/self/mountinfo"] + "\n")
	f.Add("1 2 0:3 / /a\\040 - nfs4 - \n")
	f.Fuzz(func(t *testing.T, text string) {
		mounts := parseMounts(text)
		if len(mounts) > maxMounts {
			t.Errorf("%d mounts", len(mounts))
		}
		for _, m := range mounts {
			if checkMount(m.dir) != nil || !deviceNumber.MatchString(m.device) {
				t.Errorf("mount %+v", m)
			}
		}
	})
}
