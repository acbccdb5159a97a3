package synthetic

import (
	"testing"

	"github.com/fullbore/fullbore/nfs/rpc"
)

// FuzzCompound: whatever operations a client sends in version 4.1, and procedures in
// version 3, the server answers, and with no more than what a record can have.
func FuzzCompound(f *testing.F) {
	sequence := []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 53}
	f.Add(uint32(4), uint32(1), sequence)
	f.Add(uint32(4), uint32(1), []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 42, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 1, 'x', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add(uint32(3), uint32(6), append([]byte{0, 0, 0, 16}, make([]byte, 28)...))
	f.Add(uint32(3), uint32(16), append([]byte{0, 0, 0, 16}, make([]byte, 40)...))
	s, err := New(Config{Files: []File{{"big", 1 << 40}, {"small", 10}}, Writes: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, version, procedure uint32, args []byte) {
		var w rpc.Writer
		data := s.answer(&rpc.Received{Program: programNFS, Version: version, Procedure: procedure}, rpc.NewReader(args), &w)
		if data == nil {
			t.Error("no answer")
		}
		if w.Len() > maxRecord {
			t.Errorf("%d bytes are the answer to %d", w.Len(), len(args))
		}
	})
}
