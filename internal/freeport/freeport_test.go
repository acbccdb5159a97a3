package freeport

import (
	"net"
	"strconv"
	"testing"
)

// A port is free, and given once.
func TestFind(t *testing.T) {
	seen := map[string]bool{}
	for range 20 {
		number := Find(t)
		if seen[number] {
			t.Errorf("%s was given twice", number)
		}
		seen[number] = true
		l, err := net.Listen("tcp", ":"+number)
		if err != nil {
			t.Error(err)
			continue
		}
		defer l.Close()
	}
}

// One that is taken, over TCP or UDP, is passed over.
func TestTaken(t *testing.T) {
	mu.Lock()
	number := next
	mu.Unlock()
	l, err := net.ListenPacket("udp", net.JoinHostPort("", strconv.Itoa(number)))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := Find(t); got == strconv.Itoa(number) {
		t.Errorf("%s is taken", got)
	}
}
