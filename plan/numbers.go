package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

// inBytes is the unit of tunables that count memory.
const inBytes = "bytes"

// elements are a value's numbers, nil if one of them is none.
func elements(value string) []int64 {
	var all []int64
	for word := range strings.FieldsSeq(value) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil
		}
		all = append(all, n)
	}
	return all
}

// joined are numbers as a value.
func joined(all []int64) string {
	var text []string
	for _, n := range all {
		text = append(text, strconv.FormatInt(n, 10))
	}
	return strings.Join(text, " ")
}

// greatest is the last of a value's numbers, the maximum of a triplet; 0 if there
// is none.
func greatest(value string) int64 {
	all := elements(value)
	if len(all) == 0 {
		return 0
	}
	return max(0, all[len(all)-1])
}

// withLast is a value whose last number is another one.
func withLast(value string, n int64) string {
	all := strings.Fields(value)
	if len(all) == 0 {
		return fmt.Sprint(n)
	}
	all[len(all)-1] = fmt.Sprint(n)
	return strings.Join(all, " ")
}

// number64 is a size as a tunable's value.
func number64(size unit.Size) string { return fmt.Sprint(int64(size)) }

// present is a tunable's value in bytes, 0 where the host does not report it.
func present(h *host.Facts, name string) unit.Size { return unit.Size(number(h.Tunables[name], 0)) }

// has says whether a tunable exists in a host's version of its system.
func has(h *host.Facts, name string) bool {
	t, ok := tunable.Lookup(h.OS, name)
	return ok && t.Applies(h.Version)
}

// from says whether a host's version is at least this one; one that cannot be
// read is taken for a current one.
func from(h *host.Facts, version string) bool {
	return (&tunable.Tunable{Since: version}).Applies(h.Version)
}
