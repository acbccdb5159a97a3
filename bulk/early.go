package bulk

// leaveOutEarly finds the bytes of a receiver's measured time that had arrived
// before it, and counts them as omitted. Without omitted time, Bytes are all that
// came, and only the goodput is without them.
//
// A path that carries C bytes a second brings at most C*T in a time T. The
// application may read more in that time: what came behind a lost packet waits in
// the kernel until that packet is repeated, megabytes on a long path, and what
// the application was slow to read waits as well. If the measured time begins
// meanwhile, these bytes are read in it, but the path brought them before.
//
// The kernel does not count bytes as they arrive. Two figures are never above
// what arrived:
//
//   - the segments of data that came, each of which holds an MSS at most. It is
//     too low where a device hands over several segments as one that the kernel
//     counts once (virtio_net and TUN do).
//   - what came in order (tcpi_bytes_received counts that, read or not), less all
//     that had waited behind a hole when the time began. How many bytes that were
//     is not known, but the memory that they took, which is never less. It is too
//     low by what the memory is larger, and by what waits behind a hole at the end.
//
// The larger of the two is the nearer one, and no more than that is counted. At a
// receiver that is told neither, nothing is left out, and Early stays nil.
func (s *stream) leaveOutEarly() {
	if s.opening == nil {
		return
	}
	arrived, known := arrivedBetween(s.opening, &s.latest)
	if !known {
		return
	}
	early := max(0, s.record.Bytes-arrived)
	s.record.Early = &early
	if s.meter.window.omit > 0 {
		s.record.Bytes -= early
		s.record.Omitted += early
	}
}

// arrivedBetween is how many bytes of data arrived between two looks at a
// receiver, in order or not, and never more than that.
func arrivedBetween(opening, ending *Sample) (bytes int64, known bool) {
	was, is := &opening.TCP, &ending.TCP
	if was.has(tcpDataSegs) && is.has(tcpDataSegs) {
		segments := int64(is.DataSegsIn - was.DataSegsIn)
		bytes, known = segments*int64(max(was.RcvMSS, is.RcvMSS)), true
	}
	if was.has(tcpBytesReceived) && is.has(tcpBytesReceived) && opening.Mem.RecvBuf > 0 {
		inOrder := int64(is.BytesReceived - was.BytesReceived)
		bytes, known = max(bytes, inOrder-opening.behindHole()), true
	}
	return bytes, known
}

// behindHole is the most that may have come and wait for something lost before
// it: the memory of all that was received, less what can be read.
func (s *Sample) behindHole() int64 {
	return max(0, int64(s.Mem.RecvAlloc)+int64(s.Mem.Backlog)-int64(s.Unread))
}
