package synthetic

import (
	"context"
	"slices"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv3"
)

// What a stock client asks for before and beside reads and writes.

func (s *v3) NfsV3Nfsproc3Null(context.Context) error { return nil }

// found is what a handle is of.
func (s *v3) found(handle nfsv3.NfsFh3) (attributes, nfsv3.Nfsstat3) {
	id, ok := s.find(handle.Data)
	if !ok {
		return attributes{}, nfsv3.NFS3ERR_STALE
	}
	return s.attributes(s.numbered(id)), nfsv3.NFS3_OK
}

// root says whether a handle is the root's.
func (s *v3) root(handle nfsv3.NfsFh3) nfsv3.Nfsstat3 {
	id, ok := s.find(handle.Data)
	switch {
	case !ok:
		return nfsv3.NFS3ERR_STALE
	case id != rootID:
		return nfsv3.NFS3ERR_NOTDIR
	}
	return nfsv3.NFS3_OK
}

func (a attributes) known() nfsv3.PostOpAttr { return &nfsv3.PostOpAttr_TRUE{Attributes: a.v3()} }

var unknown nfsv3.PostOpAttr = &nfsv3.PostOpAttr_FALSE{}

var unchanged = nfsv3.WccData{Before: &nfsv3.PreOpAttr_FALSE{}, After: unknown}

func (s *v3) NfsV3Nfsproc3Getattr(_ context.Context, a *nfsv3.Getattr3args) (nfsv3.Getattr3res, error) {
	of, stat := s.found(a.Object)
	if stat != nfsv3.NFS3_OK {
		return &nfsv3.Getattr3res_default{Status: stat}, nil
	}
	return &nfsv3.Getattr3res_NFS3_OK{Resok: nfsv3.Getattr3resok{ObjAttributes: of.v3()}}, nil
}

func (s *v3) NfsV3Nfsproc3Setattr(_ context.Context, a *nfsv3.Setattr3args) (nfsv3.Setattr3res, error) {
	of, stat := s.found(a.Object)
	size, resize := a.NewAttributes.Size.(*nfsv3.SetSize3_TRUE)
	switch {
	case stat != nfsv3.NFS3_OK:
	case !s.writes:
		stat = nfsv3.NFS3ERR_ROFS
	case resize && (of.file == nil || size.Size > maxFile):
		stat = nfsv3.NFS3ERR_INVAL
	case resize:
		of.file.size.Store(int64(size.Size))
	}
	if stat != nfsv3.NFS3_OK {
		return &nfsv3.Setattr3res_default{Status: stat, Resfail: nfsv3.Setattr3resfail{ObjWcc: unchanged}}, nil
	}
	return &nfsv3.Setattr3res_NFS3_OK{Resok: nfsv3.Setattr3resok{ObjWcc: nfsv3.WccData{Before: unchanged.Before, After: of.known()}}}, nil
}

func (s *v3) NfsV3Nfsproc3Lookup(_ context.Context, a *nfsv3.Lookup3args) (nfsv3.Lookup3res, error) {
	stat := s.root(a.What.Dir)
	found := s.attributes(nil) // of . and ..
	if name := a.What.Name; stat == nfsv3.NFS3_OK && name != "." && name != ".." {
		if found.file = s.named(name); found.file == nil {
			stat = nfsv3.NFS3ERR_NOENT
		}
	}
	if stat != nfsv3.NFS3_OK {
		return &nfsv3.Lookup3res_default{Status: stat, Resfail: nfsv3.Lookup3resfail{DirAttributes: unknown}}, nil
	}
	return &nfsv3.Lookup3res_NFS3_OK{Resok: nfsv3.Lookup3resok{
		Object: nfsv3.NfsFh3{Data: s.handle(found.id())}, ObjAttributes: found.known(), DirAttributes: s.attributes(nil).known(),
	}}, nil
}

