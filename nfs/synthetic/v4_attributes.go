package synthetic

import (
	"encoding/binary"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"
)

// node is a file, or one of the two folders, as version 4 sees it.
type node struct {
	tree *tree
	id   uint64
	file *inode // nil: a folder
}

// node finds what has a number.
func (t *tree) node(id uint64) (node, bool) {
	if id == rootID || id == pseudoID {
		return node{t, id, nil}, true
	}
	f := t.numbered(id)
	return node{t, id, f}, f != nil
}

func (n node) size() uint64 {
	if n.file == nil {
		return folderSize
	}
	return uint64(n.file.size.Load())
}

// change is another number whenever the file has changed: here its size, and what was
// written.
func (n node) change() uint64 {
	if n.file == nil {
		return uint64(n.tree.began.UnixNano())
	}
	return uint64(n.tree.began.UnixNano()) + n.size() + uint64(n.file.written.Load())
}

// leaseTime is how long a client that says nothing is remembered, in seconds: Linux's
// server's (nfsd(7), nfsv4leasetime).
const leaseTime = 90

// encoded is an attribute's value.
type encoded []byte

func number(v uint32) encoded { return binary.BigEndian.AppendUint32(nil, v) }
func long(v uint64) encoded   { return binary.BigEndian.AppendUint64(nil, v) }
func boolean(v bool) encoded  { return number(map[bool]uint32{true: 1}[v]) }
func opaque(b []byte) encoded {
	return append(number(uint32(len(b))), append(b, make([]byte, -len(b)&3)...)...)
}
func pair(a, b uint64) encoded { return append(long(a), long(b)...) }
func (n node) time() encoded {
	return append(long(uint64(n.tree.began.Unix())), number(uint32(n.tree.began.Nanosecond()))...)
}
func bitmap(m []uint32) encoded {
	b := number(uint32(len(m)))
	for _, w := range m {
		b = append(b, number(w)...)
	}
	return b
}

