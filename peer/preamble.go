package peer

import (
	"fmt"
	"strconv"
)

// A stream of a transfer starts with a preamble of fixed length, and nothing
// follows it until the transfer starts:
//
//	fullbore/1 <cookie, 26 characters> <stream, 3 digits>\n
const (
	preambleMagic = "fullbore/"
	preambleSize  = len("fullbore/1 ") + cookieSize + len(" 001\n")
	cookieSize    = 26 // base32 of 128 random bits
)

type preamble struct {
	cookie string
	stream int // 1..999
}

func (p preamble) bytes() []byte {
	return fmt.Appendf(nil, "%s%d %s %03d\n", preambleMagic, Protocol, p.cookie, p.stream)
}

// parsePreamble reads exactly one preamble.
func parsePreamble(b []byte) (preamble, error) {
	start := fmt.Sprintf("%s%d ", preambleMagic, Protocol)
	if len(b) < len(start) || string(b[:len(start)]) != start {
		return preamble{}, fmt.Errorf("stream preamble is not of protocol %d", Protocol)
	}
	rest := b[len(start):]
	if len(b) != preambleSize || rest[cookieSize] != ' ' || rest[len(rest)-1] != '\n' {
		return preamble{}, fmt.Errorf("stream preamble is malformed")
	}
	cookie, number := rest[:cookieSize], rest[cookieSize+1:len(rest)-1]
	if !isBase32(cookie) {
		return preamble{}, fmt.Errorf("stream preamble has a malformed cookie")
	}
	for _, c := range number {
		if c < '0' || c > '9' {
			return preamble{}, fmt.Errorf("stream preamble has a malformed number")
		}
	}
	stream, err := strconv.Atoi(string(number))
	if err != nil || stream < 1 {
		return preamble{}, fmt.Errorf("stream preamble has a malformed number")
	}
	return preamble{cookie: string(cookie), stream: stream}, nil
}

// isBase32 says whether all of b is from the alphabet that tokens, cookies and
// iperf3's cookies share.
func isBase32(b []byte) bool {
	for _, c := range b {
		if (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}
