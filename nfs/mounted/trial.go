package mounted

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/unit"
)

// Trial is one more mount of what a place's mount shows, with connections and read-ahead of
// its own. Nobody else sees it, as it stands in no namespace, and it is gone when it is closed
// or this process ends. The place's own mount is left alone.
type Trial struct {
	place       *Place
	tree        *os.File // its root
	connections int
	others      map[netip.AddrPort]bool // this host's ends of the connections to the server that there were before; nil: the kernel does not report them
}

// ErrShared says that a trial would share the connections of a mount that is in use.
var ErrShared = errors.New("the kernel would let a trial share the connections of a mount that is in use")

// Try mounts the file's export once more, over so many connections. ReadAhead is the trial's;
// nil: what the kernel gives new mounts. It needs root, and a kernel that makes mounts of NFS by fsopen(2).
func (p *Place) Try(ctx context.Context, connections int, readAhead *unit.Size) (t *Trial, err error) {
	version, err := p.apart()
	if err != nil {
		return nil, err
	}
	t = &Trial{place: p, connections: connections}
	if t.others, err = p.settled(ctx); err != nil {
		return nil, err
	}
	if t.tree, err = patiently(ctx, func() (*os.File, error) { return mountApart(p.settings(version, connections)) }); err != nil {
		return nil, fmt.Errorf("mount %s once more, as a trial: %w", p.Device, err)
	}
	if readAhead != nil {
		if err := t.readAhead(*readAhead); err != nil {
			return nil, errors.Join(fmt.Errorf("set the read-ahead of a trial: %w", err), t.Close())
		}
	}
	return t, nil
}

// Close unmounts the trial.
func (t *Trial) Close() error {
	_, err := patiently(context.Background(), func() (*os.File, error) { return nil, t.tree.Close() })
	return err
}

// patiently waits for a call of the kernel's that a server which has died would keep for ever, also
// of a mount that is soft. It goes on beside until this process ends.
func patiently(ctx context.Context, call func() (*os.File, error)) (*os.File, error) {
	type answer struct {
		file *os.File
		err  error
	}
	came := make(chan answer, 1)
	go func() {
		file, err := call()
		came <- answer{file, err}
	}()
	var err error
	select {
	case a := <-came:
		return a.file, a.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-time.After(within):
		err = fmt.Errorf("the server did not answer within %v", within)
	}
	go func() {
		if a := <-came; a.file != nil {
			_ = a.file.Close()
		}
	}()
	return nil, err
}

// apart is the version of NFS with which a trial has connections of its own: all of a host's
// mounts of a server with the same minor version share them (nfs_match_client, fs/nfs/client.c).
func (p *Place) apart() (string, error) {
	version := map[string]string{"4.1": "4.2", "4.2": "4.1"}[p.Version]
	if version == "" {
		return "", fmt.Errorf("%w: %s is mounted with version %s, and only 4.1 and 4.2 can be told apart", ErrShared, p.Point, p.Version)
	}
	mounts, err := mountInfo()
	if err != nil {
		return "", err
	}
	for _, m := range mounts {
		if m.SuperOptions["vers"] == version && m.SuperOptions["addr"] == p.Server.Addr().String() {
			return "", fmt.Errorf("%w: %s is mounted with version %s, and %s with %s", ErrShared, p.Point, p.Version, m.MountPoint, version)
		}
	}
	return version, nil
}

// setting is an option of a mount; without a value it is a flag.
type setting struct{ name, value string }

// asMounted are the options that a trial has as the place's mount has them.
var asMounted = []string{"rsize", "wsize", "sec", "proto", "clientaddr"}

