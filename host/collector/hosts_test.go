package collector

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/internal/golden"
)

// What the scripts print on one host of each system, read into facts.
//
// Only Linux's was recorded on a host; the mount, the routes, the profile of TuneD
// and the file in /etc/sysctl.d were added to it. The others are put together
// from public records and documentation, with addresses of 198.18/15:
//   - solaris8: the interfaces and "ce" statistics are of FusionInventory's and
//     OpenSVC's collections, the answers to wrong names of ndd(1M)'s source, the
//     values of the Solaris 8 Tunable Parameters Reference Manual (806-6779)
//   - solaris11: ifconfig and dladm as in Oracle's "Configuring and Managing
//     Network Components", ipadm -c as in ipadm(8)
//   - illumos: igb1 and igb2 of the facts of Facter's tests, ipadm's values of a
//     network/tune service for SmartOS
//   - macos, freebsd: ifconfig(8) and sysctl(8) as their manual pages and
//     handbooks show them, values of the systems' sources
//   - windows2000, windows2003: reg and regedit as in Microsoft's documentation,
//     values of "TCP/IP registry values" (cc757802)
//   - windows7: netsh as in questions on public forums, its table of interfaces
//     of the tests of a parser for Node.js
//   - windows2019: Get-NetTCPSetting and Get-NetOffloadGlobalSetting as in
//     Microsoft's documentation of Windows Server
func TestHosts(t *testing.T) {
	files, err := filepath.Glob("testdata/hosts/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d hosts (%v)", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			facts, notes, err := Understand(strings.NewReader(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range notes {
				t.Errorf("note: %s", n)
			}
			written, err := json.MarshalIndent(Document{Schema, facts}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "hosts/"+name+".json", string(written)+"\n")

			// The document is as good as what it was read from.
			again, notes, err := Understand(strings.NewReader(string(written)))
			if err != nil || len(notes) > 0 {
				t.Fatalf("read again: %v, notes %q", err, notes)
			}
			second, err := json.MarshalIndent(Document{Schema, again}, "", "  ")
			if err != nil || string(second) != string(written) {
				t.Errorf("read again it is (%v)\n%s", err, second)
			}
		})
	}
}
