package iperf3

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// One test right after the other: the server's listening socket is gone for a
// moment between them.
func TestStockServerAgainAndAgain(t *testing.T) {
	t.Parallel()
	server := stockServer(t)
	spec := bulk.Spec{Direction: bulk.Forward, Streams: 2, Bytes: 1 << 20, NoDelay: true}
	if _, err := test(t.Context(), server.at("127.0.0.1"), Options{Spec: spec}, nil, patient); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := Test(t.Context(), server.at("127.0.0.1"), Options{Spec: spec}, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStockServerBusy(t *testing.T) {
	t.Parallel()
	server := stockServer(t)
	address := server.at("127.0.0.1")
	running, stop := context.WithCancel(t.Context())
	moves := make(chan struct{})
	var once sync.Once
	var first sync.WaitGroup
	first.Go(func() {
		spec := short(bulk.Forward)
		spec.Duration = 20 * time.Second
		_, _ = test(running, address, Options{Spec: spec}, func(bulk.Progress) { once.Do(func() { close(moves) }) }, patient)
	})
	<-moves
	_, err := test(t.Context(), address, Options{Spec: short(bulk.Forward)}, nil, hasty)
	if !errorsIsAny(err, ErrBusy, ErrNoAnswer) {
		t.Errorf("error %v, want that the server is busy", err)
	}
	stop()
	first.Wait()
	// A client that has left frees the server at once.
	if _, err := Test(t.Context(), address, Options{Spec: short(bulk.Forward)}, nil); err != nil {
		t.Error(err)
	}
}

func errorsIsAny(err error, kinds ...error) bool {
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}

// A server that is killed in the middle: what was measured is kept.
func TestStockServerKilled(t *testing.T) {
	t.Parallel()
	for _, direction := range directions {
		for name, signal := range map[string]os.Signal{"killed": os.Kill, "stopped": os.Interrupt} {
			t.Run(fmt.Sprintf("%s/%s", name, direction), func(t *testing.T) {
				server := stockServer(t)
				spec := short(direction)
				spec.Duration = time.Minute
				var at time.Time
				r, err := test(t.Context(), server.at("127.0.0.1"), Options{Spec: spec}, func(p bulk.Progress) {
					if at.IsZero() && p.Sent+p.Received > 1<<20 {
						at = time.Now()
						_ = server.command.Process.Signal(signal)
					}
				}, patient)
				if !errorsIsAny(err, ErrClosed, ErrServerTerminated) || !strings.Contains(err.Error(), "s after its start") {
					t.Errorf("error %v", err)
				}
				if name == "stopped" && !errors.Is(err, ErrServerTerminated) {
					t.Errorf("error %v does not say that the server was stopped", err)
				}
				if late := time.Since(at); late > 3*time.Second {
					t.Errorf("it took %v", late)
				}
				var bytes int64
				for _, s := range r.Result.Client.Streams {
					bytes += s.Bytes
				}
				if bytes < 1<<20 || r.Result.Client.Error == "" {
					t.Errorf("kept %d bytes and the error %q", bytes, r.Result.Client.Error)
				}
			})
		}
	}
}

func TestStockServerUnknownCongestion(t *testing.T) {
	t.Parallel()
	server := stockServer(t)
	o := Options{Spec: short(bulk.Forward)}
	o.Spec.Congest = "nosuch"
	if _, err := test(t.Context(), server.at("127.0.0.1"), o, nil, patient); err == nil || !strings.Contains(err.Error(), `set TCP_CONGESTION to "nosuch": this host has`) {
		t.Errorf("error %v", err)
	}
	// The server is free again.
	if _, err := Test(t.Context(), server.at("127.0.0.1"), Options{Spec: short(bulk.Forward)}, nil); err != nil {
		t.Error(err)
	}
}

func TestStockServerLogin(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	private := filepath.Join(folder, "private.pem")
	users := filepath.Join(folder, "users.csv")
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := os.WriteFile(private, block, 0o600); err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf("mario,%x\n", sha256.Sum256([]byte("{mario}rossi")))
	if err := os.WriteFile(users, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	server := stockServer(t, "--rsa-private-key-path", private, "--authorized-users-path", users)
	run := func(who *Credentials) error {
		_, err := test(t.Context(), server.at("127.0.0.1"), Options{Spec: short(bulk.Forward), Auth: who}, nil, patient)
		return err
	}
	if err := run(&Credentials{User: "mario", Password: "rossi", Key: &key.PublicKey, PKCS1: true}); err != nil {
		t.Error(err)
	}
	for want, who := range map[string]*Credentials{
		"wants a user name":         nil,
		"check user name, password": {User: "mario", Password: "bianchi", Key: &key.PublicKey, PKCS1: true},
		"servers use PKCS1 padding": {User: "mario", Password: "rossi", Key: &key.PublicKey},
	} {
		err := run(who)
		var said *RemoteError
		if !errors.As(err, &said) || said.Number != IEAuthTest || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
