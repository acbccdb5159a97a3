package bulk
import ("testing";"net";"sync";"runtime";"golang.org/x/sys/unix";"os";"strconv")
const total = 2<<30
func fdOf(c net.Conn, block bool, tmo int64) int {
	raw,_ := c.(*net.TCPConn).SyscallConn()
	var d int
	raw.Control(func(fd uintptr){ d,_ = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC,0)})
	c.Close()
	unix.SetNonblock(d,false)
	if tmo>0 { tv := unix.NsecToTimeval(tmo*1e6); unix.SetsockoptTimeval(d,unix.SOL_SOCKET,unix.SO_RCVTIMEO,&tv); unix.SetsockoptTimeval(d,unix.SOL_SOCKET,unix.SO_SNDTIMEO,&tv)}
	return d
}
func bench(b *testing.B, lock bool, tmo int64) {
	n := 128<<10
	if v := os.Getenv("LEN"); v!="" { n,_ = strconv.Atoi(v) }
	b.SetBytes(total)
	for b.Loop() {
		l,_ := net.Listen("tcp","127.0.0.1:0")
		c,_ := net.Dial("tcp",l.Addr().String())
		s,_ := l.Accept(); l.Close()
		cf, sf := fdOf(c,true,tmo), fdOf(s,true,tmo)
		var wg sync.WaitGroup
		reads := 0
		wg.Go(func(){ if lock {runtime.LockOSThread(); defer runtime.UnlockOSThread()}; buf := make([]byte,n); for { k,err := unix.Read(sf,buf); if k==0||err!=nil {break}; reads++ }; unix.Close(sf)})
		wg.Go(func(){ if lock {runtime.LockOSThread(); defer runtime.UnlockOSThread()}; buf := newPayload(n); for i:=0;i<total; { k,err := unix.Write(cf,buf); if err!=nil{b.Fatal(err)}; i+=k }; unix.Close(cf)})
		wg.Wait()
		b.ReportMetric(float64(reads),"reads")
	}
}
func BenchmarkLock(b *testing.B){bench(b,true,0)}
func BenchmarkNoLock(b *testing.B){bench(b,false,0)}
func BenchmarkLockTmo(b *testing.B){bench(b,true,50)}
