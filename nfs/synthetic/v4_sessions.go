package synthetic

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"
)

// sessions are the clients of version 4.1 and their sessions (RFC 8881, section 2.10).
type sessions struct {
	mu      sync.Mutex
	clients map[uint64]*client
	owners  map[string]*client
	byID    map[[16]byte]*session
	last    uint64 // number given
	slots   int    // that a session is granted at most
}

// client is one that said who it is.
type client struct {
	id       uint64
	owner    string
	verifier [8]byte
	sequence uint32 // that its next CREATE_SESSION has
	sessions map[[16]byte]*session
	heard    atomic.Int64 // Unix seconds, of its last request
}

// session is one of a client, with its slots.
type session struct {
	id     [16]byte
	client *client
	slots  []slot
}

// slot has one request at a time; mu is held while it is answered.
type slot struct {
	mu       sync.Mutex
	sequence uint32
	kept     []byte // the last answer, where the client asked for that
}

const (
	maxClients  = 1000
	maxSessions = 16 // of a client
	// maxKept is how large an answer is that is kept for a repetition, in bytes.
	maxKept = 4 << 10
)

func newSessions(slots int) *sessions {
	return &sessions{clients: map[uint64]*client{}, owners: map[string]*client{}, byID: map[[16]byte]*session{}, slots: slots}
}

// exchange makes a client known, or finds it; one that has started anew replaces itself.
func (s *sessions) exchange(a *nfsv4.ExchangeId4args) (*client, nfsv4.Nfsstat4) {
	s.mu.Lock()
	defer s.mu.Unlock()
	owner := string(a.EiaClientowner.CoOwnerid)
	if c := s.owners[owner]; c != nil {
		if c.verifier == a.EiaClientowner.CoVerifier {
			return c, nfsv4.NFS4_OK
		}
		s.forget(c)
	}
	if len(s.clients) >= maxClients {
		s.expire()
	}
	if len(s.clients) >= maxClients {
		return nil, nfsv4.NFS4ERR_DELAY
	}
	s.last++
	c := &client{id: s.last, owner: owner, verifier: a.EiaClientowner.CoVerifier, sequence: 1, sessions: map[[16]byte]*session{}}
	c.hear()
	s.clients[c.id], s.owners[owner] = c, c
	return c, nfsv4.NFS4_OK
}

// create makes a session.
func (s *sessions) create(a *nfsv4.CreateSession4args) (*session, nfsv4.Nfsstat4) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clients[a.CsaClientid]
	switch {
	case c == nil:
		return nil, nfsv4.NFS4ERR_STALE_CLIENTID
	case a.CsaSequence != c.sequence:
		return nil, nfsv4.NFS4ERR_SEQ_MISORDERED
	case len(c.sessions) >= maxSessions:
		return nil, nfsv4.NFS4ERR_RESOURCE
	}
	c.sequence++
	s.last++
	made := &session{client: c, slots: make([]slot, max(1, min(s.slots, int(min(a.CsaForeChanAttrs.CaMaxrequests, MaxSlots)))))}
	binary.BigEndian.PutUint64(made.id[:], c.id)
	binary.BigEndian.PutUint64(made.id[8:], s.last)
	c.sessions[made.id], s.byID[made.id] = made, made
	return made, nfsv4.NFS4_OK
}

// MaxSlots is how many a session can have: Linux's server's most (6.14 and later).
const MaxSlots = 2048

func (s *sessions) find(id [16]byte) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

func (s *sessions) destroy(id [16]byte) nfsv4.Nfsstat4 {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.byID[id]
	if old == nil {
		return nfsv4.NFS4ERR_BADSESSION
	}
	delete(s.byID, id)
	delete(old.client.sessions, id)
	return nfsv4.NFS4_OK
}

func (s *sessions) destroyClient(id uint64) nfsv4.Nfsstat4 {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clients[id]
	switch {
	case c == nil:
		return nfsv4.NFS4ERR_STALE_CLIENTID
	case len(c.sessions) > 0:
		return nfsv4.NFS4ERR_CLIENTID_BUSY
	}
	s.forget(c)
	return nfsv4.NFS4_OK
}

func (c *client) hear() { c.heard.Store(time.Now().Unix()) }

// expire forgets the clients whose lease has run out.
func (s *sessions) expire() {
	for _, c := range s.clients {
		if time.Now().Unix()-c.heard.Load() > leaseTime {
			s.forget(c)
		}
	}
}

func (s *sessions) forget(c *client) {
	delete(s.clients, c.id)
	delete(s.owners, c.owner)
	for id := range c.sessions {
		delete(s.byID, id)
	}
}
