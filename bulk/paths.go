package bulk

// outlet hands a sender's bytes to the kernel.
type outlet interface {
	// write hands over up to n bytes of the payload, n being its length at most,
	// and says how many the kernel took within a tick; none: errTick.
	write(n int) (int, error)
	// settle records what became of what was written, when no more will be.
	settle(record *Stream)
}

// inlet takes a receiver's bytes from the kernel.
type inlet interface {
	// read takes what there is, waiting for it up to a tick: errTick. It
	// returns io.EOF when the peer has ended its data.
	read() (int, error)
	close()
}

// copyOut writes: the kernel copies every byte.
type copyOut struct {
	sock    *socket
	payload []byte
}

func (c copyOut) write(n int) (int, error) { return c.sock.write(c.payload[:n]) }

func (copyOut) settle(*Stream) {}

// copyIn reads: the kernel copies every byte.
type copyIn struct {
	sock   *socket
	length int
	buf    []byte // once it is used: so its memory is near the thread that uses it
}

func (c *copyIn) read() (int, error) {
	if c.buf == nil {
		c.buf = newBuffer(c.length)
	}
	return c.sock.read(c.buf)
}

func (*copyIn) close() {}

// newOutlet is the outlet that was asked for, or one that copies; record says
// which, and why.
func newOutlet(path SendPath, sock *socket, p *payload, record *Stream) outlet {
	record.SendPath = SendCopy
	if path != "" && path != SendCopy {
		out, err := newSendPath(path, sock, p)
		if err == nil {
			record.SendPath = path
			return out
		}
		record.PathNote = "the bytes were copied: " + err.Error()
	}
	return copyOut{sock, p.bytes}
}

// newInlet is the same for a receiver that reads up to length bytes at a time,
// or with sink as many as it likes where it has no use for them.
func newInlet(path RecvPath, sock *socket, length int, sink bool, record *Stream) inlet {
	record.RecvPath = RecvCopy
	if path != "" && path != RecvCopy {
		in, err := newRecvPath(path, sock, length, sink)
		if err == nil {
			record.RecvPath = path
			return in
		}
		record.PathNote = "the bytes were copied: " + err.Error()
	}
	return &copyIn{sock: sock, length: length}
}