func (s *v3) NfsV3Nfsproc3Access(_ context.Context, a *nfsv3.Access3args) (nfsv3.Access3res, error) {
	of, stat := s.found(a.Object)
	if stat != nfsv3.NFS3_OK {
		return &nfsv3.Access3res_default{Status: stat, Resfail: nfsv3.Access3resfail{ObjAttributes: unknown}}, nil
	}
	allowed := uint32(nfsv3.ACCESS3_READ | nfsv3.ACCESS3_LOOKUP)
	if s.writes {
		allowed |= nfsv3.ACCESS3_MODIFY | nfsv3.ACCESS3_EXTEND | nfsv3.ACCESS3_DELETE
	}
	return &nfsv3.Access3res_NFS3_OK{Resok: nfsv3.Access3resok{ObjAttributes: of.known(), Access: a.Access & allowed}}, nil
}

func (s *v3) NfsV3Nfsproc3Readlink(context.Context, *nfsv3.Readlink3args) (nfsv3.Readlink3res, error) {
	return &nfsv3.Readlink3res_default{Status: nfsv3.NFS3ERR_INVAL, Resfail: nfsv3.Readlink3resfail{SymlinkAttributes: unknown}}, nil
}

// Read and write are answered by the server itself.
func (s *v3) NfsV3Nfsproc3Read(context.Context, *nfsv3.Read3args) (nfsv3.Read3res, error) {
	return &nfsv3.Read3res_default{Status: nfsv3.NFS3ERR_SERVERFAULT, Resfail: nfsv3.Read3resfail{FileAttributes: unknown}}, nil
}

func (s *v3) NfsV3Nfsproc3Write(context.Context, *nfsv3.Write3args) (nfsv3.Write3res, error) {
	return &nfsv3.Write3res_default{Status: nfsv3.NFS3ERR_SERVERFAULT, Resfail: nfsv3.Write3resfail{FileWcc: unchanged}}, nil
}

func (s *v3) NfsV3Nfsproc3Create(_ context.Context, a *nfsv3.Create3args) (nfsv3.Create3res, error) {
	stat := s.root(a.Where.Dir)
	var f *inode
	switch {
	case stat != nfsv3.NFS3_OK:
	case !s.writes:
		stat = nfsv3.NFS3ERR_ROFS
	case a.Where.Name == "" || len(a.Where.Name) > maxName:
		stat = nfsv3.NFS3ERR_NAMETOOLONG
	default:
		var made bool
		f, made = s.create(a.Where.Name, 0)
		_, unchecked := a.How.(*nfsv3.Createhow3_UNCHECKED)
		if f == nil {
			stat = nfsv3.NFS3ERR_NOSPC
		} else if !made && !unchecked {
			stat = nfsv3.NFS3ERR_EXIST
		}
	}
	if stat != nfsv3.NFS3_OK {
		return &nfsv3.Create3res_default{Status: stat, Resfail: nfsv3.Create3resfail{DirWcc: unchanged}}, nil
	}
	return &nfsv3.Create3res_NFS3_OK{Resok: nfsv3.Create3resok{
		Obj: &nfsv3.PostOpFh3_TRUE{Handle: nfsv3.NfsFh3{Data: s.handle(f.id)}}, ObjAttributes: s.attributes(f).known(), DirWcc: unchanged,
	}}, nil
}

// There is one folder, and it has only files.
func (s *v3) NfsV3Nfsproc3Mkdir(context.Context, *nfsv3.Mkdir3args) (nfsv3.Mkdir3res, error) {
	return &nfsv3.Mkdir3res_default{Status: s.refused(), Resfail: nfsv3.Mkdir3resfail{DirWcc: unchanged}}, nil
}

func (s *v3) NfsV3Nfsproc3Symlink(context.Context, *nfsv3.Symlink3args) (nfsv3.Symlink3res, error) {
	return &nfsv3.Symlink3res_default{Status: s.refused(), Resfail: nfsv3.Symlink3resfail{DirWcc: unchanged}}, nil
}

func (s *v3) NfsV3Nfsproc3Mknod(context.Context, *nfsv3.Mknod3args) (nfsv3.Mknod3res, error) {
	return &nfsv3.Mknod3res_default{Status: s.refused(), Resfail: nfsv3.Mknod3resfail{DirWcc: unchanged}}, nil
}

