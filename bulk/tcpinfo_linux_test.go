package bulk

import (
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Every field's offset is that of the struct which package unix generates from
// the kernel's header.
func TestTCPInfoOffsets(t *testing.T) {
	raw := make([]byte, unix.SizeofTCPInfo)
	for i := range raw {
		raw[i] = byte(i + 1)
	}
	header := *(*unix.TCPInfo)(unsafe.Pointer(&raw[0]))
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
