package collector

import (
	"strings"

	"github.com/fullbore/fullbore/tunable"
)

// parseDladm reads dladm(8)'s -p and -c: lines of so many fields with colons
// between them.
func parseDladm(from []line, fields int) (all [][]string, at []int) {
	for _, l := range from {
		if row := splitColons(strings.TrimSpace(l.text)); len(row) == fields && row[0] != "" {
			all, at = append(all, row), append(at, l.number)
		}
	}
	return all, at
}

// dladmLinks reads "dladm show-link -p -o LINK,CLASS,MTU,STATE": which links are
// up.
func dladmLinks(r *reading, s *section) error {
	rows, at := parseDladm(s.lines, 4)
	for i, row := range rows {
		if n := r.known(row[0]); n != nil {
			n.Up = n.Up && row[3] != "down"
		}
		r.set(at[i], tunable.Join("link.mtu", row[0]), row[2])
	}
	return nil
}

// dladmPhys reads "dladm show-phys -p -o LINK,STATE,SPEED,DUPLEX,DEVICE"; the
// speed is in Mb/s, and 0 where there is none.
func dladmPhys(r *reading, s *section) error {
	rows, _ := parseDladm(s.lines, 5)
	for _, row := range rows {
		n := r.known(row[0])
		if n == nil {
			continue
		}
		n.Speed = int(min(sizeOf(row[2], 1), maxSpeed))
		if row[3] == "full" || row[3] == "half" {
			n.Duplex = row[3]
		}
		if driver := strings.TrimRight(row[4], "0123456789"); plausible(driver) {
			n.Driver = driver
		}
	}
	return nil
}

// dladmProperties reads "dladm show-linkprop -c -o LINK,PROPERTY,VALUE".
func dladmProperties(r *reading, s *section) error {
	rows, at := parseDladm(s.lines, 3)
	for i, row := range rows {
		if isNumber(row[2]) { // "--": the link has none
			r.set(at[i], tunable.Join("link."+row[1], row[0]), row[2])
		}
	}
	return nil
}
