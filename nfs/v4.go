package nfs

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"

	"github.com/fullbore/fullbore/nfs/rpc"
)

var (
	v4Null     = &rpc.Procedure{Program: 100_003, Version: 4, Number: 0, Name: "NULL"}
	v4Compound = &rpc.Procedure{Program: 100_003, Version: 4, Number: 1, Name: "COMPOUND"}
)

const (
	maxHandle4  = nfsv4.NFS4_FHSIZE
	sessionSize = nfsv4.NFS4_SESSIONID_SIZE
	stateSize   = 16 // stateid4; all zeros: the anonymous one, for reads without OPEN (RFC 8881, section 8.2.3)
	maxTag      = 64 // bytes of a server's tag

	// overhead is how much of a request or an answer is not data: what a session is asked
	// to have room for.
	overhead = 4 << 10
	// maxOperations is how many operations are in one compound of ours.
	maxOperations = 16
)

// v4 speaks of a file in version 4.1 or 4.2, in a session. What it asks for is the same in both
// (RFC 7862 adds operations, and changes none).
type v4 struct {
	minor   uint32 // version
	client  uint64
	session [sessionSize]byte
	file    []byte
	numbers []uint32     // of the next request, by slot
	highest atomic.Int32 // slot that the server wants to be used
	slots   int
}

// open4 makes a session with as many slots as wanted, or as the server grants, and finds
// the file.
func open4(ctx context.Context, d *dialer, c *rpc.Conn, slots int, minor uint32) (_ *v4, _ *Grant, err error) {
	s := &v4{minor: minor}
	next, err := s.exchange(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			_ = s.leave(context.WithoutCancel(ctx), d, c)
		}
	}()
	attributes, err := s.create(ctx, c, next, slots)
	if err != nil {
		return nil, nil, err
	}
	// A server holds back until a client says that it has nothing to reclaim (section 18.51).
	if _, err := s.compound(ctx, c, &nfsv4.NfsArgop4_OP_RECLAIM_COMPLETE{}); err != nil && !is(err, "COMPLETE_ALREADY") {
		return nil, nil, err
	}
	grant, err := s.find(ctx, c, d.target.Path)
	if err != nil {
		return nil, nil, err
	}
	grant.Version, grant.Slots = fmt.Sprintf("4.%d", minor), s.slots
	grant.MaxRead = min(grant.MaxRead, size(attributes.CaMaxresponsesize-overhead))
	grant.MaxWrite = min(grant.MaxWrite, size(attributes.CaMaxrequestsize-overhead))
	return s, grant, nil
}

// exchange tells the server who this client is: another one each time, so that it
// reclaims nothing.
func (s *v4) exchange(ctx context.Context, c *rpc.Conn) (sequence uint32, err error) {
	var who [8]byte
	if _, err := crand.Read(who[:]); err != nil {
		return 0, err
	}
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	result, err := s.send(ctx, c, &nfsv4.NfsArgop4_OP_EXCHANGE_ID{OpexchangeId: nfsv4.ExchangeId4args{
		EiaClientowner:  nfsv4.ClientOwner4{CoVerifier: who, CoOwnerid: fmt.Appendf(nil, "fullbore %s %d %x", name, os.Getpid(), who)},
		EiaFlags:        nfsv4.EXCHGID4_FLAG_USE_NON_PNFS,
		EiaStateProtect: &nfsv4.StateProtect4A_SP4_NONE{},
	}})
	if err != nil {
		return 0, err
	}
	made, ok := result[0].(*nfsv4.NfsResop4_OP_EXCHANGE_ID)
	if !ok {
		return 0, errOtherResult
	}
	got, ok := made.OpexchangeId.(*nfsv4.ExchangeId4res_NFS4_OK)
	if !ok {
		return 0, errOtherResult
	}
	s.client = got.EirResok4.EirClientid
	return got.EirResok4.EirSequenceid, nil
}

