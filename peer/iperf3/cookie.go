package iperf3

import (
	"crypto/rand"
	"fmt"
)

// Cookie names a test: it goes in front of the control connection and of every
// stream. The last byte is a NUL: iperf3 compares it as a string.
type Cookie [cookieSize]byte

// NewCookie makes a cookie that cannot be guessed.
func NewCookie() Cookie {
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	var c Cookie
	_, _ = rand.Read(c[:]) // never fails
	for i := range c[:cookieSize-1] {
		c[i] = letters[c[i]%byte(len(letters))]
	}
	c[cookieSize-1] = 0
	return c
}

// ParseCookie takes 37 bytes as a cookie. iperf3's own have 36 of [a-z2-7] and a
// NUL; any letters, digits and hyphens pass, since other programs send a UUID.
func ParseCookie(b []byte) (Cookie, error) {
	if len(b) != cookieSize {
		return Cookie{}, fmt.Errorf("cookie of %d bytes: iperf3's has %d", len(b), cookieSize)
	}
	for i, ch := range b[:cookieSize-1] {
		if (ch < 'a' || ch > 'z') && (ch < 'A' || ch > 'Z') && (ch < '0' || ch > '9') && ch != '-' {
			return Cookie{}, fmt.Errorf("cookie has byte %#02x at %d: not iperf3", ch, i)
		}
	}
	if b[cookieSize-1] != 0 {
		return Cookie{}, fmt.Errorf("cookie does not end with NUL: not iperf3")
	}
	return Cookie(b), nil
}

// String is the cookie without its NUL.
func (c Cookie) String() string { return string(c[:cookieSize-1]) }
