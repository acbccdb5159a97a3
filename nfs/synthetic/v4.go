package synthetic

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"
	"github.com/buildbarn/go-xdr/pkg/protocols/rpcv2"

	"github.com/fullbore/fullbore/nfs/rpc"
)

// v4 answers versions 4.1 and 4.2.
type v4 struct {
	*tree
	*sessions
	verifier [8]byte
}

const (
	// The minor versions that are answered alike: RFC 7862 adds operations, none that a server
	// must have.
	leastMinor, mostMinor = 1, 2

	maxTag        = 1 << 10 // bytes
	maxOperations = 64      // of a compound
	procNull      = 0
	procCompound  = 1
	stateSize     = 16
	sessionSize   = nfsv4.NFS4_SESSIONID_SIZE
)

// compound is one that is being answered.
type compound struct {
	*v4
	r     *rpc.Reader
	w     *rpc.Writer
	now   node // current file
	set   bool // there is one
	saved node
	kept  bool // there is a saved one
	in    *session
	slot  *slot
	keep  bool   // the answer, for a repetition
	again []byte // the answer that was kept: the request is a repetition
	count int
	began int // where the answer begins
}

func (s *v4) serve(call *rpc.Received, r *rpc.Reader, w *rpc.Writer) rpcv2.AcceptedReplyData {
	switch call.Procedure {
	case procNull:
		return rpc.Success
	case procCompound:
		return (&compound{v4: s, r: r, w: w}).run()
	}
	return rpc.Refused(rpcv2.PROC_UNAVAIL)
}

// run answers the operations one by one, until one fails.
func (c *compound) run() rpcv2.AcceptedReplyData {
	tag := bytes.Clone(c.r.Opaque(maxTag))
	minor, count := c.r.Uint32(), c.r.Uint32()
	if c.r.Err() != nil {
		return rpc.Success // which becomes a refusal
	}
	c.began = c.w.Len()
	c.w.Uint32(0) // the last operation's status
	c.w.Opaque(tag)
	numbered := c.w.Len()
	c.w.Uint32(0)
	status := nfsv4.NFS4_OK
	switch {
	case minor < leastMinor || minor > mostMinor:
		status = nfsv4.NFS4ERR_MINOR_VERS_MISMATCH
	case count > maxOperations:
		status = nfsv4.NFS4ERR_TOO_MANY_OPS
	default:
		for i := 0; i < int(count) && status == nfsv4.NFS4_OK && c.r.Err() == nil; i++ {
			status = c.operation(i)
		}
	}
	if c.again != nil {
		c.w.Truncate(c.began)
		c.w.Fixed(c.again)
		return rpc.Success
	}
	c.w.Set(c.began, uint32(status))
	c.w.Set(numbered, uint32(c.count))
	if c.slot != nil {
		if c.slot.kept = nil; c.keep && c.w.Len()-c.began <= maxKept {
			c.slot.kept = bytes.Clone(c.w.From(c.began))
		}
		c.slot.mu.Unlock()
	}
	return rpc.Success
}

// operation answers the next one.
func (c *compound) operation(i int) nfsv4.Nfsstat4 {
	op := nfsv4.NfsOpnum4(c.r.Uint32())
	if c.r.Err() != nil {
		return nfsv4.NFS4ERR_BADXDR
	}
	c.count++
	c.w.Uint32(uint32(op))
	at := c.w.Len()
	c.w.Uint32(0)
	status := c.do(op, i)
	if status == nfsv4.NFS4_OK && c.w.Len()-c.began > maxRecord-maxTag {
		status = nfsv4.NFS4ERR_REP_TOO_BIG
	}
	if status != nfsv4.NFS4_OK {
		c.w.Truncate(at + 4)
	}
	c.w.Set(at, uint32(status))
	switch {
	case status == nfsv4.NFS4_OK:
	case op == nfsv4.OP_SETATTR: // the one whose failure says more
		c.w.Uint32(0)
	}
	return status
}

// alone are the operations that come without a session, and alone.
var alone = map[nfsv4.NfsOpnum4]bool{
	nfsv4.OP_EXCHANGE_ID: true, nfsv4.OP_CREATE_SESSION: true, nfsv4.OP_DESTROY_SESSION: true, nfsv4.OP_DESTROY_CLIENTID: true, nfsv4.OP_BIND_CONN_TO_SESSION: true,
}

