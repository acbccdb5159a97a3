package lab

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// message is what travels between an agent, the process that owns the lab, and
// those that run commands. Exactly one field is set.
type message struct {
	Setup   *setup          `json:",omitempty"` // owner to agent, first
	Ready   bool            `json:",omitempty"` // agent to owner, with the TUN device
	Traffic []Traffic       `json:",omitempty"` // owner to agent: start these
	Query   bool            `json:",omitempty"` // owner to agent: counters, please
	Count   *counters       `json:",omitempty"` // agent to owner
	Echo    bool            `json:",omitempty"` // owner to agent: measure round trips to the peer
	Echoed  []time.Duration `json:",omitempty"` // agent to owner
	Run     *command        `json:",omitempty"` // to agent, with stdin, stdout and stderr
	Started int             `json:",omitempty"` // agent: process id, as the host sees it
	Signal  unix.Signal     `json:",omitempty"` // to agent: for the command's process group
	Exit    *ExitError      `json:",omitempty"` // agent: the command has ended
	Error   string          `json:",omitempty"` // agent: it could not be done
}

// command is what to run.
type command struct {
	Args []string
	Env  []string
	Dir  string
}

// counters are what only the host itself can see.
type counters struct {
	RingDrops uint64 // packets its TUN device dropped
}

// Bounds of one message: environments and arguments are limited by the kernel
// to a few megabytes.
const (
	maxMessage = 16 << 20
	maxFiles   = 3
)

// peer is one end of a connection that carries messages and files.
type peer struct {
	conn *net.UnixConn
	lock sync.Mutex // of writing
}

// send writes one message; the files travel with its first bytes.
func (p *peer) send(m *message, files ...*os.File) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	if len(body) > maxMessage {
		return fmt.Errorf("send message: %d bytes is more than %d", len(body), maxMessage)
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, file := range files {
			fds[i] = int(file.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	head := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	if _, _, err := p.conn.WriteMsgUnix(head, rights, nil); err != nil {
		return fmt.Errorf("send message: %w", err)
	}
	if _, err := p.conn.Write(body); err != nil {
		return fmt.Errorf("send message: %w", err)
	}
	return nil
}

// receive reads one message and the files that came with it. At the orderly end
// of the connection it gives io.EOF.
func (p *peer) receive() (m *message, files []*os.File, err error) {
	defer func() {
		if err != nil {
			closeAll(files)
			files = nil
		}
	}()
	var head [4]byte
	rights := make([]byte, unix.CmsgSpace(4*maxFiles))
	n, rn, _, _, err := p.conn.ReadMsgUnix(head[:], rights)
	if err != nil {
		return nil, nil, fmt.Errorf("receive message: %w", err)
	}
	if n == 0 {
		return nil, nil, io.EOF
	}
	if files, err = parseRights(rights[:rn]); err != nil {
		return nil, files, err
	}
	if err := p.fill(head[n:]); err != nil {
		return nil, files, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxMessage {
		return nil, files, fmt.Errorf("receive message: %d bytes is more than %d", size, maxMessage)
	}
	body := make([]byte, size)
	if err := p.fill(body); err != nil {
		return nil, files, err
	}
	m = new(message)
	if err := json.Unmarshal(body, m); err != nil {
		return nil, files, fmt.Errorf("decode message: %w", err)
	}
	return m, files, nil
}

// fill reads the rest of a message: it is not the place for the connection's end.
func (p *peer) fill(rest []byte) error {
	_, err := io.ReadFull(p.conn, rest)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("receive message: %w", err)
	}
	return nil
}

func parseRights(rights []byte) (files []*os.File, err error) {
	if len(rights) == 0 {
		return nil, nil
	}
	controls, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, fmt.Errorf("receive files: %w", err)
	}
	for _, control := range controls {
		fds, err := unix.ParseUnixRights(&control)
		if err != nil {
			continue // some other control message
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}

// socketPair gives both ends of a connection: one to use, one to hand on.
func socketPair() (*peer, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make socket pair: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "lab host")
	ours, err := filePeer(os.NewFile(uintptr(fds[0]), "lab owner"))
	if err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// filePeer takes over a connected Unix socket.
func filePeer(file *os.File) (*peer, error) {
	defer func() { _ = file.Close() }() // FileConn works on a duplicate
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("use socket: %w", err)
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		_ = conn.Close()
		return nil, fmt.Errorf("use socket: not a Unix socket")
	}
	return &peer{conn: unixConn}, nil
}
