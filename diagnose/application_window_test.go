package diagnose

import "testing"

// Each application has a name, windows in order, and advice.
func TestApplications(t *testing.T) {
	for _, a := range applications {
		if a.name == "" || a.why == "" || a.action == "" || len(a.windows) == 0 || len(a.ports)+len(a.programs) == 0 {
			t.Errorf("not complete: %+v", a)
		}
		for i := 1; i < len(a.windows); i++ {
			if a.windows[i] <= a.windows[i-1] {
				t.Errorf("%s: windows out of order", a.name)
			}
		}
	}
}