// attributes4 are those that there are (RFC 8881, section 5), by number.
var attributes4 = map[int]func(n node) encoded{
	nfsv4.FATTR4_TYPE: func(n node) encoded {
		if n.file == nil {
			return number(uint32(nfsv4.NF4DIR))
		}
		return number(uint32(nfsv4.NF4REG))
	},
	nfsv4.FATTR4_FH_EXPIRE_TYPE:  func(node) encoded { return number(0) }, // handles stay
	nfsv4.FATTR4_CHANGE:          func(n node) encoded { return long(n.change()) },
	nfsv4.FATTR4_SIZE:            func(n node) encoded { return long(n.size()) },
	nfsv4.FATTR4_LINK_SUPPORT:    func(node) encoded { return boolean(false) },
	nfsv4.FATTR4_SYMLINK_SUPPORT: func(node) encoded { return boolean(false) },
	nfsv4.FATTR4_NAMED_ATTR:      func(node) encoded { return boolean(false) },
	nfsv4.FATTR4_FSID: func(n node) encoded {
		if n.id == pseudoID {
			return pair(0, 0)
		}
		return pair(fsid, 0)
	},
	nfsv4.FATTR4_UNIQUE_HANDLES:   func(node) encoded { return boolean(true) },
	nfsv4.FATTR4_LEASE_TIME:       func(node) encoded { return number(leaseTime) },
	nfsv4.FATTR4_RDATTR_ERROR:     func(node) encoded { return number(0) },
	nfsv4.FATTR4_ACLSUPPORT:       func(node) encoded { return number(0) },
	nfsv4.FATTR4_CANSETTIME:       func(node) encoded { return boolean(false) },
	nfsv4.FATTR4_CASE_INSENSITIVE: func(node) encoded { return boolean(false) },
	nfsv4.FATTR4_CASE_PRESERVING:  func(node) encoded { return boolean(true) },
	nfsv4.FATTR4_FILEHANDLE:       func(n node) encoded { return opaque(n.tree.handle(n.id)) },
	nfsv4.FATTR4_FILEID:           func(n node) encoded { return long(n.id) },
	nfsv4.FATTR4_FILES_AVAIL:      func(node) encoded { return long(MaxFiles) },
	nfsv4.FATTR4_FILES_FREE:       func(node) encoded { return long(MaxFiles) },
	nfsv4.FATTR4_FILES_TOTAL:      func(node) encoded { return long(MaxFiles) },
	nfsv4.FATTR4_HOMOGENEOUS:      func(node) encoded { return boolean(true) },
	nfsv4.FATTR4_MAXFILESIZE:      func(node) encoded { return long(maxFile) },
	nfsv4.FATTR4_MAXLINK:          func(node) encoded { return number(1) },
	nfsv4.FATTR4_MAXNAME:          func(node) encoded { return number(maxName) },
	nfsv4.FATTR4_MAXREAD:          func(node) encoded { return long(maxData) },
	nfsv4.FATTR4_MAXWRITE:         func(node) encoded { return long(maxData) },
	nfsv4.FATTR4_MODE: func(n node) encoded {
		if n.file == nil {
			return number(dirMode)
		}
		return number(fileMode)
	},
	nfsv4.FATTR4_NO_TRUNC:          func(node) encoded { return boolean(true) },
	nfsv4.FATTR4_NUMLINKS:          func(node) encoded { return number(1) },
	nfsv4.FATTR4_OWNER:             func(node) encoded { return opaque([]byte("0")) }, // numbers as text, which clients without a domain take (RFC 7530, section 5.9)
	nfsv4.FATTR4_OWNER_GROUP:       func(node) encoded { return opaque([]byte("0")) },
	nfsv4.FATTR4_RAWDEV:            func(node) encoded { return long(0) },
	nfsv4.FATTR4_SPACE_AVAIL:       func(node) encoded { return long(maxFile) },
	nfsv4.FATTR4_SPACE_FREE:        func(node) encoded { return long(maxFile) },
	nfsv4.FATTR4_SPACE_TOTAL:       func(node) encoded { return long(maxFile) },
	nfsv4.FATTR4_SPACE_USED:        func(n node) encoded { return long(n.size()) },
	nfsv4.FATTR4_TIME_ACCESS:       node.time,
	nfsv4.FATTR4_TIME_DELTA:        func(node) encoded { return append(long(1), number(0)...) },
	nfsv4.FATTR4_TIME_METADATA:     node.time,
	nfsv4.FATTR4_TIME_MODIFY:       node.time,
	nfsv4.FATTR4_MOUNTED_ON_FILEID: func(n node) encoded { return long(n.id) },
}

// supported is which there are, as a bitmap.
var supported = func() []uint32 {
	m := make([]uint32, 3)
	set := func(a int) { m[a/32] |= 1 << (a % 32) }
	for a := range attributes4 {
		set(a)
	}
	set(nfsv4.FATTR4_SUPPORTED_ATTRS)
	set(nfsv4.FATTR4_SUPPATTR_EXCLCREAT)
	return m
}()

func init() { // they say of themselves which there are
	attributes4[nfsv4.FATTR4_SUPPORTED_ATTRS] = func(node) encoded { return bitmap(supported) }
	attributes4[nfsv4.FATTR4_SUPPATTR_EXCLCREAT] = func(node) encoded { return bitmap([]uint32{1 << nfsv4.FATTR4_SIZE}) }
}

// attributes gives those asked for that there are.
func (n node) attributes(asked []uint32) nfsv4.Fattr4 {
	var f nfsv4.Fattr4
	for i := range min(len(asked), len(supported)) {
		f.Attrmask = append(f.Attrmask, asked[i]&supported[i])
		for bit := range 32 {
			if f.Attrmask[i]&(1<<bit) != 0 {
				f.AttrVals = append(f.AttrVals, attributes4[32*i+bit](n)...)
			}
		}
	}
	for len(f.Attrmask) > 0 && f.Attrmask[len(f.Attrmask)-1] == 0 {
		f.Attrmask = f.Attrmask[:len(f.Attrmask)-1]
	}
	return f
}

const folderSize = 4096 // bytes, as Linux's folders have
