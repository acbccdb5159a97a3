package html

import (
	"bytes"
	"testing"

	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/record"
)

func written(t testing.TB, runs ...*record.Run) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, runs); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The page of a diagnosis, of a tuning, and of several runs, without what is embedded.
func TestPages(t *testing.T) {
	for name, runs := range map[string][]*record.Run{
		"diagnosis":  {diagnosed(t, "lossy-wan")},
		"tuning":     {tuned(t)},
		"comparison": {diagnosed(t, "california-uk"), diagnosed(t, "clean-wan"), tuned(t)},
	} {
		page := written(t, runs...)
		if again := written(t, runs...); !bytes.Equal(page, again) {
			t.Errorf("%s: the same runs make two pages", name)
		}
		shown, _, _ := bytes.Cut(page, []byte(opening))
		golden.Check(t, name+".html", shown)
		t.Logf("%s: %d bytes, %d of them embedded", name, len(page), len(page)-len(shown))
	}
}
