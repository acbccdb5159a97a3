package sysctld

import (
	"regexp"
	"strings"
)

// isPattern reports whether the key stands for all files that fit (glob(7)).
func isPattern(key string) bool { return strings.ContainsAny(key, "*?[") }

// patternFits reports whether glob(7) finds key by the pattern.
func patternFits(pattern, key string) bool {
	fits, err := regexp.Compile("^" + globExpression(pattern) + "$")
	return err == nil && fits.MatchString(key)
}

// globExpression writes a pattern as a regular expression. A bracket that is not
// closed stands for itself.
func globExpression(pattern string) string {
	var out strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			out.WriteString("[^/]*")
		case '?':
			out.WriteString("[^/]")
		case '\\':
			if i+1 < len(pattern) {
				i++
			}
			out.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		case '[':
			class, length := globClass(pattern[i:])
			if length == 0 {
				out.WriteString(`\[`)
				continue
			}
			out.WriteString(class)
			i += length - 1
		default:
			out.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	return out.String()
}

// globClass reads the bracket that s begins with: the same as a class of a
// regular expression, and its length in s; 0 if it is not closed within a part
// of the path.
func globClass(s string) (class string, length int) {
	i, negated := 1, ""
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		i, negated = i+1, "^/"
	}
	var out strings.Builder
	for first := true; i < len(s) && s[i] != '/'; first = false {
		switch {
		case s[i] == ']' && !first:
			return "[" + negated + out.String() + "]", i + 1
		case strings.HasPrefix(s[i:], "[:") && strings.Contains(s[i:], ":]"):
			end := strings.Index(s[i:], ":]") + 2
			out.WriteString(s[i : i+end])
			i += end
			continue
		case s[i] == '\\' && i+1 < len(s):
			i++
			out.WriteString(regexp.QuoteMeta(s[i : i+1]))
		case s[i] == '-' && !first && i+1 < len(s) && s[i+1] != ']':
			out.WriteByte('-')
		default:
			if strings.IndexByte(`\[]^-&~`, s[i]) >= 0 {
				out.WriteByte('\\')
			}
			out.WriteByte(s[i])
		}
		i++
	}
	return "", 0
}
