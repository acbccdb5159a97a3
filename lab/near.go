package lab

import (
	"reflect"
	"slices"
	"strings"
)

// didYouMean is " (did you mean x or y?)", or nothing if no candidate is near.
func didYouMean(word string, candidates []string) string {
	var near []string
	for _, candidate := range candidates {
		limit := min(3, len(word)/2, len(candidate)/2)
		if distance(word, candidate) <= limit || len(word) >= 3 && strings.Contains(candidate, word) {
			near = append(near, candidate)
		}
	}
	if len(near) == 0 {
		return ""
	}
	slices.SortStableFunc(near, func(a, b string) int { return distance(word, a) - distance(word, b) })
	return " (did you mean " + strings.Join(near[:min(3, len(near))], " or ") + "?)"
}

// distance is the number of single-letter edits between two words
// (Levenshtein), on words bounded to what a person types.
func distance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// keys are all keys of the scenario format.
func keys() []string {
	found := map[string]bool{}
	collectKeys(reflect.TypeFor[Scenario](), found)
	var all []string
	for key := range found {
		all = append(all, key)
	}
	slices.Sort(all)
	return all
}

func collectKeys(t reflect.Type, found map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		collectKeys(t.Elem(), found)
	case reflect.Struct:
		for field := range t.Fields() {
			if key := field.Tag.Get("yaml"); key != "" {
				found[key] = true
				collectKeys(field.Type, found)
			}
		}
	}
}
