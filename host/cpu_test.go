package host

import (
	"testing"
	"time"
)

func TestReadCPU(t *testing.T) {
	before, err := ReadCPU()
	if err != nil {
		t.Fatal(err)
	}
	burn := time.Now()
	var now CPUTimes
	for now.User <= before.User {
		if now, err = ReadCPU(); err != nil {
			t.Fatal(err)
		}
		if time.Since(burn) > 10*time.Second {
			t.Fatal("ten seconds of work took no processor time")
		}
	}
	if !now.At.After(before.At) || now.System < before.System {
		t.Errorf("%+v after %+v", now, before)
	}
}
