package bulk

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Every field's offset is that of the struct which package unix generates from
// the kernel's header.
func TestTCPInfoOffsets(t *testing.T) {
	raw := make([]byte, unix.SizeofTCPInfo)
	for i := range raw {
		raw[i] = byte(i + 1)
	}
	var header unix.TCPInfo
	if err := binary.Read(bytes.NewReader(raw), binary.NativeEndian, &header); err != nil {
		// binary.Read knows no padding: the struct has some where the
		// bit-fields are, and then none.
		t.Fatal(err)
	}
	kernel := map[string]any{}
	h := reflect.ValueOf(header)
	for i := range h.NumField() {
		if name := h.Type().Field(i).Name; name != "_" {
			kernel[strings.ToLower(strings.ReplaceAll(name, "_", ""))] = h.Field(i).Interface()
		}
	}
	got := reflect.ValueOf(ParseTCPInfo(raw))
	for i := range got.NumField() {
		name := got.Type().Field(i).Name
		switch name {
		case "Length", "SndWScale", "RcvWScale", "AppLimited":
			continue // no fields of the header's struct
		}
		if want := kernel[strings.ToLower(name)]; got.Field(i).Interface() != want {
			t.Errorf("%s is %#x, want %#x", name, got.Field(i).Interface(), want)
		}
	}
}
