package peer

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// What a thousand hostile connections at once may cost a far end: a goroutine
// and a buffer for each that is let in, of which there are no more than mux's
// gate and the places allow.
const (
	hostileHeap       = 8 << 20 // bytes
	hostileGoroutines = 1500    // of them a thousand are the clients', in the same process
)

// A thousand clients from a hundred addresses that do everything wrong: the far
// end stays small while they are there, serves others, and forgets them.
func TestHostileThousand(t *testing.T) {
	far := startHasty(t, Config{}, "127.0.0.1:0", hasty)
	before := measureProcess()
	cookie := func() string {
		letters := make([]byte, 37)
		for i := range 36 {
			letters[i] = 'a' + byte(rand.IntN(26))
		}
		return string(letters)
	}
	shared := cookie()
	early := shared + strings.Repeat("x", 1<<16)
	misdeeds := []func(net.Conn){
		func(net.Conn) {},                                                      // half open
		func(c net.Conn) { drip(c, cookie()) },                                 // one byte after the other
		func(c net.Conn) { say(c, cookie()) },                                  // no parameters
		func(c net.Conn) { say(c, cookie()+"\x7f\xff\xff\xff") },               // endless ones
		func(c net.Conn) { say(c, cookie()+"\x00\x00\x20\x00{") },              // some of them
		func(c net.Conn) { say(c, cookie()+"\x00\x00\x00\x02{}") },             // no streams
		func(c net.Conn) { say(c, cookie()+"\x00\x00\x00\x02{}\x04\x10\x0c") }, // wrong order
		func(c net.Conn) { say(c, shared) },                                    // all with one cookie
		func(c net.Conn) { say(c, early) },                                     // data before the test
		func(c net.Conn) { say(c, cookie()); _ = c.(*net.TCPConn).SetLinger(0); _ = c.Close() },
	}
	var clients sync.WaitGroup
	peak := watchProcess(t)
	for i := range 1000 {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%100))}, Timeout: generous}
		clients.Go(func() {
			conn, err := dialer.Dial("tcp", far.address)
			if err != nil {
				return // that is an answer too
			}
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(generous))
			misdeeds[i%len(misdeeds)](conn)
			var answer [64]byte // this end's own use is measured too
			for err == nil {
				_, err = conn.Read(answer[:])
			}
			if strings.Contains(err.Error(), "timeout") {
				t.Errorf("misdeed %d: the connection stays open", i%len(misdeeds))
			}
		})
	}
	clients.Wait()
	most := peak()
	t.Logf("before: %v; most: %v", before, most)
	if most.heap > before.heap+hostileHeap || most.goroutines > before.goroutines+hostileGoroutines {
		t.Errorf("before: %v; with a thousand hostile connections: %v", before, most)
	}
	eventually(t, "all is given back", func() bool {
		now := measureProcess()
		return now.goroutines <= before.goroutines+10 && now.heap <= before.heap+hostileHeap/4 && far.running() == 0
	})
	if _, err := far.dial(t, "").Transfer(within(t, generous), short("forward", 1), nil); err != nil {
		t.Errorf("a transfer afterwards: %v", err)
	}
}

func say(c net.Conn, text string) { _, _ = io.WriteString(c, text) }

func drip(c net.Conn, text string) {
	for i := range text {
		if _, err := io.WriteString(c, text[i:i+1]); err != nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// processSize is what runtime.MemStats and the scheduler tell.
type processSize struct {
	heap       uint64 // bytes in use after a collection
	goroutines int
}

func (p processSize) String() string {
	return fmt.Sprintf("%.1f MB of heap, %d goroutines", float64(p.heap)/1e6, p.goroutines)
}

func measureProcess() processSize {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return processSize{stats.HeapAlloc, runtime.NumGoroutine()}
}

// watchProcess measures until peak is called.
func watchProcess(t *testing.T) (peak func() processSize) {
	t.Helper()
	var most processSize
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			now := measureProcess()
			most = processSize{max(most.heap, now.heap), max(most.goroutines, now.goroutines)}
			select {
			case <-end:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() processSize {
		close(end)
		<-ended
		return most
	}
}