// create makes the session, and gives what its requests may be like.
func (s *v4) create(ctx context.Context, c *rpc.Conn, sequence uint32, slots int) (*nfsv4.ChannelAttrs4, error) {
	result, err := s.send(ctx, c, &nfsv4.NfsArgop4_OP_CREATE_SESSION{OpcreateSession: nfsv4.CreateSession4args{
		CsaClientid: s.client, CsaSequence: sequence,
		CsaForeChanAttrs: nfsv4.ChannelAttrs4{
			CaMaxrequestsize: maxSize + overhead, CaMaxresponsesize: maxSize + overhead, CaMaxresponsesizeCached: overhead,
			CaMaxoperations: maxOperations, CaMaxrequests: uint32(slots),
		},
		CsaBackChanAttrs: nfsv4.ChannelAttrs4{CaMaxrequestsize: overhead, CaMaxresponsesize: overhead, CaMaxoperations: 2, CaMaxrequests: 1},
		CsaCbProgram:     1 << 30, // the first of those that nobody registers (RFC 5531, section 8.3)
		CsaSecParms:      []nfsv4.CallbackSecParms4{&nfsv4.CallbackSecParms4_AUTH_NONE{}},
	}})
	if err != nil {
		return nil, err
	}
	made, ok := result[0].(*nfsv4.NfsResop4_OP_CREATE_SESSION)
	if !ok {
		return nil, errOtherResult
	}
	got, ok := made.OpcreateSession.(*nfsv4.CreateSession4res_NFS4_OK)
	if !ok {
		return nil, errOtherResult
	}
	granted := &got.CsrResok4.CsrForeChanAttrs
	if granted.CaMaxrequests == 0 || granted.CaMaxresponsesize <= overhead || granted.CaMaxrequestsize <= overhead {
		return nil, fmt.Errorf("CREATE_SESSION: the server grants %d slots, answers of %d bytes, requests of %d", granted.CaMaxrequests, granted.CaMaxresponsesize, granted.CaMaxrequestsize)
	}
	s.session = got.CsrResok4.CsrSessionid
	s.slots = min(slots, int(granted.CaMaxrequests))
	s.highest.Store(int32(s.slots - 1))
	s.numbers = make([]uint32, s.slots)
	for i := range s.numbers {
		s.numbers[i] = 1
	}
	return granted, nil
}

// find looks the file up, and what can be asked of it.
func (s *v4) find(ctx context.Context, c *rpc.Conn, path string) (*Grant, error) {
	if err := s.lookup(ctx, c, strings.Split(strings.TrimPrefix(path, "/"), "/")); err != nil {
		return nil, err
	}
	result, err := s.compound(ctx, c,
		&nfsv4.NfsArgop4_OP_PUTFH{Opputfh: nfsv4.Putfh4args{Object: s.file}},
		&nfsv4.NfsArgop4_OP_GETATTR{Opgetattr: nfsv4.Getattr4args{AttrRequest: []uint32{
			1<<nfsv4.FATTR4_TYPE | 1<<nfsv4.FATTR4_SIZE | 1<<nfsv4.FATTR4_MAXREAD | 1<<nfsv4.FATTR4_MAXWRITE,
		}}})
	if err != nil {
		return nil, err
	}
	looked, ok := result[2].(*nfsv4.NfsResop4_OP_GETATTR)
	if !ok {
		return nil, errOtherResult
	}
	got, ok := looked.Opgetattr.(*nfsv4.Getattr4res_NFS4_OK)
	if !ok {
		return nil, errOtherResult
	}
	return granted4(&got.Resok4.ObjAttributes)
}

// granted4 reads the four attributes. They come by number; a server leaves out what it
// does not have.
func granted4(f *nfsv4.Fattr4) (*Grant, error) {
	if len(f.Attrmask) == 0 {
		return nil, errors.New("GETATTR: no attributes came")
	}
	grant := &Grant{MaxRead: 1 << 20, MaxWrite: 1 << 20}
	values, mask := f.AttrVals, f.Attrmask[0]
	number := func(attribute, size int) (v uint64) {
		if mask&(1<<attribute) == 0 || len(values) < size {
			return 0
		}
		for _, b := range values[:size] {
			v = v<<8 | uint64(b)
		}
		values = values[size:]
		return v
	}
	if kind := number(nfsv4.FATTR4_TYPE, 4); kind == uint64(nfsv4.NF4DIR) {
		return nil, &Status{"GETATTR", uint32(nfsv4.NFS4ERR_ISDIR), "ISDIR"}
	}
	grant.Size = int64(number(nfsv4.FATTR4_SIZE, 8) & (1<<63 - 1))
	if v := number(nfsv4.FATTR4_MAXREAD, 8); v > 0 {
		grant.MaxRead = int(min(v, maxSize))
	}
	if v := number(nfsv4.FATTR4_MAXWRITE, 8); v > 0 {
		grant.MaxWrite = int(min(v, maxSize))
	}
	return grant, nil
}

