// Package near finds what a mistyped word may have meant.
package near

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// most is how many words are worth suggesting.
const most = 3

// longest is how much of a word is looked at, in bytes: more than people type.
const longest = 64

// Distance is the number of single-letter edits between two words
// (Levenshtein's).
func Distance(a, b string) int {
	return levenshtein.ComputeDistance(a[:min(len(a), longest)], b[:min(len(b), longest)])
}

// Words gives the candidates that the word may have meant, nearest first, at
// most three: those at most three edits away, or half of a shorter word, and
// those that contain it.
func Words(word string, candidates []string) []string {
	var found []string
	for _, candidate := range candidates {
		limit := min(3, len(word)/2, len(candidate)/2)
		if Distance(word, candidate) <= limit || len(word) >= 3 && strings.Contains(candidate, word) {
			found = append(found, candidate)
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(Distance(word, a), Distance(word, b)) })
	return found[:min(most, len(found))]
}

// DidYouMean is " (did you mean x or y?)", or nothing if no candidate is near.
func DidYouMean(word string, candidates []string) string {
	found := Words(word, candidates)
	if len(found) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(found, " or ") + "?)"
}
