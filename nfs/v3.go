package nfs

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/buildbarn/go-xdr/pkg/protocols/mount"
	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv3"

	"github.com/fullbore/fullbore/nfs/rpc"
)

// Programs and procedures (RFC 1813; portmapper: RFC 1833).
var (
	v3Null    = &rpc.Procedure{Program: 100_003, Version: 3, Number: 0, Name: "NULL"}
	v3GetAttr = &rpc.Procedure{Program: 100_003, Version: 3, Number: 1, Name: "GETATTR"}
	v3Lookup  = &rpc.Procedure{Program: 100_003, Version: 3, Number: 3, Name: "LOOKUP"}
	v3Read    = &rpc.Procedure{Program: 100_003, Version: 3, Number: 6, Name: "READ"}
	v3Write   = &rpc.Procedure{Program: 100_003, Version: 3, Number: 7, Name: "WRITE"}
	v3FSInfo  = &rpc.Procedure{Program: 100_003, Version: 3, Number: 19, Name: "FSINFO"}
	v3Commit  = &rpc.Procedure{Program: 100_003, Version: 3, Number: 21, Name: "COMMIT"}

	mountMnt  = &rpc.Procedure{Program: 100_005, Version: 3, Number: 1, Name: "MNT"}
	mountUmnt = &rpc.Procedure{Program: 100_005, Version: 3, Number: 3, Name: "UMNT"}

	portmapGetPort = &rpc.Procedure{Program: 100_000, Version: 2, Number: 3, Name: "GETPORT"}
)

const (
	portmapPort = 111
	tcp         = 6  // IPPROTO_TCP, as the portmapper wants it
	maxHandle3  = 64 // NFS3_FHSIZE

	fattr3Size   = 84 // bytes of fattr3
	wccAttrSize  = 24 // bytes of wcc_attr
	writeVerSize = 8  // NFS3_WRITEVERFSIZE
	unstable     = 0  // stable_how
)

// v3 speaks of a file in version 3.
type v3 struct {
	file   []byte // its handle
	export string // that was mounted
}

// call3 makes a call with the arguments and gives its answer to decode.
func call3(ctx context.Context, c *rpc.Conn, p *rpc.Procedure, args io.WriterTo, decode func(io.Reader) error) error {
	return c.Call(ctx, p, func(w *rpc.Writer) {
		if args != nil {
			_, _ = args.WriteTo(w) // a Writer takes all
		}
	}, func(r *rpc.Reader) error { return decode(r) })
}

