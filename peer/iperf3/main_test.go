package iperf3

import (
	"flag"
	"os"
	"testing"
)

// Most tests wait for the other end most of the time: more of them go at once
// than there are processors, unless -parallel is given.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "6")
	os.Exit(m.Run())
}
