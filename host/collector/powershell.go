package collector

import (
	"encoding/csv"
	"strings"
)

// record is one object that PowerShell printed, by the names of its properties.
type record struct {
	line   int // where it begins
	fields map[string]string
}

// parsePowerShell reads objects as Format-List prints them ("Name : value", an
// empty line between two) and as ConvertTo-Csv does (a line of quoted names,
// then lines of quoted values), one after the other.
func parsePowerShell(from []line) []record {
	var all []record
	var names []string
	open := false
	for _, l := range from {
		text := strings.TrimSpace(l.text)
		switch {
		case text == "":
			open, names = false, nil
		case strings.HasPrefix(text, `"`):
			row, ok := csvRow(text)
			switch {
			case !ok:
				names = nil
			case names == nil || title(row):
				names = row
			case len(row) == len(names):
				one := record{l.number, map[string]string{}}
				for i, name := range names {
					one.fields[name] = strings.TrimSpace(row[i])
				}
				all = append(all, one)
			}
			open = false
		default:
			name, value, ok := strings.Cut(text, ":")
			if name = strings.TrimSpace(name); !ok || name == "" {
				continue
			}
			if !open {
				all, open = append(all, record{l.number, map[string]string{}}), true
			}
			all[len(all)-1].fields[name] = strings.TrimSpace(value)
		}
	}
	return all
}

// titles are the first columns of the tables in windows.ps1: where one table
// follows another, they show it.
var titles = map[string]string{"Name": "", "InterfaceAlias": "", "Interface": ""}

func title(row []string) bool {
	_, ok := titles[row[0]]
	return ok && len(row) > 1
}

func csvRow(text string) ([]string, bool) {
	row, err := csv.NewReader(strings.NewReader(text)).Read()
	return row, err == nil && len(row) > 0
}