// open3 finds the file: the longest part of its path that is an export is mounted, and the
// rest is looked up.
func open3(ctx context.Context, d *dialer, c *rpc.Conn) (*v3, *Grant, error) {
	f := &v3{}
	rest, err := f.mnt(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	root := f.file
	for _, name := range rest {
		if err := f.lookup(ctx, c, name); err != nil {
			return nil, nil, err
		}
	}
	grant := &Grant{Version: "3"}
	err = call3(ctx, c, v3GetAttr, &nfsv3.Getattr3args{Object: nfsv3.NfsFh3{Data: f.file}}, func(r io.Reader) error {
		result, _, err := nfsv3.ReadGetattr3res(r)
		if err != nil {
			return err
		}
		ok, isOK := result.(*nfsv3.Getattr3res_NFS3_OK)
		if !isOK {
			return status3("GETATTR", result.GetStatus())
		}
		if kind := ok.Resok.ObjAttributes.Type; kind == nfsv3.NF3DIR {
			return &Status{Op: "GETATTR", Code: uint32(nfsv3.NFS3ERR_ISDIR), Name: "ISDIR"}
		}
		grant.Size = int64(ok.Resok.ObjAttributes.Size)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return f, grant, call3(ctx, c, v3FSInfo, &nfsv3.Fsinfo3args{Fsroot: nfsv3.NfsFh3{Data: root}}, func(r io.Reader) error {
		result, _, err := nfsv3.ReadFsinfo3res(r)
		if err != nil {
			return err
		}
		ok, isOK := result.(*nfsv3.Fsinfo3res_NFS3_OK)
		if !isOK {
			return status3("FSINFO", result.GetStatus())
		}
		grant.MaxRead, grant.MaxWrite = size(ok.Resok.Rtmax), size(ok.Resok.Wtmax)
		return nil
	})
}

func (f *v3) lookup(ctx context.Context, c *rpc.Conn, name string) error {
	args := &nfsv3.Lookup3args{What: nfsv3.Diropargs3{Dir: nfsv3.NfsFh3{Data: f.file}, Name: name}}
	return call3(ctx, c, v3Lookup, args, func(r io.Reader) error {
		result, _, err := nfsv3.ReadLookup3res(r)
		if err != nil {
			return err
		}
		ok, isOK := result.(*nfsv3.Lookup3res_NFS3_OK)
		if !isOK {
			return status3(fmt.Sprintf("LOOKUP %q", name), result.GetStatus())
		}
		f.file = ok.Resok.Object.Data
		return nil
	})
}

// mnt mounts the longest part of the path that is an export, and gives what is left.
func (f *v3) mnt(ctx context.Context, d *dialer) (rest []string, err error) {
	c, err := d.mount(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for export := path.Dir(d.target.Path); ; export = path.Dir(export) {
		err := f.mntOne(ctx, c, export)
		if err == nil {
			f.export = export
			inside := strings.TrimPrefix(strings.TrimPrefix(d.target.Path, export), "/")
			return strings.Split(inside, "/"), nil
		}
		if export == "/" || !is(err, "NOENT", "ACCES", "NOTDIR", "INVAL") {
			return nil, fmt.Errorf("no part of %s is an export that %s lets this host mount: %w", path.Dir(d.target.Path), d.target.Host, err)
		}
	}
}

func (f *v3) mntOne(ctx context.Context, c *rpc.Conn, export string) error {
	return c.Call(ctx, mountMnt, func(w *rpc.Writer) { w.String(export) }, func(r *rpc.Reader) error {
		result, _, err := mount.ReadMountres3(r)
		if err != nil {
			return err
		}
		ok, isOK := result.(*mount.Mountres3_MNT3_OK)
		if !isOK {
			return &Status{"MNT " + export, uint32(result.GetFhsStatus()), strings.TrimPrefix(mount.Mountstat3_name[result.GetFhsStatus()], "MNT3ERR_")}
		}
		if f.file = ok.Mountinfo.Fhandle; len(f.file) == 0 || len(f.file) > maxHandle3 {
			return fmt.Errorf("MNT %s: a handle of %d bytes", export, len(f.file))
		}
		return nil
	})
}

// join has nothing to do: connections of version 3 do not know each other.
func (f *v3) join(context.Context, *rpc.Conn) error { return nil }

// wanted says yes: version 3 has no slots.
func (f *v3) wanted(int) bool { return true }

// leave tells the server that the export is not mounted any more. It keeps a list.
func (f *v3) leave(ctx context.Context, d *dialer, _ *rpc.Conn) error {
	c, err := d.mount(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Call(ctx, mountUmnt, func(w *rpc.Writer) { w.String(f.export) }, nil)
}

func (f *v3) call(w *rpc.Writer, _ int, q Request, data []byte) *rpc.Procedure {
	switch q.Op {
	case Null:
		w.Begin(v3Null)
		return v3Null
	case GetAttr:
		w.Begin(v3GetAttr)
		w.Opaque(f.file)
		return v3GetAttr
	case Read:
		w.Begin(v3Read)
		w.Opaque(f.file)
		w.Uint64(uint64(q.Offset))
		w.Uint32(uint32(q.Size))
		return v3Read
	case Write:
		w.Begin(v3Write)
		w.Opaque(f.file)
		w.Uint64(uint64(q.Offset))
		w.Uint32(uint32(len(data)))
		w.Uint32(unstable)
		w.Opaque(data)
		return v3Write
	}
	w.Begin(v3Commit)
	w.Opaque(f.file)
	w.Uint64(uint64(q.Offset))
	w.Uint32(uint32(q.Size))
	return v3Commit
}

func (f *v3) answer(r *rpc.Reader, _ int, q Request, take func([]byte)) (o outcome, err error) {
	if q.Op == Null {
		return o, nil
	}
	stat := nfsv3.Nfsstat3(r.Uint32())
	ok := stat == nfsv3.NFS3_OK
	switch q.Op {
	case GetAttr:
		if ok {
			r.Skip(fattr3Size)
		}
	case Read:
		attributes3(r)
		if ok {
			count := r.Uint32()
			r.Bool() // end of file
			if o.size = r.Payload(q.Size, take); uint32(o.size) != count && r.Err() == nil {
				return o, fmt.Errorf("%d bytes came, and the server says %d", o.size, count)
			}
		}
	case Write, Commit:
		if r.Bool() {
			r.Skip(wccAttrSize)
		}
		attributes3(r)
		if ok && q.Op == Write {
			o.size = int(min(r.Uint32(), uint32(q.Size)))
			r.Uint32() // how it was written
		}
		if ok {
			r.Skip(writeVerSize)
		}
	}
	switch {
	case r.Err() != nil || ok:
		return o, r.Err()
	case stat == nfsv3.NFS3ERR_JUKEBOX:
		return outcome{again: askAgain}, nil
	}
	return o, status3(q.Op.String(), stat)
}

// attributes3 reads over a post_op_attr.
func attributes3(r *rpc.Reader) {
	if r.Bool() {
		r.Skip(fattr3Size)
	}
}

func status3(op string, code nfsv3.Nfsstat3) error {
	return &Status{op, uint32(code), strings.TrimPrefix(nfsv3.Nfsstat3_name[code], "NFS3ERR_")}
}
