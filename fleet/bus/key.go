package bus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/fullbore/fullbore/statedir"
)

// Key is what an agent is known by: nobody without it speaks under its subjects. Its public half is the
// agent's ID.
type Key struct {
	pair   nkeys.KeyPair
	public string
}

// NewKey makes one that lives as long as the process.
func NewKey() (*Key, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, fmt.Errorf("make the agent's key: %w", err)
	}
	return keyOf(pair)
}

func keyOf(pair nkeys.KeyPair) (*Key, error) {
	public, err := pair.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("make the agent's key: %w", err)
	}
	return &Key{pair, public}, nil
}

// LoadKey reads the key kept in a folder, or makes one and keeps it there. Only its owner may read it.
func LoadKey(dir string) (*Key, error) {
	path := filepath.Join(dir, "agent.nk")
	seed, err := os.ReadFile(path)
	switch {
	case err == nil:
		pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(seed))))
		if err != nil {
			return nil, fmt.Errorf("read the agent's key %s: %w: remove it, and the agent gets a new one with the token to join", path, err)
		}
		key, err := keyOf(pair)
		if err == nil && !nkeys.IsValidPublicUserKey(key.public) {
			err = fmt.Errorf("read the agent's key %s: it is of another kind", path)
		}
		return key, err
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read the agent's key: %w", err)
	}
	key, err := NewKey()
	if err != nil {
		return nil, err
	}
	if seed, err = key.pair.Seed(); err != nil {
		return nil, fmt.Errorf("make the agent's key: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep the agent's key: %w", err)
	}
	if err := statedir.KeepFirst(path, append(seed, '\n')); errors.Is(err, fs.ErrExist) { // another agent of this host was quicker
		return LoadKey(dir)
	} else if err != nil {
		return nil, fmt.Errorf("keep the agent's key: %w", err)
	}
	return key, nil
}

// ID is how the agent is named in subjects.
func (k *Key) ID() string { return k.public }

// login shows a server that the key is there.
func (k *Key) login() nats.Option { return nats.Nkey(k.public, k.pair.Sign) }
