package hub

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/fullbore/fullbore/printable"
)

// registry is the agents that have joined, by their public keys: a file with a line each, to which new
// ones are appended. Who is to be let in no more, its line is removed, and the hub started again.
type registry struct {
	mu    sync.Mutex
	known map[string]bool
	file  *os.File
}

// joinedFile has KEY, when it joined, and the name it had.
const joinedFile = "agents"

func openRegistry(dir string) (*registry, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep agents: %w", err)
	}
	path := filepath.Join(dir, joinedFile)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keep agents: %w", err)
	}
	r := &registry{known: map[string]bool{}, file: file}
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 {
			continue
		}
		// A line that was cut short when the machine went down was never confirmed to its agent, which joins again.
		if nkeys.IsValidPublicUserKey(fields[0]) {
			r.known[fields[0]] = true
		}
	}
	if err := lines.Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("read agents from %s: %w", path, err), file.Close())
	}
	return r, nil
}

func (r *registry) knows(public string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[public]
}

// add keeps an agent; when it returns, it is on the disk.
func (r *registry) add(public, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[public] {
		return nil
	}
	if len(r.known) >= mostAgents {
		return fmt.Errorf("%d agents have joined, the most there can be", mostAgents)
	}
	// A newline goes first, should the line before have been cut short.
	_, err := fmt.Fprintf(r.file, "\n%s %s %s", public, time.Now().UTC().Format(time.RFC3339), printable.Line(name))
	if err := errors.Join(err, r.file.Sync()); err != nil {
		return fmt.Errorf("keep the agent: %w", err)
	}
	r.known[public] = true
	return nil
}

func (r *registry) close() error { return r.file.Close() }
