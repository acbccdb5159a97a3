package main

import "testing"

// TestIntegrationTest: on real kernels the figures name what is known of the path.
func TestIntegrationTest(t *testing.T) {
	t.Parallel()
	t.Run("a receiver's window", func(t *testing.T) {
		t.Parallel()
		// Only the receiver's buffer is small: which of two limits of the same size holds at
		// an instant is chance.
		doc := testJSON(t, "--lab", hosts(t, longLink, "", "", `, sysctl: {net.ipv4.tcp_rmem: "4096 16384 20480"}`), "-t", "3")
		f := doc.FullBore.Figures[0]
		if f.Waited == nil || f.Waited.Window < 0.5 {
			t.Errorf("waited for %+v, want the receiver's window most of the time", f.Waited)
		}
		if f.SenderACKs == nil || len(f.SenderACKs.Series) < 3 || f.ReceiverACKs == nil {
			t.Errorf("segments and ACKs of three seconds: %+v, %+v", f.SenderACKs, f.ReceiverACKs)
		}
		if f.Connection.MSS != 1448 || f.Connection.PathMTU != 1500 {
			t.Errorf("%+v", f.Connection)
		}
	})
	t.Run("a queue that fills", func(t *testing.T) {
		t.Parallel()
		doc := testJSON(t, "--lab", hosts(t, longLink, "", "", ""), "-t", "2", "-O", "1", "-P", "4")
		f := doc.FullBore.Figures[0]
		if f.SmallFlow == nil || f.SmallFlow.Before == nil || f.SmallFlow.Loaded == nil || f.SmallFlow.Loaded.Max <= f.SmallFlow.Before.Median {
			t.Fatalf("%+v", f.SmallFlow)
		}
		if f.LoadedRTT == nil || f.LeastRTT == 0 || f.LoadedRTT.Max <= f.LeastRTT {
			t.Errorf("%+v, least %v", f.LoadedRTT, f.LeastRTT)
		}
		if d := f.Difference; d.Before == nil || d.After == nil || *d.After <= 0 || d.Bytes != *d.After-*d.Before {
			t.Errorf("%+v: what is in flight on a path of 40 ms is sent and not received", d)
		}
	})
}

// TestIntegrationCompare: a window that holds the whole path is known to move more than one that does not.
func TestIntegrationCompare(t *testing.T) {
	t.Parallel()
	doc := compareJSON(t, exitDone, "--lab", slowHosts, "--ab", "-t 1 -O 0.5", "-t 1 -O 0.5 -w 4M", "--rounds", "4")
	if doc.Goodput.Decision != "more" || len(doc.Order) != 8 {
		t.Errorf("%+v", doc)
	}
}
