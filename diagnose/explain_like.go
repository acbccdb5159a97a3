package diagnose

import (
	"slices"
	"strings"
)

// Like gives the causes that somebody may have meant, the likeliest first, three
// at most: those that have the word in their name, those with nearly the same
// name, or those whose meaning has it.
func Like(word string) []string {
	word = strings.ToLower(strings.TrimSpace(word))
	if word == "" || len(word) > 64 {
		return nil
	}
	var like []string
	add := func(is func(Cause) bool) {
		for _, c := range Causes {
			if len(like) < 3 && is(c) && !slices.Contains(like, c.ID) {
				like = append(like, c.ID)
			}
		}
	}
	plain := strings.NewReplacer("_", "-", " ", "-").Replace(word)
	for distance := 0; distance <= max(1, len(word)/3) && len(like) == 0; distance++ {
		add(func(c Cause) bool { return edits(plain, c.ID) <= distance })
	}
	if len(like) == 0 && len(word) > 1 {
		add(func(c Cause) bool { return strings.Contains(c.ID, plain) })
		add(func(c Cause) bool { return strings.Contains(strings.ToLower(c.Means), word) })
	}
	return like
}

// edits is how many letters must be added, taken away or replaced to make one
// word of the other (Levenshtein's distance).
func edits(a, b string) int {
	before := make([]int, len(b)+1)
	for j := range before {
		before[j] = j
	}
	for i := range len(a) {
		now := make([]int, len(b)+1)
		now[0] = i + 1
		for j := range len(b) {
			replaced := before[j]
			if a[i] != b[j] {
				replaced++
			}
			now[j+1] = min(replaced, before[j+1]+1, now[j]+1)
		}
		before = now
	}
	return before[len(b)]
}