func (s *v3) NfsV3Nfsproc3Rmdir(context.Context, *nfsv3.Rmdir3args) (nfsv3.Rmdir3res, error) {
	return &nfsv3.Rmdir3res_default{Status: s.refused(), Resfail: nfsv3.Rmdir3resfail{DirWcc: unchanged}}, nil
}

func (s *v3) NfsV3Nfsproc3Rename(context.Context, *nfsv3.Rename3args) (nfsv3.Rename3res, error) {
	return &nfsv3.Rename3res_default{Status: s.refused(), Resfail: nfsv3.Rename3resfail{FromdirWcc: unchanged, TodirWcc: unchanged}}, nil
}

func (s *v3) NfsV3Nfsproc3Link(context.Context, *nfsv3.Link3args) (nfsv3.Link3res, error) {
	return &nfsv3.Link3res_default{Status: s.refused(), Resfail: nfsv3.Link3resfail{FileAttributes: unknown, LinkdirWcc: unchanged}}, nil
}

func (s *v3) refused() nfsv3.Nfsstat3 {
	if !s.writes {
		return nfsv3.NFS3ERR_ROFS
	}
	return nfsv3.NFS3ERR_NOTSUPP
}

func (s *v3) NfsV3Nfsproc3Remove(_ context.Context, a *nfsv3.Remove3args) (nfsv3.Remove3res, error) {
	stat := s.root(a.Object.Dir)
	switch {
	case stat != nfsv3.NFS3_OK:
	case !s.writes:
		stat = nfsv3.NFS3ERR_ROFS
	case !s.remove(a.Object.Name):
		stat = nfsv3.NFS3ERR_NOENT
	}
	if stat != nfsv3.NFS3_OK {
		return &nfsv3.Remove3res_default{Status: stat, Resfail: nfsv3.Remove3resfail{DirWcc: unchanged}}, nil
	}
	return &nfsv3.Remove3res_NFS3_OK{Resok: nfsv3.Remove3resok{DirWcc: unchanged}}, nil
}

// entrySize is more than an entry of a listing takes beside its name, in bytes.
const entrySize = 200

// entries are those of a listing that fit into count bytes, from a cookie on: cookies 1 and
// 2 are behind . and .., the others behind the files.
func (s *v3) entries(cookie uint64, count uint32) (list []attributes, names []string, eof bool) {
	room := int(min(count, maxData)) - entrySize
	add := func(a attributes, name string) bool {
		if room -= entrySize + len(name); room < 0 && len(list) > 0 {
			return false
		}
		list, names = append(list, a), append(names, name)
		return true
	}
	for i, name := range []string{".", ".."} {
		if cookie <= uint64(i) && !add(s.attributes(nil), name) {
			return list, names, false
		}
	}
	for _, f := range s.list(max(cookie, 2) - 2) {
		if !add(s.attributes(f), f.name) {
			return list, names, false
		}
	}
	return list, names, true
}

func (s *v3) NfsV3Nfsproc3Readdir(_ context.Context, a *nfsv3.Readdir3args) (nfsv3.Readdir3res, error) {
	if stat := s.root(a.Dir); stat != nfsv3.NFS3_OK {
		return &nfsv3.Readdir3res_default{Status: stat, Resfail: nfsv3.Readdir3resfail{DirAttributes: unknown}}, nil
	}
	list, names, eof := s.entries(a.Cookie, a.Count)
	reply := nfsv3.Dirlist3{Eof: eof}
	for i, e := range slices.Backward(list) {
		reply.Entries = &nfsv3.Entry3{Fileid: e.id(), Name: names[i], Cookie: a.Cookie + uint64(i) + 1, Nextentry: reply.Entries}
	}
	return &nfsv3.Readdir3res_NFS3_OK{Resok: nfsv3.Readdir3resok{DirAttributes: s.attributes(nil).known(), Reply: reply}}, nil
}

