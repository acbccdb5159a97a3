package cable

import (
	"errors"
	"os"
	"runtime"
	"testing"
)

// ForTest makes a cable that lasts for a test, or skips the test where network
// namespaces are not permitted. From then on the test runs on the near host.
func ForTest(t testing.TB, spec Spec) *Cable {
	t.Helper()
	c, err := New(spec)
	if errors.Is(err, os.ErrPermission) {
		t.Skipf("needs network namespaces: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	// The thread is not given back: it ends with the test.
	runtime.LockOSThread()
	if err := c.Near.enter(); err != nil {
		t.Fatal(err)
	}
	return c
}
