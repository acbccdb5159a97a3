//go:build !linux

package bulk

// ownProcessors is for systems where a socket blocks its thread: here it is in
// Go's poller.
func ownProcessors(int) (own bool, restore func()) { return false, func() {} }
