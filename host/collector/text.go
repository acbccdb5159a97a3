package collector

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
)

// maxText bounds what is read, in bytes. A host with a hundred interfaces prints
// some 300 KB.
const maxText = 4 << 20

// maxLine bounds one line, in bytes. The longest that a host prints is its
// kernel's command line, of 4096.
const maxLine = 16 << 10

// line is a line of what a host printed, with its number for messages.
type line struct {
	number int
	text   string // without its end
}

// readText reads everything, as text with plain newlines: PowerShell writes
// UTF-16 when it redirects, and Windows ends lines with a carriage return.
func readText(r io.Reader) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil {
		return "", err
	}
	if len(raw) > maxText {
		return "", fmt.Errorf("there are more than %d MB: these are not a host's facts", maxText>>20)
	}
	text := decode(raw)
	if strings.ContainsRune(text, '\r') {
		// wmic ends its lines with two carriage returns.
		text = strings.ReplaceAll(text, "\r", "")
	}
	return text, nil
}

// decode makes UTF-8 of the encodings that hosts print in. Bytes that are of a
// code page, as in the names of interfaces on an old Windows, become question
// marks.
func decode(raw []byte) string {
	switch {
	case bytes.HasPrefix(raw, []byte{0xff, 0xfe}):
		return decode16(raw[2:], binary.LittleEndian)
	case bytes.HasPrefix(raw, []byte{0xfe, 0xff}):
		return decode16(raw[2:], binary.BigEndian)
	}
	raw = bytes.TrimPrefix(raw, []byte{0xef, 0xbb, 0xbf})
	return strings.ToValidUTF8(string(raw), "?")
}

func decode16(raw []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = order.Uint16(raw[2*i:])
	}
	return string(utf16.Decode(units))
}

// lines takes a text apart.
func lines(text string) []line {
	var all []line
	for one := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		all = append(all, line{len(all) + 1, one})
	}
	return all
}
