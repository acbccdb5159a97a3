package synthetic

import (
	"io"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"
	"github.com/buildbarn/go-xdr/pkg/protocols/rpcv2"
)

// body appends what follows a good status: a result without that is not in go-xdr's types.
func (c *compound) body(result io.WriterTo) nfsv4.Nfsstat4 {
	_, _ = result.WriteTo(c.w) // a Writer takes all
	return nfsv4.NFS4_OK
}

// rare answers an operation that there are few of.
func (c *compound) rare(arg nfsv4.NfsArgop4) nfsv4.Nfsstat4 {
	switch a := arg.(type) {
	case *nfsv4.NfsArgop4_OP_EXCHANGE_ID:
		return c.exchangeID(&a.OpexchangeId)
	case *nfsv4.NfsArgop4_OP_CREATE_SESSION:
		return c.createSession(&a.OpcreateSession)
	case *nfsv4.NfsArgop4_OP_DESTROY_SESSION:
		return c.destroy(a.OpdestroySession.DsaSessionid)
	case *nfsv4.NfsArgop4_OP_DESTROY_CLIENTID:
		return c.destroyClient(a.OpdestroyClientid.DcaClientid)
	case *nfsv4.NfsArgop4_OP_BIND_CONN_TO_SESSION:
		if c.sessions.find(a.OpbindConnToSession.BctsaSessid) == nil {
			return nfsv4.NFS4ERR_BADSESSION
		}
		return c.body(&nfsv4.BindConnToSession4resok{BctsrSessid: a.OpbindConnToSession.BctsaSessid, BctsrDir: nfsv4.CDFS4_FORE})
	case *nfsv4.NfsArgop4_OP_RECLAIM_COMPLETE, *nfsv4.NfsArgop4_OP_FREE_STATEID:
		return nfsv4.NFS4_OK
	case *nfsv4.NfsArgop4_OP_TEST_STATEID:
		c.w.Uint32(uint32(len(a.OptestStateid.TsStateids)))
		for range a.OptestStateid.TsStateids {
			c.w.Uint32(uint32(nfsv4.NFS4_OK))
		}
		return nfsv4.NFS4_OK
	case *nfsv4.NfsArgop4_OP_PUTROOTFH, *nfsv4.NfsArgop4_OP_PUTPUBFH:
		c.now, c.set = node{c.tree, pseudoID, nil}, true
		return nfsv4.NFS4_OK
	case *nfsv4.NfsArgop4_OP_SECINFO_NO_NAME:
		return c.security()
	}
	if !c.set { // all others are about the current file
		return nfsv4.NFS4ERR_NOFILEHANDLE
	}
	return c.about(arg)
}

// about answers an operation on the current file.
func (c *compound) about(arg nfsv4.NfsArgop4) nfsv4.Nfsstat4 {
	switch a := arg.(type) {
	case *nfsv4.NfsArgop4_OP_GETFH:
		c.w.Opaque(c.handle(c.now.id))
	case *nfsv4.NfsArgop4_OP_SAVEFH:
		c.saved, c.kept = c.now, true
	case *nfsv4.NfsArgop4_OP_RESTOREFH:
		if !c.kept {
			return nfsv4.NFS4ERR_RESTOREFH
		}
		c.now = c.saved
	case *nfsv4.NfsArgop4_OP_LOOKUP:
		return c.lookup(a.Oplookup.Objname)
	case *nfsv4.NfsArgop4_OP_LOOKUPP:
		return c.lookupParent()
	case *nfsv4.NfsArgop4_OP_SECINFO:
		if status := c.lookup(a.Opsecinfo.Name); status != nfsv4.NFS4_OK {
			return status
		}
		return c.security()
	case *nfsv4.NfsArgop4_OP_ACCESS:
		allowed := uint32(nfsv4.ACCESS4_READ | nfsv4.ACCESS4_LOOKUP)
		if c.writes {
			allowed |= nfsv4.ACCESS4_MODIFY | nfsv4.ACCESS4_EXTEND | nfsv4.ACCESS4_DELETE
		}
		const all = nfsv4.ACCESS4_READ | nfsv4.ACCESS4_LOOKUP | nfsv4.ACCESS4_MODIFY | nfsv4.ACCESS4_EXTEND | nfsv4.ACCESS4_DELETE | nfsv4.ACCESS4_EXECUTE
		c.w.Uint32(a.Opaccess.Access & all)
		c.w.Uint32(a.Opaccess.Access & allowed)
	case *nfsv4.NfsArgop4_OP_GETATTR:
		f := c.now.attributes(a.Opgetattr.AttrRequest)
		return c.body(&f)
	case *nfsv4.NfsArgop4_OP_SETATTR:
		set, status := c.setAttributes(&a.Opsetattr.ObjAttributes)
		if status == nfsv4.NFS4_OK {
			c.bits(set)
		}
		return status
	case *nfsv4.NfsArgop4_OP_OPEN:
		return c.open(&a.Opopen)
	case *nfsv4.NfsArgop4_OP_CLOSE:
		return c.state(a.Opclose.OpenStateid)
	case *nfsv4.NfsArgop4_OP_OPEN_DOWNGRADE:
		return c.state(a.OpopenDowngrade.OpenStateid)
	case *nfsv4.NfsArgop4_OP_COMMIT:
		if _, status := c.file(); status != nfsv4.NFS4_OK {
			return status
		}
		c.w.Fixed(c.verifier[:])
	case *nfsv4.NfsArgop4_OP_READDIR:
		return c.readdir(&a.Opreaddir)
	case *nfsv4.NfsArgop4_OP_REMOVE:
		switch {
		case !c.writes:
			return nfsv4.NFS4ERR_ROFS
		case c.now.id != rootID:
			return nfsv4.NFS4ERR_NOTDIR
		case !c.remove(a.Opremove.Target):
			return nfsv4.NFS4ERR_NOENT
		}
		return c.body(c.changed())
	default:
		return nfsv4.NFS4ERR_NOTSUPP
	}
	return nfsv4.NFS4_OK
}

