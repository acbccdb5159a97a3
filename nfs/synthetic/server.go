package synthetic

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"path"
	"sync"
	"time"

	"github.com/buildbarn/go-xdr/pkg/protocols/mount"
	"github.com/buildbarn/go-xdr/pkg/protocols/rpcv2"

	"github.com/fullbore/fullbore/nfs/rpc"
)

// Config is what a server has and does.
type Config struct {
	Files   []File
	Slots   int                   // of a session of version 4.1, at most; 0: as many as a client asks for, and there can be
	Latency time.Duration         // of each request
	Threads int                   // that requests share; 0: each has its own
	Disk    time.Duration         // of each read of what was not just read, with its thread held; 0: all is in memory
	Disks   int                   // reads that the disk does at once; 0: one
	Delays  float64               // share of reads and writes that the server asks to have sent again later
	Writes  bool                  // else everything can only be read
	Allow   func(netip.Addr) bool // who may connect; nil: anybody
	Log     *slog.Logger
}

// Server answers clients.
type Server struct {
	Config
	files *tree
	v3    *v3
	v4    *v4
	pace  *rpc.Pace // nil: as fast as it can
	mount func(context.Context, uint32, uint32, io.ReadCloser, func(int) io.Writer) (rpcv2.AcceptedReplyData, error)
}

// MaxConnections is how many there can be at once.
const MaxConnections = 256

// New makes a server.
func New(c Config) (*Server, error) {
	files, err := newTree(c.Files, c.Writes)
	if err != nil {
		return nil, err
	}
	if !(c.Delays >= 0 && c.Delays < 1) {
		return nil, fmt.Errorf("delays for a share of %v of the requests; use 0 to less than 1", c.Delays)
	}
	files.delays = c.Delays
	s := &Server{Config: c, files: files, v3: &v3{tree: files}, mount: mount.NewMountProgramService(mounts{files})}
	if _, err := crand.Read(s.v3.verifier[:]); err != nil {
		return nil, err
	}
	if c.Slots <= 0 {
		c.Slots = MaxSlots
	}
	if c.Disk > 0 {
		files.disk = newDisk(c.Disk, c.Disks)
	}
	if c.Latency > 0 || c.Threads > 0 || c.Disk > 0 {
		s.pace = rpc.NewPace(c.Latency, c.Threads)
	}
	s.v4 = &v4{tree: files, sessions: newSessions(c.Slots), verifier: s.v3.verifier}
	return s, nil
}

// Serve answers those that connect, until ctx ends. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var open sync.WaitGroup
	defer open.Wait()
	places := make(chan struct{}, MaxConnections)
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case places <- struct{}{}:
		default:
			s.Log.Warn("NFS connection refused: there are too many", "from", conn.RemoteAddr(), "most", MaxConnections)
			_ = conn.Close()
			continue
		}
		open.Go(func() {
			defer func() { <-places }()
			s.connection(ctx, conn)
		})
	}
}

func (s *Server) connection(ctx context.Context, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	from, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil || s.Allow != nil && !s.Allow(from.Addr().Unmap()) {
		s.Log.Warn("NFS connection refused: this address is not allowed", "from", conn.RemoteAddr())
		return
	}
	s.Log.Debug("NFS client", "from", from)
	if err := rpc.Serve(conn, maxRecord, s.pace, s.answer); err != nil && !errors.Is(err, net.ErrClosed) {
		s.Log.Info("NFS connection ended", "from", from, "err", err)
	}
}

// maxRecord is how many bytes a call may have.
const maxRecord = maxData + 64<<10

const (
	programNFS   = 100_003
	programMount = 100_005
)

func (s *Server) answer(call *rpc.Received, args *rpc.Reader, result *rpc.Writer) rpcv2.AcceptedReplyData {
	switch {
	case call.Program == programMount:
		return rpc.Service(call, args, result, func(vers, proc uint32, parameters io.ReadCloser, w func(int) io.Writer) (rpcv2.AcceptedReplyData, error) {
			return s.mount(context.Background(), vers, proc, parameters, w)
		})
	case call.Program == programNFS && call.Version == 3:
		return s.v3.serve(call, args, result)
	case call.Program == programNFS && call.Version == 4:
		return s.v4.serve(call, args, result)
	case call.Program == programNFS:
		mismatch := &rpcv2.AcceptedReplyData_PROG_MISMATCH{}
		mismatch.MismatchInfo.Low, mismatch.MismatchInfo.High = 3, 4
		return mismatch
	}
	return rpc.Refused(rpcv2.PROG_UNAVAIL)
}

// mounts answers MOUNT, on the port of NFS: clients say mountport=.
type mounts struct{ *tree }

func (m mounts) MountV1MountprocNull(context.Context) error { return nil }

func (m mounts) MountV1MountprocMnt(context.Context, string) (mount.Fhstatus, error) {
	const version2IsNot = 13 // EACCES
	return &mount.Fhstatus_default{Status: version2IsNot}, nil
}
func (m mounts) MountV1MountprocDump(context.Context) (*mount.Mountbody, error) { return nil, nil }
func (m mounts) MountV1MountprocUmnt(context.Context, string) error             { return nil }
func (m mounts) MountV1MountprocUmntall(context.Context) error                  { return nil }
func (m mounts) MountV1MountprocExport(context.Context) (*mount.Exportnode, error) {
	return &mount.Exportnode{ExDir: Root}, nil
}
func (m mounts) MountV3Mountproc3Null(context.Context) error { return nil }

func (m mounts) MountV3Mountproc3Mnt(_ context.Context, dir string) (mount.Mountres3, error) {
	if path.Clean(dir) != Root {
		return &mount.Mountres3_default{FhsStatus: mount.MNT3ERR_NOENT}, nil
	}
	return &mount.Mountres3_MNT3_OK{Mountinfo: mount.Mountres3Ok{Fhandle: m.handle(rootID), AuthFlavors: []int32{int32(rpcv2.AUTH_SYS), int32(rpcv2.AUTH_NONE)}}}, nil
}
func (m mounts) MountV3Mountproc3Dump(context.Context) (*mount.Mountbody, error) { return nil, nil }
func (m mounts) MountV3Mountproc3Umnt(context.Context, string) error             { return nil }
func (m mounts) MountV3Mountproc3Umntall(context.Context) error                  { return nil }
func (m mounts) MountV3Mountproc3Export(context.Context) (*mount.Exportnode, error) {
	return &mount.Exportnode{ExDir: Root}, nil
}