func (s *v3) NfsV3Nfsproc3Readdirplus(_ context.Context, a *nfsv3.Readdirplus3args) (nfsv3.Readdirplus3res, error) {
	if stat := s.root(a.Dir); stat != nfsv3.NFS3_OK {
		return &nfsv3.Readdirplus3res_default{Status: stat, Resfail: nfsv3.Readdirplus3resfail{DirAttributes: unknown}}, nil
	}
	list, names, eof := s.entries(a.Cookie, a.Maxcount)
	reply := nfsv3.Dirlistplus3{Eof: eof}
	for i, e := range slices.Backward(list) {
		reply.Entries = &nfsv3.Entryplus3{
			Fileid: e.id(), Name: names[i], Cookie: a.Cookie + uint64(i) + 1, NameAttributes: e.known(),
			NameHandle: &nfsv3.PostOpFh3_TRUE{Handle: nfsv3.NfsFh3{Data: s.handle(e.id())}}, Nextentry: reply.Entries,
		}
	}
	return &nfsv3.Readdirplus3res_NFS3_OK{Resok: nfsv3.Readdirplus3resok{DirAttributes: s.attributes(nil).known(), Reply: reply}}, nil
}

func (s *v3) NfsV3Nfsproc3Fsstat(_ context.Context, a *nfsv3.Fsstat3args) (nfsv3.Fsstat3res, error) {
	of, stat := s.found(a.Fsroot)
	if stat != nfsv3.NFS3_OK {
		return &nfsv3.Fsstat3res_default{Status: stat, Resfail: nfsv3.Fsstat3resfail{ObjAttributes: unknown}}, nil
	}
	return &nfsv3.Fsstat3res_NFS3_OK{Resok: nfsv3.Fsstat3resok{
		ObjAttributes: of.known(), Tbytes: maxFile, Fbytes: maxFile, Abytes: maxFile, Tfiles: MaxFiles, Ffiles: MaxFiles, Afiles: MaxFiles,
	}}, nil
}

func (s *v3) NfsV3Nfsproc3Fsinfo(_ context.Context, a *nfsv3.Fsinfo3args) (nfsv3.Fsinfo3res, error) {
	of, stat := s.found(a.Fsroot)
	if stat != nfsv3.NFS3_OK {
		return &nfsv3.Fsinfo3res_default{Status: stat, Resfail: nfsv3.Fsinfo3resfail{ObjAttributes: unknown}}, nil
	}
	const multiple, folder = 4096, 32 << 10 // bytes
	return &nfsv3.Fsinfo3res_NFS3_OK{Resok: nfsv3.Fsinfo3resok{
		ObjAttributes: of.known(), Rtmax: maxData, Rtpref: 1 << 20, Rtmult: multiple, Wtmax: maxData, Wtpref: 1 << 20, Wtmult: multiple, Dtpref: folder,
		Maxfilesize: maxFile, TimeDelta: nfsv3.Nfstime3{Seconds: 1}, Properties: nfsv3.FSF3_HOMOGENEOUS | nfsv3.FSF3_CANSETTIME,
	}}, nil
}

func (s *v3) NfsV3Nfsproc3Pathconf(_ context.Context, a *nfsv3.Pathconf3args) (nfsv3.Pathconf3res, error) {
	of, stat := s.found(a.Object)
	if stat != nfsv3.NFS3_OK {
		return &nfsv3.Pathconf3res_default{Status: stat, Resfail: nfsv3.Pathconf3resfail{ObjAttributes: unknown}}, nil
	}
	return &nfsv3.Pathconf3res_NFS3_OK{Resok: nfsv3.Pathconf3resok{ObjAttributes: of.known(), Linkmax: 1, NameMax: maxName, NoTrunc: true, ChownRestricted: true, CasePreserving: true}}, nil
}

func (s *v3) NfsV3Nfsproc3Commit(_ context.Context, a *nfsv3.Commit3args) (nfsv3.Commit3res, error) {
	if _, stat := s.file(a.File.Data); stat != nfsv3.NFS3_OK {
		return &nfsv3.Commit3res_default{Status: stat, Resfail: nfsv3.Commit3resfail{FileWcc: unchanged}}, nil
	}
	return &nfsv3.Commit3res_NFS3_OK{Resok: nfsv3.Commit3resok{FileWcc: unchanged, Verf: s.verifier}}, nil
}
