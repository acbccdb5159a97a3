package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/record"
)

// inLab runs this very command line on host a of a scenario, with `serve` on
// host b as the far end. The lab is no special case: nothing else differs from
// two real hosts.
func inLab(app *app, scenario string) error {
	return inLabWith(app, scenario, nil, func(b netip.Addr, _ *serveDocument) []string { return []string{b.String()} })
}

// inLabWith has serve on host b take more flags, and puts something else behind the command
// line than that host's address.
func inLabWith(app *app, scenario string, flags []string, behind func(b netip.Addr, serves *serveDocument) []string) error {
	s, err := lab.Load(scenario)
	if err != nil {
		return &hinted{err: err, code: exitUsage}
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if !isTerminal(app.stdout.Writer) {
		_, _ = fmt.Fprintln(app.stderr, "..", "lab", s.Name+":", s.About)
	} else {
		_, _ = fmt.Fprintln(app.stderr, s.Draw())
	}
	l, err := lab.Start(app.ctx, s, lab.Options{})
	if err != nil {
		return err
	}
	// Ctrl-C reaches the command on a, which puts both hosts back; only then may
	// the lab go.
	ctx, end := context.WithCancel(context.WithoutCancel(app.ctx))
	defer end()
	serves, err := serveOn(ctx, l.Host("b"), self, append([]string{"--allow-link-changes"}, flags...)...)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	place, relayed := relayRecord(app, s, l.Host("b").Address())
	defer relayed()

	command := l.Host("a").Command(ctx, self, append(withoutLab(app.args), behind(l.Host("b").Address(), serves)...)...)
	command.Env = append(os.Environ(), "FULLBORE_TOKEN="+serves.Token, record.Variable+"="+place)
	command.Stdin, command.Stdout, command.Stderr = app.stdin, app.stdout.Writer, app.stderr
	err = command.Start()
	if err == nil {
		err = waitInterrupted(app.ctx, command)
	}
	return endLab(app, l, err)
}

// endLab ends a lab whose command ended so, and says what its links did.
func endLab(app *app, l *lab.Lab, ended error) error {
	report, closed := l.Report(), l.Close() // first the end, as whoever reads stderr may be gone
	_, _ = fmt.Fprintln(app.stderr, "  ", report)
	if closed != nil {
		return closed
	}
	if failed, ok := errors.AsType[*lab.ExitError](ended); ok {
		return exitCode(failed.Code)
	}
	return ended
}

// relayRecord says where the command on a keeps its run: it reaches neither this
// user's files nor a server, so that this process does it for the command. The far end has
// the host's name also where the command only knows its address.
func relayRecord(app *app, s *lab.Scenario, far netip.Addr) (place string, end func()) {
	place, err := record.Place()
	if err == nil && place == record.Nowhere {
		return record.Nowhere, func() {}
	}
	var relay *record.Relay
	if err == nil {
		relay, err = record.NewRelay(place, func(h *record.Header) {
			h.Command, h.Scenario = withoutSecrets(app.args), s.Name
			for _, name := range []*string{&h.From, &h.To} {
				if *name == far.String() {
					*name = "b"
				}
			}
		}, nil)
	}
	if err != nil {
		_, _ = fmt.Fprintf(app.stderr, "fullbore: this run is not kept: %v\n", err)
		return record.Nowhere, func() {}
	}
	return relay.Place(), func() { _ = relay.Close() } // the command has heard what went wrong
}

// waitInterrupted waits for the command; when ctx ends, the command is asked to
// end too, and is still waited for.
func waitInterrupted(ctx context.Context, command *lab.Cmd) error {
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	_ = command.Signal(syscall.SIGINT) // it may just have ended by itself
	return <-ended
}

// serveWithin is how long a far end in the lab may take to listen: it only has
// to make a key.
const serveWithin = 10 * time.Second

// serveOn starts a far end, and gives what it says of itself.
func serveOn(ctx context.Context, h *lab.Host, self string, flags ...string) (*serveDocument, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the far end: %w", err)
	}
	defer reader.Close()
	command := h.Command(ctx, self, append([]string{"serve", "--json"}, flags...)...)
	command.Stdout, command.Stderr = writer, &lastLines{}
	err = command.Start()
	writer.Close()
	if err != nil {
		return nil, fmt.Errorf("start the far end: %w", err)
	}
	_ = reader.SetReadDeadline(time.Now().Add(serveWithin))
	line, err := bufio.NewReader(io.LimitReader(reader, 64<<10)).ReadBytes('\n')
	if err != nil {
		_ = command.Signal(syscall.SIGKILL) // it has mostly ended by itself
		_ = command.Wait()                  // for all that it said
		return nil, fmt.Errorf("start the far end: %w: %s", err, command.Stderr)
	}
	var listening serveDocument
	if err := json.Unmarshal(line, &listening); err != nil {
		return nil, fmt.Errorf("start the far end: %w", err)
	}
	return &listening, nil
}

// withoutLab gives the command line without its --lab flag.
func withoutLab(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--lab":
			i++
		case strings.HasPrefix(args[i], "--lab="):
		default:
			out = append(out, args[i])
		}
	}
	return out
}

// lastLines keeps the end of what a command said, for the error if it fails.
type lastLines struct {
	mu   sync.Mutex
	text []byte
}

func (l *lastLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	l.text = l.text[max(0, len(l.text)-4096):]
	return len(p), nil
}

func (l *lastLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(string(l.text))
}
