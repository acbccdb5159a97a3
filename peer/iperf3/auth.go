package iperf3

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Credentials let a client in at a server that asks for a user and a password.
// They travel encrypted with the server's key, within the parameters; what is
// measured, and the rest of the exchange, does not.
type Credentials struct {
	User, Password string
	Key            *rsa.PublicKey
	PKCS1          bool // pad as servers before 3.17 expect it (PKCS #1 v1.5), not by OAEP
}

// Token is what iperf3 calls authtoken. It is good for one login, within seconds
// of now.
func (c *Credentials) Token(now time.Time) (string, error) {
	for what, text := range map[string]string{"user name": c.User, "password": c.Password} {
		if text == "" || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == 0 }) {
			return "", fmt.Errorf("make login: the %s is empty or has white space in it: iperf3 could not read it", what)
		}
	}
	text := tokenText(c.User, c.Password, now)
	overhead := 2*sha1.Size + 2
	encrypt := func() ([]byte, error) { return rsa.EncryptOAEP(sha1.New(), rand.Reader, c.Key, text, nil) }
	if c.PKCS1 {
		overhead = 11
		encrypt = func() ([]byte, error) { return encryptPKCS1(c.Key, text) }
	}
	if room := c.Key.Size() - overhead; len(text) > room {
		return "", fmt.Errorf("make login: user name and password are %d bytes too long for a key of %d bits", len(text)-room, c.Key.N.BitLen())
	}
	secret, err := encrypt()
	if err != nil {
		return "", fmt.Errorf("make login: %w", err)
	}
	return base64.StdEncoding.EncodeToString(secret), nil
}

// token is [Credentials.Token] of this moment.
func (c *Credentials) token() (string, error) { return c.Token(time.Now()) }

// encryptPKCS1 pads as old servers need it. That the padding is weak is the
// reason why 3.17 left it.
func encryptPKCS1(key *rsa.PublicKey, text []byte) ([]byte, error) {
	return rsa.EncryptPKCS1v15(rand.Reader, key, text) //nolint:staticcheck // what a server before 3.17 decrypts
}

// The lines of a token: two blanks after pwd:, three after ts:.
const userLine, passwordLine, timeLine = "user: ", "pwd:  ", "ts:   "

func tokenText(user, password string, at time.Time) []byte {
	return fmt.Appendf(nil, "%s%s\n%s%s\n%s%d", userLine, user, passwordLine, password, timeLine, at.Unix())
}

// parseToken reads what tokenText wrote.
func parseToken(text []byte) (user, password string, at time.Time, err error) {
	bad := errors.New("not a login")
	lines := strings.Split(string(text), "\n")
	if len(lines) != 3 {
		return "", "", time.Time{}, bad
	}
	user, isUser := strings.CutPrefix(lines[0], userLine)
	password, isPassword := strings.CutPrefix(lines[1], passwordLine)
	number, isTime := strings.CutPrefix(lines[2], timeLine)
	seconds, err := strconv.ParseInt(number, 10, 64)
	if !isUser || !isPassword || !isTime || err != nil || user == "" || password == "" {
		return "", "", time.Time{}, bad
	}
	return user, password, time.Unix(seconds, 0), nil
}