func (c *compound) do(op nfsv4.NfsOpnum4, i int) nfsv4.Nfsstat4 {
	switch {
	case op == nfsv4.OP_SEQUENCE && i > 0:
		return nfsv4.NFS4ERR_SEQUENCE_POS
	case op == nfsv4.OP_SEQUENCE:
		return c.sequence()
	case c.in == nil && !alone[op]:
		return nfsv4.NFS4ERR_OP_NOT_IN_SESSION
	}
	switch op { // those that there are many of are read by hand
	case nfsv4.OP_PUTFH:
		return c.put(c.r.Opaque(nfsv4.NFS4_FHSIZE))
	case nfsv4.OP_READ:
		return c.read()
	case nfsv4.OP_WRITE:
		return c.write()
	}
	arg, _, err := nfsv4.ReadNfsArgop4(io.MultiReader(bytes.NewReader(binary.BigEndian.AppendUint32(nil, uint32(op))), c.r))
	if err != nil {
		return nfsv4.NFS4ERR_BADXDR
	}
	return c.rare(arg)
}

// sequence takes a slot of a session for the rest of the compound.
func (c *compound) sequence() nfsv4.Nfsstat4 {
	b := c.r.Fixed(sessionSize + 4*4)
	if b == nil {
		return nfsv4.NFS4ERR_BADXDR
	}
	var id [sessionSize]byte
	copy(id[:], b)
	words := b[sessionSize:]
	number, at, keep := binary.BigEndian.Uint32(words), binary.BigEndian.Uint32(words[4:]), binary.BigEndian.Uint32(words[12:]) != 0
	s := c.sessions.find(id)
	switch {
	case s == nil:
		return nfsv4.NFS4ERR_BADSESSION
	case at >= uint32(len(s.slots)):
		return nfsv4.NFS4ERR_BADSLOT
	}
	slot := &s.slots[at]
	if !slot.mu.TryLock() {
		return nfsv4.NFS4ERR_DELAY // its last request is being answered
	}
	switch number {
	case slot.sequence + 1:
	case slot.sequence:
		c.again = slot.kept
		slot.mu.Unlock()
		return nfsv4.NFS4ERR_RETRY_UNCACHED_REP
	default:
		slot.mu.Unlock()
		return nfsv4.NFS4ERR_SEQ_MISORDERED
	}
	slot.sequence = number
	c.in, c.slot, c.keep = s, slot, keep
	s.client.hear()
	c.w.Fixed(id[:])
	highest := uint32(len(s.slots) - 1)
	for _, v := range [...]uint32{number, at, highest, highest, 0} {
		c.w.Uint32(v)
	}
	return nfsv4.NFS4_OK
}

func (c *compound) put(handle []byte) nfsv4.Nfsstat4 {
	id, ok := c.tree.find(handle)
	if ok {
		c.now, ok = c.node(id)
	}
	if !ok {
		return nfsv4.NFS4ERR_STALE
	}
	c.set = true
	return nfsv4.NFS4_OK
}

// file is the current file.
func (c *compound) file() (*inode, nfsv4.Nfsstat4) {
	switch {
	case !c.set:
		return nil, nfsv4.NFS4ERR_NOFILEHANDLE
	case c.now.file == nil:
		return nil, nfsv4.NFS4ERR_ISDIR
	}
	return c.now.file, nfsv4.NFS4_OK
}

// folder says whether the current file is one.
func (c *compound) folder() nfsv4.Nfsstat4 {
	switch {
	case !c.set:
		return nfsv4.NFS4ERR_NOFILEHANDLE
	case c.now.file != nil:
		return nfsv4.NFS4ERR_NOTDIR
	}
	return nfsv4.NFS4_OK
}

func (c *compound) read() nfsv4.Nfsstat4 {
	c.r.Fixed(stateSize) // any: nobody locks anything here
	offset, count := c.r.Uint64(), c.r.Uint32()
	f, status := c.file()
	if c.r.Err() != nil || status != nfsv4.NFS4_OK {
		return status
	}
	if c.delay() {
		return nfsv4.NFS4ERR_DELAY
	}
	data, eof := c.tree.read(f, offset, count)
	c.w.Bool(eof)
	c.w.Opaque(data)
	return nfsv4.NFS4_OK
}

func (c *compound) write() nfsv4.Nfsstat4 {
	c.r.Fixed(stateSize)
	offset, how := c.r.Uint64(), c.r.Uint32()
	n := c.r.Payload(maxData, nil)
	f, status := c.file()
	switch {
	case c.r.Err() != nil || status != nfsv4.NFS4_OK:
		return status
	case !c.writes:
		return nfsv4.NFS4ERR_ROFS
	case c.delay():
		return nfsv4.NFS4ERR_DELAY
	case !f.write(offset, n):
		return nfsv4.NFS4ERR_FBIG
	}
	c.w.Uint32(uint32(n))
	c.w.Uint32(how)
	c.w.Fixed(c.verifier[:])
	return nfsv4.NFS4_OK
}
