package host

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// session is what reading and setting several tunables share: the tree of files,
// and what was asked of the kernel once, all of the network namespace of the
// thread that made it. It is for one thread, and for a moment: it does not notice
// what changes.
type session struct {
	root   root
	socket int         // of any kind, for ioctl; -1: there is none
	kernel *rtnetlink  // nil: there is none
	why    error       // if so
	tree   *deviceTree // nil: not looked for yet

	devices  map[string]device // by name; nil: not asked yet
	queued   map[int][]tc      // queues by interface; nil: not asked yet
	features []string          // names of offloads, by bit; nil: not asked yet
	asked    bool              // whether interfaces and routes may be changed
	refusal  error             // the answer
}

// openSession opens the sockets. Where a sandbox refuses one, what needs it says so.
func (r root) openSession() *session {
	s := &session{root: r}
	var err error
	if s.socket, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		s.socket = -1 // then every question is refused
	}
	s.kernel, s.why = openRTNetlink()
	return s
}

func (s *session) close() {
	if s.socket >= 0 {
		_ = unix.Close(s.socket)
	}
	if s.kernel != nil {
		s.kernel.close()
	}
	s.tree.close()
}

// device finds an interface by its name.
func (s *session) device(name string) (device, error) {
	if s.devices == nil {
		if s.kernel == nil {
			return device{}, s.why
		}
		found, err := s.kernel.links()
		if err != nil {
			return device{}, err
		}
		s.devices = map[string]device{}
		for _, d := range found {
			s.devices[d.name] = d
		}
	}
	d, ok := s.devices[name]
	if !ok {
		return device{}, fmt.Errorf("interface %s is %w in this network namespace", name, errInstance)
	}
	return d, nil
}

// queues are all queues, by the number of their interface, the root first.
func (s *session) queues() (map[int][]tc, error) {
	if s.queued != nil {
		return s.queued, nil
	}
	if s.kernel == nil {
		return nil, s.why
	}
	var err error
	s.queued, err = s.kernel.qdiscs()
	return s.queued, err
}

// forget has everything asked anew.
func (s *session) forget() { s.devices, s.queued = nil, nil }

// mayConfigure reports, as an error, that this process may not change the
// namespace's interfaces and routes. To find out, it asks for the change of an
// interface that cannot be, which touches nothing: the kernel looks at the
// privileges first (rtnetlink_rcv_msg).
func (s *session) mayConfigure() error {
	if s.kernel == nil {
		return s.why
	}
	if !s.asked {
		if err := s.kernel.setLink(0, unix.IFLA_MTU, 0); errors.Is(err, unix.EPERM) {
			s.refusal = err
		}
		s.asked = true
	}
	return s.refusal
}
