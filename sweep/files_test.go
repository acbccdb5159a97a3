package sweep

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/nfs"
)

// queue is a file of a server that answers each request in a millisecond, sixteen at once.
type queue struct{ *Files }

func (q queue) Request(_ context.Context, p Point, _ Measure) (*nfs.Document, error) {
	depth, _ := p.Of("depth")
	size, _ := p.Of("size")
	iops := 1000 * min(depth.Number, 16)
	return &nfs.Document{Depth: int(depth.Number), Size: int(size.Number), IOPS: iops, Goodput: 8 * size.Number * iops, Requests: int64(iops), Shares: make([]nfs.ShareSummary, 1)}, nil
}

// A sweep over a file finds how many requests in flight are enough, and says requests a
// second beside their payload.
func TestFilesAreSwept(t *testing.T) {
	spec, err := Parse("x.yaml", []byte("name: x\nfactors: {depth: [1, 8, 16, 64], size: [4KiB]}\nmeasure: {duration: 1s}\nseed: 7\n"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Run(t.Context(), spec, queue{NewFiles(nfs.Target{}, "nfs://b/e/f", nil)}, &Memory{}, unwatched{})
	if err != nil || d.Enough == nil || d.Enough.Factor != "depth" || d.Enough.Value.Number != 16 {
		t.Fatalf("%+v, %v", d, err)
	}
	for _, p := range d.Points {
		depth := p.Factors["depth"].Number
		if want := 1000 * min(depth, 16); p.Runs != 3 || p.IOPS < want*0.999 || p.IOPS > want*1.001 || float64(p.Goodput) < want*32768*0.999 || p.Taken["depth"].Number != depth {
			t.Errorf("%v: %+v", depth, p)
		}
	}
}

// What a world cannot vary is refused before anything is measured, with what it can.
func TestFactorsOfFiles(t *testing.T) {
	for text, want := range map[string]string{
		"{depth: [1, 2], mss: [536]}": "mss is not of requests to a file: vary window, connections, depth, size",
		"{depth: [1, 2]}":             "",
	} {
		spec, err := Parse("x.yaml", []byte("name: x\nfactors: "+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = Planned(spec, NewFiles(nfs.Target{}, "nfs://b/e/f", nil))
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if _, _, err = Planned(spec, &Hosts{}); err == nil || !strings.Contains(err.Error(), "depth is of requests to a file of NFS: name one") {
			t.Errorf("%s, between two hosts: %v", text, err)
		}
	}
	w := NewFiles(nfs.Target{}, "nfs://b/e/f", nil)
	spec, err := Parse("x.yaml", []byte("name: x\nfactors: {window: [64KiB, 1MiB]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, points, err := Planned(spec, w)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Set(t.Context(), points[0]); err == nil || !strings.Contains(err.Error(), "no far end is known where nfs://b/e/f is") {
		t.Errorf("a window without a far end: %v", err)
	}
	if _, err := w.Request(t.Context(), points[0], Measure{Duration: time.Second}); err == nil {
		t.Error("a file of no server was read")
	}
}
