package iperf3

import (
	"cmp"
	"context"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"
)

// DefaultSkew is how far the clocks of client and server may be apart: iperf3's.
const DefaultSkew = 10 * time.Second

const (
	// failTime is from the arrival of a token to the answer that it failed,
	// whatever the reason: timing does not reveal it. Nor can anybody guess,
	// or ask a million times whether a padding fits, as Bleichenbacher does: with
	// failing at most that many at once, it is some ten answers a second.
	failTime = time.Second
	failing  = 10
	// maxRemembered bounds the logins within the skew that could be replayed.
	maxRemembered = 10_000
)

// Users are those a server lets in, with the key that clients encrypt their
// logins for.
type Users struct {
	Key   *rsa.PrivateKey
	List  UserList
	Skew  time.Duration // 0: DefaultSkew
	PKCS1 bool          // take the padding of clients before 3.17 (PKCS #1 v1.5) besides OAEP

	once sync.Once
	line chan struct{} // of those being checked, or waiting to be told that they failed

	mu   sync.Mutex
	used map[[sha256.Size]byte]time.Time // tokens that were good, and until when they would be
}

// Authorise says who may test, from a client's token. An error gives the reason,
// for this end only: the client hears IEAuthTest, whatever it was, and no sooner
// than a second after the call. A token is valid once: while the server runs, someone
// who has seen it on the wire cannot use it again.
func (u *Users) Authorise(ctx context.Context, token string) (user string, err error) {
	u.once.Do(func() { u.line = make(chan struct{}, failing) })
	select {
	case u.line <- struct{}{}:
		defer func() { <-u.line }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	answer := time.NewTimer(failTime)
	defer answer.Stop()
	user, err = u.authorise(token, time.Now())
	if err == nil {
		return user, nil
	}
	select {
	case <-answer.C:
		return "", err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (u *Users) authorise(token string, now time.Time) (string, error) {
	secret, err := base64.StdEncoding.Strict().DecodeString(token)
	if err != nil || len(secret) != u.Key.Size() { // of another length, it could be a known one in disguise
		return "", errors.New("no token, or one for another key")
	}
	name, password, at, err := parseToken(u.decrypt(secret))
	allowed := u.List.allow(name, password) // even if there is no name: it takes its time
	skew := cmp.Or(u.Skew, DefaultSkew)
	now = time.Unix(now.Unix(), 0) // a token has whole seconds
	switch {
	case err != nil:
		return "", errors.New("the token is for another key, or padded otherwise (PKCS #1 v1.5 before iperf3 3.17, OAEP since)")
	case !allowed:
		return "", fmt.Errorf("user %.40q, or the password, is wrong", name)
	case at.Before(now.Add(-skew)) || at.After(now.Add(skew)):
		return "", fmt.Errorf("the clocks are %v apart: %v is allowed", now.Sub(at).Abs().Round(time.Second), skew)
	}
	return name, u.remember(sha256.Sum256(secret), at.Add(skew), now)
}

// decrypt gives nothing if the padding does not fit; it works as long as if it
// did.
func (u *Users) decrypt(secret []byte) []byte {
	text, err := rsa.DecryptOAEP(sha1.New(), nil, u.Key, secret, nil)
	if u.PKCS1 {
		old, oldErr := rsa.DecryptPKCS1v15(nil, u.Key, secret) //nolint:staticcheck // what a client before 3.17 sends
		if err != nil && oldErr == nil {
			return old
		}
	}
	if err != nil {
		return tokenText("-", "-", time.Time{})[1:] // no login
	}
	return text
}

// remember notes a token as used until it expires.
func (u *Users) remember(token [sha256.Size]byte, until, now time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for t, expiry := range u.used {
		if now.After(expiry) {
			delete(u.used, t)
		}
	}
	if _, used := u.used[token]; used {
		return errors.New("this token was used before: somebody may be replaying it")
	}
	if len(u.used) >= maxRemembered {
		return fmt.Errorf("more than %d logins within %v", maxRemembered, until.Sub(now).Round(time.Second))
	}
	if u.used == nil {
		u.used = make(map[[sha256.Size]byte]time.Time)
	}
	u.used[token] = until
	return nil
}