func (c *compound) bits(m []uint32) {
	c.w.Uint32(uint32(len(m)))
	for _, word := range m {
		c.w.Uint32(word)
	}
}

func (c *compound) exchangeID(a *nfsv4.ExchangeId4args) nfsv4.Nfsstat4 {
	if a.EiaStateProtect.GetSpaHow() != nfsv4.SP4_NONE {
		return nfsv4.NFS4ERR_NOTSUPP
	}
	known, status := c.exchange(a)
	if status != nfsv4.NFS4_OK {
		return status
	}
	return c.body(&nfsv4.ExchangeId4resok{
		EirClientid: known.id, EirSequenceid: known.sequence, EirFlags: nfsv4.EXCHGID4_FLAG_USE_NON_PNFS,
		EirStateProtect: &nfsv4.StateProtect4R_SP4_NONE{}, EirServerOwner: nfsv4.ServerOwner4{SoMajorId: c.verifier[:]}, EirServerScope: c.verifier[:],
	})
}

func (c *compound) createSession(a *nfsv4.CreateSession4args) nfsv4.Nfsstat4 {
	made, status := c.sessions.create(a)
	if status != nfsv4.NFS4_OK {
		return status
	}
	fore, back := a.CsaForeChanAttrs, a.CsaBackChanAttrs
	fore.CaHeaderpadsize, fore.CaRdmaIrd = 0, nil
	fore.CaMaxrequestsize, fore.CaMaxresponsesize = min(fore.CaMaxrequestsize, maxRecord), min(fore.CaMaxresponsesize, maxRecord)
	fore.CaMaxresponsesizeCached, fore.CaMaxoperations = min(fore.CaMaxresponsesizeCached, maxKept), min(fore.CaMaxoperations, maxOperations)
	fore.CaMaxrequests = uint32(len(made.slots))
	back.CaHeaderpadsize, back.CaRdmaIrd = 0, nil
	return c.body(&nfsv4.CreateSession4resok{CsrSessionid: made.id, CsrSequence: a.CsaSequence, CsrForeChanAttrs: fore, CsrBackChanAttrs: back})
}

func (c *compound) security() nfsv4.Nfsstat4 {
	c.set = false // it is used up (section 2.6.3.1.1.8)
	c.w.Uint32(2)
	c.w.Uint32(uint32(rpcv2.AUTH_SYS))
	c.w.Uint32(uint32(rpcv2.AUTH_NONE))
	return nfsv4.NFS4_OK
}

func (c *compound) lookup(name string) nfsv4.Nfsstat4 {
	if status := c.folder(); status != nfsv4.NFS4_OK {
		return status
	}
	switch {
	case name == "":
		return nfsv4.NFS4ERR_INVAL
	case c.now.id == pseudoID && "/"+name == Root:
		c.now = node{c.tree, rootID, nil}
		return nfsv4.NFS4_OK
	case c.now.id == rootID:
		if f := c.named(name); f != nil {
			c.now = node{c.tree, f.id, f}
			return nfsv4.NFS4_OK
		}
	}
	return nfsv4.NFS4ERR_NOENT
}

func (c *compound) lookupParent() nfsv4.Nfsstat4 {
	switch {
	case c.now.file != nil:
		return nfsv4.NFS4ERR_NOTDIR
	case c.now.id == pseudoID:
		return nfsv4.NFS4ERR_NOENT
	}
	c.now = node{c.tree, pseudoID, nil}
	return nfsv4.NFS4_OK
}

