package record

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/internal/sandbox"
)

// On a full disk a run is not kept, which its end says; what was kept before can be read, and
// once room was made, runs are kept again.
func TestFullDisk(t *testing.T) {
	if !sandbox.Run(t) {
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=600k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	place := filepath.Join(dir, "record.db")
	keep := func() error {
		r := Start(place, Header{Kind: Test, From: "a", To: "b"})
		for range 5 {
			r.Transfer(time.Now(), aTransfer(""))
		}
		return r.End(Outcome{State: Done})
	}
	finished := 0
	var err error
	for ; err == nil && finished < 1000; finished++ {
		err = keep()
	}
	finished--
	if !errors.Is(err, ErrFull) || finished == 0 {
		t.Fatalf("after %d runs: %v", finished, err)
	}
	t.Logf("after %d runs: %v", finished, err)
	s := opened(t, place)
	all, err := s.List(t.Context(), Filter{})
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	for _, h := range all {
		if h.State == Done {
			done++
		}
	}
	if done != finished {
		t.Errorf("%d runs are kept, want %d", done, finished)
	}
	_ = s.Close()
	if err := unix.Mount("none", dir, "tmpfs", unix.MS_REMOUNT, "size=2m"); err != nil {
		t.Fatal(err)
	}
	if err := keep(); err != nil {
		t.Errorf("with room again: %v", err)
	}
}
