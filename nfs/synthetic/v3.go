package synthetic

import (
	"context"
	"io"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv3"
	"github.com/buildbarn/go-xdr/pkg/protocols/rpcv2"

	"github.com/fullbore/fullbore/nfs/rpc"
)

const (
	fileMode = 0o644
	dirMode  = 0o755

	procRead  = 6 // RFC 1813, section 3.3.6
	procWrite = 7

	maxHandle = 64
)

// v3 answers version 3. Reads and writes have a way of their own, without copies.
type v3 struct {
	*tree
	verifier [8]byte // of writes: another one each time the server starts
}

func (s *v3) serve(call *rpc.Received, r *rpc.Reader, w *rpc.Writer) rpcv2.AcceptedReplyData {
	switch {
	case call.Version != 3:
	case call.Procedure == procRead:
		return s.read(r, w)
	case call.Procedure == procWrite:
		return s.write(r, w)
	}
	service := nfsv3.NewNfsProgramService(s)
	return rpc.Service(call, r, w, func(vers, proc uint32, parameters io.ReadCloser, result func(int) io.Writer) (rpcv2.AcceptedReplyData, error) {
		return service(context.Background(), vers, proc, parameters, result)
	})
}

func (s *v3) read(r *rpc.Reader, w *rpc.Writer) rpcv2.AcceptedReplyData {
	f, stat := s.file(r.Opaque(maxHandle))
	offset, count := r.Uint64(), r.Uint32()
	if r.Err() != nil {
		return rpc.Success
	}
	if stat == nfsv3.NFS3_OK && s.delay() {
		stat = nfsv3.NFS3ERR_JUKEBOX
	}
	w.Uint32(uint32(stat))
	if stat != nfsv3.NFS3_OK {
		w.Bool(false)
		return rpc.Success
	}
	data, eof := s.tree.read(f, offset, count)
	w.Bool(true)
	s.attributes(f).put(w)
	w.Uint32(uint32(len(data)))
	w.Bool(eof)
	w.Opaque(data)
	return rpc.Success
}

func (s *v3) write(r *rpc.Reader, w *rpc.Writer) rpcv2.AcceptedReplyData {
	f, stat := s.file(r.Opaque(maxHandle))
	offset, _ := r.Uint64(), r.Uint32()
	how := r.Uint32()
	n := r.Payload(maxData, nil)
	if r.Err() != nil {
		return rpc.Success
	}
	switch {
	case stat != nfsv3.NFS3_OK:
	case !s.writes:
		stat = nfsv3.NFS3ERR_ROFS
	case s.delay():
		stat = nfsv3.NFS3ERR_JUKEBOX
	case !f.write(offset, n):
		stat = nfsv3.NFS3ERR_FBIG
	}
	w.Uint32(uint32(stat))
	w.Bool(false) // nothing about before
	w.Bool(false)
	if stat == nfsv3.NFS3_OK {
		w.Uint32(uint32(n))
		w.Uint32(how)
		w.Fixed(s.verifier[:])
	}
	return rpc.Success
}

// file finds the file of a handle.
func (s *v3) file(handle []byte) (*inode, nfsv3.Nfsstat3) {
	id, ok := s.find(handle)
	switch {
	case !ok:
		return nil, nfsv3.NFS3ERR_STALE
	case id == rootID:
		return nil, nfsv3.NFS3ERR_ISDIR
	}
	if f := s.numbered(id); f != nil {
		return f, nfsv3.NFS3_OK
	}
	return nil, nfsv3.NFS3ERR_STALE
}

// attributes are those of a file; nil: the root's.
type attributes struct {
	tree *tree
	file *inode
}

func (t *tree) attributes(f *inode) attributes { return attributes{t, f} }

func (a attributes) id() uint64 {
	if a.file == nil {
		return rootID
	}
	return a.file.id
}

func (a attributes) size() uint64 {
	if a.file == nil {
		return folderSize
	}
	return uint64(a.file.size.Load())
}

// put appends them, as version 3 has them: each read has them in its answer.
func (a attributes) put(w *rpc.Writer) {
	f := a.v3()
	for _, v := range [...]uint32{uint32(f.Type), f.Mode, f.Nlink, f.Uid, f.Gid} {
		w.Uint32(v)
	}
	for _, v := range [...]uint64{f.Size, f.Used, 0, f.Fsid, f.Fileid} {
		w.Uint64(v)
	}
	for _, v := range [...]nfsv3.Nfstime3{f.Atime, f.Mtime, f.Ctime} {
		w.Uint32(v.Seconds)
		w.Uint32(v.Nseconds)
	}
}

func (a attributes) v3() nfsv3.Fattr3 {
	began := nfsv3.Nfstime3{Seconds: uint32(a.tree.began.Unix()), Nseconds: uint32(a.tree.began.Nanosecond())}
	kind, mode, links := nfsv3.NF3REG, uint32(fileMode), uint32(1)
	if a.file == nil {
		kind, mode, links = nfsv3.NF3DIR, dirMode, 2
	}
	return nfsv3.Fattr3{
		Type: kind, Mode: mode, Nlink: links, Size: a.size(), Used: a.size(), Fsid: fsid, Fileid: a.id(),
		Atime: began, Mtime: began, Ctime: began,
	}
}

// fsid is the number of the file system: any, but always the same.
const fsid = 0x66756c6c
