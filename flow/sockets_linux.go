package flow

import (
	"context"
	"errors"
	"net/netip"
	"runtime"

	"github.com/fullbore/fullbore/bulk"
)

// Sockets asks the kernel once for the connections to a far end, whatever program they
// belong to: also those of the kernel itself.
func Sockets(ctx context.Context, remote netip.AddrPort) (sockets []Socket, err error) {
	runtime.LockOSThread() // the socket belongs to the network namespace of its thread
	d, err := openDiag()
	runtime.UnlockOSThread()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	err = d.dump(ctx, func(m *message) {
		local, far := m.id.ends(m.family)
		if far == remote && m.info != nil && len(sockets) < maxTracks {
			sockets = append(sockets, Socket{Local: local, Remote: far, TCP: bulk.ParseTCPInfo(m.info)})
		}
	})
	return sockets, err
}
