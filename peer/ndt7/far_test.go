package ndt7

import (
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// What the last of a server's measurements says of an upload of 1 MB in 3 s.
func TestFar(t *testing.T) {
	const sent = 1_000_000
	for name, c := range map[string]struct {
		texts []string
		bytes int64
		took  time.Duration
	}{
		"while data came":         {[]string{`{"AppInfo":{"NumBytes":800000,"ElapsedTime":2500000}}`}, 800_000, 2500 * time.Millisecond},
		"after all had come":      {[]string{`{"AppInfo":{"NumBytes":1000000,"ElapsedTime":3500000}}`}, sent, 3010 * time.Millisecond},
		"some still queued":       {[]string{`{"AppInfo":{"NumBytes":900000,"ElapsedTime":3500000}}`}, 900_000, 3500 * time.Millisecond},
		"only M-Lab's server's":   {[]string{`{"TCPInfo":{"BytesReceived":1002000,"ElapsedTime":3500000}}`}, sent, 3010 * time.Millisecond},
		"older ones do not count": {[]string{`{"AppInfo":{"NumBytes":500000,"ElapsedTime":2000000}}`, `{"AppInfo":{"NumBytes":1,"ElapsedTime":1}}`}, 500_000, 2 * time.Second},
		"nor do empty ones":       {[]string{`{"AppInfo":{"NumBytes":500000,"ElapsedTime":2000000}}`, `{}`}, 500_000, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			told := far{until: 3010 * time.Millisecond}
			for _, text := range c.texts {
				told.hear([]byte(text))
				told.read()
			}
			end := told.end("b", &bulk.Stream{ID: 1, Sender: true, Bytes: sent, Elapsed: 3 * time.Second})
			if end.Error != "" || len(end.Streams) != 1 {
				t.Fatalf("%+v", end)
			}
			if s := end.Streams[0]; s.Bytes != c.bytes || s.Elapsed != c.took || s.Sender {
				t.Errorf("%d bytes in %v, want %d in %v", s.Bytes, s.Elapsed, c.bytes, c.took)
			}
		})
	}
}
