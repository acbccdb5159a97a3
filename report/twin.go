package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/twin"
)

// twinWidth is how wide the lines of a twin's table are.
const twinWidth = 110

// Twin lists what is known of a measured path and its hosts: what, value, and how it is
// known. Settings of the hosts are counted, not listed: the file has them.
func Twin(w io.Writer, t *twin.Twin) {
	fmt.Fprintf(w, "%s is the twin of %s > %s (run %s)\n", printable.Line(t.Scenario.Name), t.From, t.To, t.Run)
	if t.Verdict != "" {
		fmt.Fprintf(w, "  %s there, %s", printable.Line(t.Verdict), t.Before)
		if t.After > 0 {
			fmt.Fprintf(w, ", %s once tuned", t.After)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	settings := map[string]int{}
	rows := [][3]string{}
	for i := range t.Keys {
		k := &t.Keys[i]
		host, setting := strings.CutPrefix(k.Key, "hosts.")
		switch {
		case k.Why == "" || strings.HasPrefix(k.Key, "expect") || strings.HasSuffix(k.Key, ".seed"):
			continue
		case setting && strings.Contains(k.Key, ".sysctl."):
			settings[host[:1]]++
			continue
		}
		value := k.Value
		if value == "" {
			value = "none"
		}
		rows = append(rows, [3]string{strings.TrimPrefix(strings.TrimPrefix(k.Key, "path."), "hosts."), strings.Trim(value, `"`), k.Known() + ": " + k.Why})
	}
	for _, host := range []string{"a", "b"} {
		if n := settings[host]; n > 0 {
			rows = append(rows, [3]string{host + ".sysctl", fmt.Sprintf("%d settings", n), "measured: as found on the host"})
		}
	}
	first, second := 0, 0
	for _, row := range rows {
		first, second = max(first, printable.Width(row[0])), max(second, min(printable.Width(row[1]), 34))
	}
	for _, row := range rows {
		begin := fmt.Sprintf("  %-*s  %-*s  ", first, row[0], second, row[1])
		for _, line := range printable.Hang(begin, row[2], twinWidth) {
			fmt.Fprintln(w, line)
		}
	}
	for _, lack := range t.Lacks {
		for _, line := range printable.Hang("  not in it  ", lack, twinWidth) {
			fmt.Fprintln(w, line)
		}
	}
}
