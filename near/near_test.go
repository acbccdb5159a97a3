package near

import "testing"

func TestDidYouMean(t *testing.T) {
	candidates := []string{"delay", "rate", "queue", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}
	for word, want := range map[string]string{
		"dealy":            " (did you mean delay?)",
		"tcp_rmem":         " (did you mean net.ipv4.tcp_rmem?)",
		"net.ipv4.tcp_mem": " (did you mean net.ipv4.tcp_rmem or net.ipv4.tcp_wmem?)",
		"x":                "",
		"":                 "",
		"jitter":           "",
	} {
		if got := DidYouMean(word, candidates); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