// setAttributes changes the size, and takes no note of what else a client wants.
func (c *compound) setAttributes(f *nfsv4.Fattr4) (set []uint32, status nfsv4.Nfsstat4) {
	if !c.writes {
		return nil, nfsv4.NFS4ERR_ROFS
	}
	if len(f.Attrmask) == 0 || f.Attrmask[0]&(1<<nfsv4.FATTR4_SIZE) == 0 {
		return f.Attrmask, nfsv4.NFS4_OK
	}
	file, status := c.file()
	if status != nfsv4.NFS4_OK {
		return nil, status
	}
	if f.Attrmask[0]&(1<<nfsv4.FATTR4_SIZE-1) != 0 || len(f.AttrVals) < 8 {
		return nil, nfsv4.NFS4ERR_INVAL // what comes before it cannot be set
	}
	var size uint64
	for _, b := range f.AttrVals[:8] {
		size = size<<8 | uint64(b)
	}
	if size > maxFile {
		return nil, nfsv4.NFS4ERR_FBIG
	}
	file.size.Store(int64(size))
	return f.Attrmask, nfsv4.NFS4_OK
}

func (c *compound) changed() *nfsv4.Remove4resok {
	at := c.now.change()
	return &nfsv4.Remove4resok{Cinfo: nfsv4.ChangeInfo4{Before: at, After: at + 1}}
}

// open opens a file by its name, or the current one. Its state is the same for all:
// nobody locks anything here.
func (c *compound) open(a *nfsv4.Open4args) nfsv4.Nfsstat4 {
	if a.ShareAccess&nfsv4.OPEN4_SHARE_ACCESS_WRITE != 0 && !c.writes {
		return nfsv4.NFS4ERR_ROFS
	}
	change := c.now.change()
	switch claim := a.Claim.(type) {
	case *nfsv4.OpenClaim4_CLAIM_FH:
		if _, status := c.file(); status != nfsv4.NFS4_OK {
			return status
		}
	case *nfsv4.OpenClaim4_CLAIM_NULL:
		if status := c.openNamed(claim.File, a.Openhow); status != nfsv4.NFS4_OK {
			return status
		}
	default:
		return nfsv4.NFS4ERR_NOTSUPP
	}
	return c.body(&nfsv4.Open4resok{
		Stateid: c.opened(), Cinfo: nfsv4.ChangeInfo4{Before: change, After: change},
		Rflags: nfsv4.OPEN4_RESULT_LOCKTYPE_POSIX, Delegation: &nfsv4.OpenDelegation4_OPEN_DELEGATE_NONE{},
	})
}

func (c *compound) openNamed(name string, how nfsv4.Openflag4) nfsv4.Nfsstat4 {
	create, creates := how.(*nfsv4.Openflag4_OPEN4_CREATE)
	if creates && c.now.id == rootID && c.named(name) == nil {
		if !c.writes {
			return nfsv4.NFS4ERR_ROFS
		}
		if f, _ := c.tree.create(name, 0); f == nil || len(name) > maxName {
			return nfsv4.NFS4ERR_NOSPC
		}
		return c.lookup(name)
	}
	if status := c.lookup(name); status != nfsv4.NFS4_OK {
		return status
	}
	if _, status := c.file(); status != nfsv4.NFS4_OK {
		return status
	}
	if creates {
		switch h := create.How.(type) {
		case *nfsv4.Createhow4_UNCHECKED4:
			if _, status := c.setAttributes(&h.Createattrs); status != nfsv4.NFS4_OK {
				return status
			}
		default:
			return nfsv4.NFS4ERR_EXIST
		}
	}
	return nfsv4.NFS4_OK
}

func (c *compound) opened() (s nfsv4.Stateid4) {
	s.Seqid = 1
	copy(s.Other[:], c.verifier[:])
	return s
}

// state answers with the state that a client has of a file.
func (c *compound) state(s nfsv4.Stateid4) nfsv4.Nfsstat4 {
	s.Seqid++
	return c.body(&s)
}

func (c *compound) readdir(a *nfsv4.Readdir4args) nfsv4.Nfsstat4 {
	if status := c.folder(); status != nfsv4.NFS4_OK {
		return status
	}
	type entry struct {
		name string
		of   node
	}
	var entries []entry
	const first = 3 // 0 to 2 are not to be used as cookies (section 18.23.3)
	from := max(a.Cookie, first-1) - (first - 1)
	if c.now.id == pseudoID {
		if from == 0 {
			entries = append(entries, entry{Root[1:], node{c.tree, rootID, nil}})
		}
	} else {
		for _, f := range c.list(from) {
			entries = append(entries, entry{f.name, node{c.tree, f.id, f}})
		}
	}
	var result nfsv4.Readdir4resok
	result.Reply.Eof = true
	last := &result.Reply.Entries
	room := int(min(a.Maxcount, maxData)) - result.GetEncodedSizeBytes() - 16
	for i, e := range entries {
		next := &nfsv4.Entry4{Cookie: first + from + uint64(i), Name: e.name, Attrs: e.of.attributes(a.AttrRequest)}
		if room -= next.GetEncodedSizeBytes(); room < 0 {
			if i == 0 {
				return nfsv4.NFS4ERR_TOOSMALL
			}
			result.Reply.Eof = false
			break
		}
		*last, last = next, &next.Nextentry
	}
	return c.body(&result)
}
