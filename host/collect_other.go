//go:build !linux

package host

// system adds what only this operating system reports: nothing yet.
func (f *Facts) system([]int) error {
	f.WhyNot = "changing tunables is " + ErrUnsupported.Error()
	return nil
}