// lookup goes down the path from the server's root, one folder a compound: it may be deep.
func (s *v4) lookup(ctx context.Context, c *rpc.Conn, names []string) error {
	var from nfsv4.NfsArgop4 = &nfsv4.NfsArgop4_OP_PUTROOTFH{}
	for _, name := range names {
		result, err := s.compound(ctx, c, from, &nfsv4.NfsArgop4_OP_LOOKUP{Oplookup: nfsv4.Lookup4args{Objname: name}}, &nfsv4.NfsArgop4_OP_GETFH{})
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		looked, ok := result[3].(*nfsv4.NfsResop4_OP_GETFH)
		if !ok {
			return errOtherResult
		}
		got, ok := looked.Opgetfh.(*nfsv4.Getfh4res_NFS4_OK)
		if !ok {
			return errOtherResult
		}
		if s.file = got.Resok4.Object; len(s.file) == 0 || len(s.file) > maxHandle4 {
			return fmt.Errorf("%q: a handle of %d bytes", name, len(s.file))
		}
		from = &nfsv4.NfsArgop4_OP_PUTFH{Opputfh: nfsv4.Putfh4args{Object: s.file}}
	}
	return nil
}

// join makes a connection one of the session (section 2.10.3.1).
func (s *v4) join(ctx context.Context, c *rpc.Conn) error {
	_, err := s.send(ctx, c, &nfsv4.NfsArgop4_OP_BIND_CONN_TO_SESSION{OpbindConnToSession: nfsv4.BindConnToSession4args{
		BctsaSessid: s.session, BctsaDir: nfsv4.CDFC4_FORE,
	}})
	return err
}

// leave ends what the server keeps for this client; else it would for a lease's time.
func (s *v4) leave(ctx context.Context, _ *dialer, c *rpc.Conn) error {
	var ended error
	if s.slots > 0 {
		_, ended = s.send(ctx, c, &nfsv4.NfsArgop4_OP_DESTROY_SESSION{OpdestroySession: nfsv4.DestroySession4args{DsaSessionid: s.session}})
	}
	_, err := s.send(ctx, c, &nfsv4.NfsArgop4_OP_DESTROY_CLIENTID{OpdestroyClientid: nfsv4.DestroyClientid4args{DcaClientid: s.client}})
	return errors.Join(ended, err)
}

// errOtherResult says that a server answered another operation than it was asked for.
var errOtherResult = errors.New("the server answered another operation than it was asked for")

