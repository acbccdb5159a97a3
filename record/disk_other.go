//go:build !linux && !darwin && !freebsd

package record

// remote says whether a file lies on another machine's disk, where processes
// cannot share memory through it. It is not known here, so that none is taken
// for local.
func remote(string) bool { return true }

// room is how many bytes a user may still write beside a file; -1: not known.
func room(string) int64 { return -1 }
