// Package transcript keeps what a server under test writes, to be waited for.
// Only tests import it.
package transcript

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// Log takes lines from any goroutine. The zero value is ready to use.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is all that was written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// patience is far more than a server needs to write what it is about to.
const patience = 20 * time.Second

// Await waits until text was written: a server does when its client has long
// gone. Where it never is the test fails.
func (l *Log) Await(t testing.TB, text string) {
	t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(l.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the log never has %q:\n%s", text, l)
		}
	}
}
