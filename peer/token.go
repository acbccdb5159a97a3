package peer

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
)

// A token is one string a person can copy: "fb1-SECRET-PIN". SECRET is 256
// random bits; PIN is the first 160 bits of the SHA-256 of the far end's public
// key (its SPKI, as in RFC 7469), which leaves a second preimage as hard as
// guessing 160 bits.
const (
	tokenPrefix = "fb1"
	secretSize  = 32
	pinSize     = 20
)

// encoding is base32 in lower case without padding: no character that a shell,
// a URL or a double click would mind.
var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

type token struct {
	secret [secretSize]byte
	pin    [pinSize]byte
}

func (t token) String() string {
	return tokenPrefix + "-" + t.bearer() + "-" + encoding.EncodeToString(t.pin[:])
}

// bearer is the part that is sent, once the pin has been checked.
func (t token) bearer() string { return encoding.EncodeToString(t.secret[:]) }

// errMalformed does not quote the token: errors end up in logs.
var errMalformed = &failure{kind: ErrToken, says: "token is malformed: it has the form fb1-...-..., copy all of what `fullbore serve`, or `fullbore hub`, printed"}

func parseToken(s string) (token, error) {
	parts := strings.Split(strings.TrimSpace(s), "-")
	if len(parts) != 3 || parts[0] != tokenPrefix {
		return token{}, errMalformed
	}
	var t token
	if !decodeInto(t.secret[:], parts[1]) || !decodeInto(t.pin[:], parts[2]) {
		return token{}, errMalformed
	}
	return t, nil
}

// decodeInto fills dst, and accepts only its one spelling.
func decodeInto(dst []byte, s string) bool {
	decoded, err := encoding.DecodeString(s)
	return err == nil && len(decoded) == len(dst) && copy(dst, decoded) == len(dst) && encoding.EncodeToString(decoded) == s
}

// pinOf is the pin of a certificate.
func pinOf(certificate *x509.Certificate) (pin [pinSize]byte) {
	sum := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
	copy(pin[:], sum[:])
	return pin
}

// checkPin says whether the certificates a far end presented have the pin.
func (t token) checkPin(presented []*x509.Certificate) error {
	if len(presented) == 0 {
		return errors.New("far end presented no certificate")
	}
	pin := pinOf(presented[0])
	if subtle.ConstantTimeCompare(pin[:], t.pin[:]) != 1 {
		return fmt.Errorf("its key has the pin %s, the token names %s",
			encoding.EncodeToString(pin[:]), encoding.EncodeToString(t.pin[:]))
	}
	return nil
}

// tlsTo is how this end encrypts, with a check of who is at the other one, or none.
func tlsTo(check func(tls.ConnectionState) error) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, ServerName: CertificateName, VerifyConnection: check}
}

// tls is how this end encrypts to the one that the token is of, and nobody else.
func (t token) tls(target string) *tls.Config {
	return tlsTo(func(state tls.ConnectionState) error {
		if err := t.checkPin(state.PeerCertificates); err != nil {
			return &failure{kind: ErrWrongHost, says: fmt.Sprintf("%s is not the host that token is for, so the token was not sent", target), cause: err}
		}
		return nil
	})
}

// Pinned is what a token says to another protocol than the control API: how to encrypt to the
// target that it is of, and the secret to send then.
//
// Errors: [ErrToken]; the connection's [ErrWrongHost].
func Pinned(target, tokenString string) (config *tls.Config, secret string, err error) {
	t, err := parseToken(tokenString)
	if err != nil {
		return nil, "", err
	}
	return t.tls(target), t.bearer(), nil
}

// secretHash is what a running far end keeps of its secret.
type secretHash [sha256.Size]byte

func hashSecret(secret [secretSize]byte) secretHash { return sha256.Sum256(secret[:]) }

// accepts compares in constant time; the hash also hides how much of a guess
// was right.
func (h secretHash) accepts(bearer string) bool {
	var secret [secretSize]byte
	if !decodeInto(secret[:], bearer) {
		return false
	}
	got := hashSecret(secret)
	return subtle.ConstantTimeCompare(got[:], h[:]) == 1
}
