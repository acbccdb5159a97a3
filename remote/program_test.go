package remote

import (
	"bytes"
	"io"
	"regexp"
	"testing"
	"testing/iotest"
	"time"
)

// TestCounted: who waits for what is sent is told how much of it has gone, and how long the rest takes; what is done at once is not told of.
func TestCounted(t *testing.T) {
	var told []string
	content := bytes.Repeat([]byte("x"), 2_000_000)
	send := func(every time.Duration) {
		t.Helper()
		told = nil
		slow := &slowly{iotest.HalfReader(bytes.NewReader(content))}
		got, err := io.ReadAll(&counted{from: slow, size: int64(len(content)), every: every, watch: func(text string) { told = append(told, text) }})
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes came, %v", len(got), err)
		}
	}
	send(time.Millisecond)
	says := regexp.MustCompile(`^[012]\.\d of 2\.0 MB sent, about \d+s left$`)
	if len(told) == 0 {
		t.Error("nothing is told")
	}
	for _, text := range told {
		if !says.MatchString(text) {
			t.Error(text)
		}
	}
	if send(time.Hour); len(told) > 0 {
		t.Errorf("told %q", told)
	}
}

// slowly takes a millisecond for each read.
type slowly struct{ io.Reader }

func (s *slowly) Read(b []byte) (int, error) {
	time.Sleep(time.Millisecond)
	return s.Reader.Read(b)
}