// settings of a trial. It is soft, so that the kernel gives up on most of what a server does not answer
// (nfs(5); timeo is in tenths of a second), and this program on the rest ([patiently]); and has a cache
// of its own.
func (p *Place) settings(version string, connections int) []setting {
	s := []setting{
		{"source", p.Device}, {"vers", version}, {"addr", p.Server.Addr().String()}, {"nconnect", strconv.Itoa(connections)},
		{"soft", ""}, {"timeo", "50"}, {"retrans", "2"}, {"nosharecache", ""}, {"ro", ""},
	}
	if port := p.Server.Port(); port != nfs.UsualPort {
		s = append(s, setting{"port", strconv.Itoa(int(port))})
	}
	for _, name := range asMounted {
		if value := p.Options[name]; value != "" {
			s = append(s, setting{name, value})
		}
	}
	if _, ok := p.Options["noresvport"]; ok {
		s = append(s, setting{"noresvport", ""})
	}
	return s
}

// settleWithin is how long the connections of the last trial may take to go.
const settleWithin = 3 * time.Second

// settled waits until no more connections to the server are left than before the first trial, and
// gives those.
func (p *Place) settled(ctx context.Context) (map[netip.AddrPort]bool, error) {
	for began := time.Now(); ; {
		sockets, err := flow.Sockets(ctx, p.Server)
		if err != nil {
			return nil, ctx.Err() // a kernel without inet_diag can mount all the same
		}
		n := len(sockets)
		if p.others == nil {
			p.others = &n
		}
		if n <= *p.others || time.Since(began) > settleWithin {
			others := map[netip.AddrPort]bool{}
			for _, s := range sockets {
				others[s.Local] = true
			}
			return others, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Reads is what programs that read through a trial came to.
type Reads struct {
	Bytes   int64
	Elapsed time.Duration
	Latency *nfs.Latency // of each read of a program, in µs
}

// Read has programs read the file as the load says, and counts what they get once omit is over.
func (t *Trial) Read(ctx context.Context, load Load, readers int, omit, measured time.Duration) (*Reads, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var counting atomic.Bool
	var reading sync.WaitGroup
	failed := make(chan error, readers)
	all := make([]Reads, readers)
	for i := range readers {
		own := &all[i]
		own.Latency = nfs.NewLatency()
		reading.Go(func() {
			r := &reader{load: load, size: t.place.Size, place: int64(i) * (t.place.Size / int64(readers)), open: t.open, read: func(n int, took time.Duration) {
				if counting.Load() {
					own.Bytes += int64(n)
					_ = own.Latency.RecordValue(took.Microseconds()) // beyond its end it is the longest
				}
			}}
			failed <- r.run(ctx)
		})
	}
	wait := func(d time.Duration) error {
		select {
		case err := <-failed:
			return cmp.Or(err, errors.New("a reader ended by itself"))
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(d):
			return nil
		}
	}
	err := wait(omit)
	began := time.Now()
	counting.Store(true)
	if err == nil {
		err = wait(measured)
	}
	counting.Store(false)
	took := time.Since(began)
	if err == nil {
		err = t.alone(ctx)
	}
	stop()
	if err = cmp.Or(err, ended(&reading, failed)); err != nil {
		return nil, err
	}
	sum := &Reads{Elapsed: took, Latency: nfs.NewLatency()}
	for i := range all {
		sum.Bytes += all[i].Bytes
		sum.Latency.Merge(all[i].Latency)
	}
	return sum, nil
}

// alone says, as an error, that the trial has not the connections that it was to have.
func (t *Trial) alone(ctx context.Context) error {
	sockets, err := flow.Sockets(ctx, t.place.Server)
	if err != nil || t.others == nil {
		return ctx.Err() // they are not reported here
	}
	own := 0
	for _, s := range sockets {
		if !t.others[s.Local] {
			own++
		}
	}
	switch {
	case own < 1:
		return ErrShared
	case own < t.connections:
		return fmt.Errorf("of %s the kernel opened %d", unit.Count(t.connections, "connection"), own)
	}
	return nil
}

func (t *Trial) open(direct bool) (*os.File, error) { return openIn(t.tree, t.place.below(), direct) }
