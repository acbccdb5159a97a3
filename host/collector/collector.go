// Package collector knows hosts that are not at hand: it prints a command that
// collects a host's facts with nothing but what its operating system comes
// with, reads what that command prints, and assumes what a system comes with
// where nobody asked it.
package collector
