package format

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestIntegrationNixOS: Nix itself reads the module, and finds the plan's values
// in it.
func TestIntegrationNixOS(t *testing.T) {
	t.Parallel()
	e := examples()[0]
	out := inSandbox(t, written(t, nixOS, e), `nix-instantiate --eval --strict --json -E 'import ./fullbore.nix { lib = {}; config = {}; }' 2>/dev/null`, "nix-instantiate")
	var module struct {
		Boot struct {
			Kernel struct {
				Sysctl map[string]any `json:"sysctl"`
			} `json:"kernel"`
		} `json:"boot"`
	}
	if err := json.Unmarshal([]byte(out), &module); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := map[string]any{ // whole numbers as numbers
		"net.ipv4.tcp_rmem": "4096 131072 134217728", "net.ipv4.tcp_wmem": "4096 16384 67108864",
		"net.ipv4.tcp_congestion_control": "bbr", "net.core.rmem_max": 67108864.0,
	}
	if d := cmp.Diff(want, module.Boot.Kernel.Sysctl); d != "" {
		t.Errorf("settings (-want +got):\n%s", d)
	}
}

// TestIntegrationXML: the manifest and the property list are well-formed, and
// Python reads the latter.
func TestIntegrationXML(t *testing.T) {
	t.Parallel()
	var files []File
	for _, c := range examples() {
		switch c.name {
		case "illumos":
			files = append(files, written(t, smf, c)...)
		case "macos-15":
			files = append(files, written(t, launchd, c)...)
		}
	}
	out := inSandbox(t, files, `
xmllint --noout --nonet *.xml *.plist || exit 1
python3 -c 'import plistlib, sys; p = plistlib.load(open(sys.argv[1], "rb")); print(p["Label"], *p["ProgramArguments"], p["RunAtLoad"])' *.plist`, "xmllint")
	same(t, "the property list", "fullbore.settings /bin/sh /usr/local/sbin/fullbore-settings.sh True\n", out)
}

// TestManifest: the elements of the service stand in the order that
// service_bundle.dtd.1 of illumos gives for them, with the attributes it asks for.
func TestManifest(t *testing.T) {
	// <!ELEMENT service ( (%stability | create_default_instance? ...
	order := []string{
		"create_default_instance", "single_instance", "restarter", "dependency", "dependent", "method_context",
		"exec_method", "notify_parameters", "property_group", "instance", "stability", "template",
	}
	required := map[string][]string{
		"service_bundle": {"type", "name"}, "service": {"name", "type", "version"}, "create_default_instance": {"enabled"},
		"dependency": {"name", "grouping", "restart_on", "type"}, "service_fmri": {"value"},
		"exec_method": {"type", "name", "exec", "timeout_seconds"}, "property_group": {"name", "type"}, "propval": {"name", "type", "value"},
		"stability": {"value"}, "single_instance": {}, "template": {}, "common_name": {}, "loctext": {"lang"},
	}
	last, depth := 0, 0
	d := xml.NewDecoder(strings.NewReader(manifest))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			want, known := required[e.Name.Local]
			if !known {
				t.Errorf("element %s is not one of a service", e.Name.Local)
			}
			var have []string
			for _, a := range e.Attr {
				have = append(have, a.Name.Local)
			}
			for _, name := range want {
				if !slices.Contains(have, name) {
					t.Errorf("%s has no %s", e.Name.Local, name)
				}
			}
			if depth == 2 {
				at := slices.Index(order, e.Name.Local)
				if at < last {
					t.Errorf("%s is out of order", e.Name.Local)
				}
				last = at
			}
			depth++
		case xml.EndElement:
			depth--
		}
	}
}
