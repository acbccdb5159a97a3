package plan

import (
	"fmt"
	"strconv"
	"strings"
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