// compound runs operations in the session, in its first slot. The result of SEQUENCE
// comes first.
func (s *v4) compound(ctx context.Context, c *rpc.Conn, ops ...nfsv4.NfsArgop4) ([]nfsv4.NfsResop4, error) {
	for {
		all := append([]nfsv4.NfsArgop4{&nfsv4.NfsArgop4_OP_SEQUENCE{Opsequence: nfsv4.Sequence4args{SaSessionid: s.session, SaSequenceid: s.numbers[0]}}}, ops...)
		result, err := s.send(ctx, c, all...)
		if len(result) > 0 {
			if q, ok := result[0].(*nfsv4.NfsResop4_OP_SEQUENCE); ok && q.Opsequence.GetSrStatus() == nfsv4.NFS4_OK {
				s.numbers[0]++
			}
		}
		if !is(err, "DELAY") {
			return result, err
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// send runs operations as they are. After one that failed there are no others; with its error come
// those before it.
func (s *v4) send(ctx context.Context, c *rpc.Conn, ops ...nfsv4.NfsArgop4) (done []nfsv4.NfsResop4, err error) {
	err = c.Call(ctx, v4Compound, func(w *rpc.Writer) {
		_, _ = (&nfsv4.Compound4args{Minorversion: s.minor, Argarray: ops}).WriteTo(w) // a Writer takes all
	}, func(r *rpc.Reader) error {
		var result nfsv4.Compound4res
		if _, err := result.ReadFrom(r); err != nil {
			return err
		}
		done = result.Resarray
		if result.Status != nfsv4.NFS4_OK {
			name := "COMPOUND"
			if n := len(done); n > 0 && n <= len(ops) {
				name = opName(uint32(ops[n-1].GetArgop()))
			}
			return status4(name, result.Status)
		}
		if len(done) != len(ops) {
			return fmt.Errorf("the server answered %d operations of %d", len(done), len(ops))
		}
		return nil
	})
	return done, err
}

func opName(op uint32) string {
	return strings.TrimPrefix(nfsv4.NfsOpnum4_name[nfsv4.NfsOpnum4(op)], "OP_")
}

func status4(op string, code nfsv4.Nfsstat4) error {
	return &Status{op, uint32(code), strings.TrimPrefix(nfsv4.Nfsstat4_name[code], "NFS4ERR_")}
}

func (s *v4) call(w *rpc.Writer, slot int, q Request, data []byte) *rpc.Procedure {
	if q.Op == Null {
		w.Begin(v4Null)
		return v4Null
	}
	w.Begin(v4Compound)
	w.Uint32(0) // no tag
	w.Uint32(s.minor)
	w.Uint32(3)
	w.Uint32(uint32(nfsv4.OP_SEQUENCE))
	w.Fixed(s.session[:])
	w.Uint32(s.numbers[slot])
	w.Uint32(uint32(slot))
	w.Uint32(uint32(s.slots - 1))
	w.Bool(false) // to be kept for a repetition
	w.Uint32(uint32(nfsv4.OP_PUTFH))
	w.Opaque(s.file)
	var anonymous [stateSize]byte
	switch q.Op {
	case GetAttr:
		w.Uint32(uint32(nfsv4.OP_GETATTR))
		w.Uint32(1)
		w.Uint32(1 << nfsv4.FATTR4_SIZE)
	case Read:
		w.Uint32(uint32(nfsv4.OP_READ))
		w.Fixed(anonymous[:])
		w.Uint64(uint64(q.Offset))
		w.Uint32(uint32(q.Size))
	case Write:
		w.Uint32(uint32(nfsv4.OP_WRITE))
		w.Fixed(anonymous[:])
		w.Uint64(uint64(q.Offset))
		w.Uint32(unstable)
		w.Opaque(data)
	case Commit:
		w.Uint32(uint32(nfsv4.OP_COMMIT))
		w.Uint64(uint64(q.Offset))
		w.Uint32(uint32(q.Size))
	}
	return v4Compound
}

// sequenceWords is what follows a good SEQUENCE: the session, and five numbers.
const sequenceWords = 5

func (s *v4) answer(r *rpc.Reader, slot int, q Request, take func([]byte)) (o outcome, err error) {
	if q.Op == Null {
		return o, nil
	}
	r.Uint32() // the last operation's status, which comes again
	r.Opaque(maxTag)
	for left := r.Uint32(); left > 0 && r.Err() == nil; left-- {
		op, code := r.Uint32(), nfsv4.Nfsstat4(r.Uint32())
		switch {
		case r.Err() != nil:
			return o, r.Err()
		case code == nfsv4.NFS4ERR_DELAY:
			return outcome{again: askAgain}, nil
		case code != nfsv4.NFS4_OK:
			return o, status4(opName(op), code)
		}
		switch nfsv4.NfsOpnum4(op) {
		case nfsv4.OP_SEQUENCE:
			if err := s.sequenced(r, slot); err != nil {
				return o, err
			}
		case nfsv4.OP_PUTFH:
		case nfsv4.OP_GETATTR:
			for words := r.Uint32(); words > 0 && r.Err() == nil; words-- {
				r.Uint32()
			}
			r.Opaque(overhead)
		case nfsv4.OP_READ:
			r.Bool() // end of file
			o.size = r.Payload(q.Size, take)
		case nfsv4.OP_WRITE:
			o.size = int(min(r.Uint32(), uint32(q.Size)))
			r.Uint32() // how it was written
			r.Skip(writeVerSize)
		case nfsv4.OP_COMMIT:
			r.Skip(writeVerSize)
		default:
			return o, errOtherResult
		}
	}
	return o, r.Err()
}

// sequenced reads what follows a good SEQUENCE. The slot has had its request.
func (s *v4) sequenced(r *rpc.Reader, slot int) error {
	b := r.Fixed(sessionSize + 4*sequenceWords)
	if b == nil {
		return r.Err()
	}
	words := b[sessionSize:]
	if got := binary.BigEndian.Uint32(words[4:]); got != uint32(slot) {
		return fmt.Errorf("SEQUENCE: the answer is for slot %d, the request was in %d", got, slot)
	}
	s.numbers[slot]++
	s.highest.Store(int32(min(binary.BigEndian.Uint32(words[12:]), uint32(s.slots-1))))
	return nil
}

// wanted says whether the server wants a slot to be used, as it told last.
func (s *v4) wanted(slot int) bool { return slot <= int(s.highest.Load()) }
