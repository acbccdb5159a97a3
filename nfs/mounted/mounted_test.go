package mounted

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// kernel is a /proc with what a kernel says of one mount: of version 4.2, over two
// connections, with so many reads whose times are given in ms.
func kernel(t *testing.T, age, reads, queue, rtt, execute int) string {
	t.Helper()
	return proc(t, fmt.Sprintf(`device proc mounted on /proc with fstype proc
device b:/export mounted on /mnt/a\040b with fstype nfs4 statvers=1.1
	opts:	rw,vers=4.2,rsize=1048576,wsize=262144,namlen=255,hard,proto=tcp,nconnect=2,timeo=600,sec=sys,clientaddr=198.18.0.1,local_lock=none
	age:	%d
	impl_id:	name='',domain='',date='0,0'
	caps:	caps=0x3ffbffdf,wtmult=512,dtsize=1048576,bsize=0,namlen=255
	nfsv4:	bm0=0xfdffbfff,bm1=0xf9be3e,bm2=0x68800,acl=0x3,sessions,pnfs=not configured,lease_time=90,lease_expired=0
	sec:	flavor=1,pseudoflavor=1
	events:	1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27
	bytes:	1 2 3 4 5 6 7 8
	RPC iostats version: 1.1  p/v: 100003/4 (nfs)
	xprt:	tcp 843 1 1 0 10 %[2]d %[2]d 0 %[6]d %[7]d 64 %[8]d 0
	xprt:	tcp 957 1 1 0 10 %[2]d %[2]d 1 %[6]d %[7]d 64 %[8]d 0
	per-op statistics
	        NULL: 1 1 0 44 24 0 0 0 0
	        READ: %[9]d %[10]d 0 %[11]d %[12]d %[3]d %[4]d %[5]d 0
	       WRITE: 0 0 0 0 0 0 0 0 0
	     GETATTR: 2 2 0 400 500 0 1 1 0

`, age, reads/2, queue, rtt, execute, 31*reads/2, 3*reads/2, reads/2, reads, reads+reads/100, 200*reads, 4196*reads))
}

func proc(t *testing.T, stats string) string {
	t.Helper()
	dir := t.TempDir()
	pid := filepath.Join(dir, "77")
	if err := errors.Join(os.Mkdir(pid, 0o755), os.WriteFile(filepath.Join(pid, "mountstats"), []byte(stats), 0o600), os.Symlink("77", filepath.Join(dir, "self"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, proc string) Mount {
	t.Helper()
	mounts, err := Read(proc)
	if err != nil || len(mounts) != 1 {
		t.Fatalf("%+v, %v", mounts, err)
	}
	return mounts[0]
}

// What a kernel counts is read as it is, and what is no NFS is left out.
func TestRead(t *testing.T) {
	m := read(t, kernel(t, 100, 1000, 40, 2000, 2100))
	if m.Device != "b:/export" || m.Version != "4.2" || m.ReadSize != 1<<20 || m.Age != 100*time.Second || m.Connections != 2 {
		t.Errorf("%+v", m)
	}
	if got := m.Operations["READ"]; got != (Operation{Requests: 1000, Received: 4_196_000, Execute: 2100 * time.Millisecond}) {
		t.Errorf("%+v", got)
	}
	if mounts, err := Read(proc(t, "device proc mounted on /proc with fstype proc\n")); err != nil || len(mounts) != 0 {
		t.Errorf("%+v, %v", mounts, err)
	}
	if _, err := Read(proc(t, "device b:/export mounted on /mnt with fstype nfs4 statvers=1.1\n\topts:\trw\n\tage:\tlong\n")); err == nil {
		t.Error("an age that is no number was read")
	}
}

// A path belongs to the deepest mount above it.
func TestAt(t *testing.T) {
	mounts := []Mount{{Point: "/mnt", Device: "b:/one"}, {Point: "/mnt/deep", Device: "b:/two"}, {Point: "/mnt", Device: "b:/three"}}
	for path, want := range map[string]string{"/mnt": "b:/three", "/mnt/x": "b:/three", "/mnt/deep": "b:/two", "/mnt/deep/x/y": "b:/two", "/mnt/deeper": "b:/three", "/mn": "", "/": ""} {
		got, err := At(mounts, path)
		if got.Device != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, ErrNone) {
			t.Errorf("%s: %q, %v, want %q", path, got.Device, err, want)
		}
	}
}

// Between two looks the sums become what each request found, and Little's law says how
// many there were at once.
func TestBetween(t *testing.T) {
	before := read(t, kernel(t, 100, 1000, 40, 2000, 2100))
	after := read(t, kernel(t, 110, 11_000, 5040, 42_000, 52_100))
	a, err := Between(before, after, "READ", 10*time.Second)
	if err != nil || a.Requests != 10_000 || math.Abs(a.Rate-1000) > 1e-9 || math.Abs(a.Received-4196) > 1e-9 || a.Execute != 5*time.Millisecond || math.Abs(a.Open-5) > 1e-9 {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err := Between(before, after, "WRITE", 10*time.Second); err != nil || a != (Activity{}) {
		t.Errorf("of what nobody asked for: %+v, %v", a, err)
	}
	for name, later := range map[string]Mount{"younger": read(t, kernel(t, 5, 11_000, 5040, 42_000, 52_100)), "fewer": read(t, kernel(t, 110, 10, 0, 0, 0)), "another": {Device: "c:/export", Age: time.Hour}} {
		if p, err := Between(before, later, "READ", time.Second); !errors.Is(err, ErrMountedAnew) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// FuzzRead: whatever a kernel may write one day, it is read or refused, and two looks at
// it make no rate of it that is not a number.
func FuzzRead(f *testing.F) {
	f.Add("device b:/e mounted on /m with fstype nfs statvers=1.1\n\topts:\trw,vers=3,rsize=1\n\tage:\t1\n\txprt:\ttcp 1 1 1 1 1 1 1 1 1 1 1 1 1\n\tper-op statistics\n\tREAD: 1 1 1 1 1 1 1 1 1\n\n", 5)
	f.Fuzz(func(t *testing.T, text string, seconds int) {
		mounts, err := Read(proc(t, text))
		if err != nil {
			return
		}
		for _, m := range mounts {
			for name := range m.Operations {
				a, err := Between(Mount{Device: m.Device}, m, name, time.Duration(seconds)*time.Second)
				if err != nil {
					continue
				}
				for _, v := range []float64{a.Rate, a.Received, a.Open} {
					if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
						t.Errorf("%+v", a)
					}
				}
			}
		}
	})
}

// TestPatiently: a call that the kernel does not come back from is given up by who gives up, and what
// it makes later is closed.
func TestPatiently(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	later, closed := make(chan struct{}), filepath.Join(t.TempDir(), "file")
	file, err := os.Create(closed)
	if err != nil {
		t.Fatal(err)
	}
	go cancel(enough)
	if got, err := patiently(ctx, func() (*os.File, error) { <-later; return file, nil }); got != nil || !errors.Is(err, enough) {
		t.Errorf("%v, %v", got, err)
	}
	close(later)
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, err := file.Stat(); err != nil {
			return
		}
	}
	t.Error("the file that came later is still open")
}
