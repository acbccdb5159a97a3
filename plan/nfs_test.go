package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// What moves files over NFS: who mounts asks for more at a time, who serves has more
// threads, as many as its memory has room for.
func TestNFS(t *testing.T) {
	const rsize, ahead, session, slots, threads = "nfs.rsize@/mnt", "nfs.read_ahead_kb@/mnt", "module.nfs.max_session_slots", "sunrpc.tcp_slot_table_entries", "nfsd.threads"
	with := func(version string, changes ...string) *host.Facts {
		h := card(changes...)
		h.Version = version
		return h
	}
	of := func(h *host.Facts, memory int64) *host.Facts {
		h.Memory = memory
		return h
	}
	for name, c := range map[string]struct {
		h           *host.Facts
		rate        unit.Rate
		connections int
		want        []string
		risk        string // of the step
	}{
		"a mount of small requests":         {with("6.18", rsize, "262144"), unit.Gbps, 0, []string{rsize + " = 1048576"}, "fragments"},
		"the risk is of what is changed":    {with("6.18", rsize, "262144", ahead, "15360"), unit.Gbps, 0, []string{rsize + " = 1048576"}, "fragments"},
		"a mount that reads one at a time":  {with("6.18", rsize, "1048576", ahead, "128"), unit.Gbps, 0, []string{ahead + " = 15360"}, "at random"},
		"one connection at 10 Gb/s":         {with("6.18", rsize, "1048576", "nfs.nconnect@/mnt", "1"), 10 * unit.Gbps, 0, []string{"nfs.nconnect@/mnt = 8"}, ""},
		"one connection below that":         {with("6.18", rsize, "1048576", "nfs.nconnect@/mnt", "1"), 9 * unit.Gbps, 0, nil, ""},
		"an old client, not mounted yet":    {with("2.6.18", slots, "16"), unit.Gbps, 0, []string{slots + " = 128"}, ""},
		"a client that chooses by itself":   {with("6.18", slots, "2"), unit.Gbps, 0, nil, ""},
		"a path of 36 requests":             {with("6.18", session, "64"), unit.Gbps, 0, nil, ""},
		"a path of 358":                     {with("6.18", session, "64"), 10 * unit.Gbps, 0, []string{session + " = 512"}, "less room"},
		"slots below what the kernel has":   {with("6.18", session, "16"), 10 * unit.Gbps, 0, []string{session + " = 512"}, "less room"},
		"just as many as the kernel has":    {with("6.18", session, "16"), 1789.5697 * unit.Mbps, 0, nil, ""},
		"one more than the kernel has":      {with("6.18", session, "16"), 1815 * unit.Mbps, 0, []string{session + " = 128"}, "less room"},
		"more than there can be":            {with("6.18", session, "64"), 100 * unit.Gbps, 0, []string{session + " = 1024"}, "less room"},
		"a server of a thousand":            {of(with("6.18", threads, "8"), 0), unit.Gbps, 1000, []string{threads + " = 1024"}, "disks"},
		"a server with little memory":       {of(with("6.18", threads, "8"), 1<<30), unit.Gbps, 1000, []string{threads + " = 32"}, "disks"},
		"a server with threads enough":      {of(with("6.18", threads, "1024"), 0), unit.Gbps, 1000, nil, ""},
		"a server with more threads":        {of(with("6.18", threads, "2000"), 0), unit.Gbps, 1000, nil, ""},
		"no more threads than there can be": {of(with("6.18", threads, "8"), 0), unit.Gbps, 100_000, []string{threads + " = 8192"}, "disks"},
		"a server that mounts, too":         {of(with("6.18", threads, "8", rsize, "262144"), 0), unit.Gbps, 1000, []string{rsize + " = 1048576"}, "fragments"},
		"threads that do not run":           {of(with("6.18", threads, "0"), 0), unit.Gbps, 1000, nil, ""},
	} {
		m := newMaker(Input{Path: between(c.rate, 150*ms), Receiver: c.h, Connections: c.connections, Workload: NFS, OneEnd: true})
		var got []string
		risks := ""
		for _, i := range []*idea{nfsMount(m, c.h), nfsServer(m, c.h)} {
			if i != nil {
				got = append(got, values(i.Changes)...)
				risks += i.Risk
			}
		}
		if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" || !strings.Contains(risks, c.risk) {
			t.Errorf("%s: risk %q, changes %s", name, risks, diff)
		}
		m.Workload = ""
		if nfsMount(m, c.h) != nil || nfsServer(m, c.h) != nil {
			t.Errorf("%s: changes for NFS without NFS", name)
		}
	}
}
