package peer

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fullbore/fullbore/statedir"
)

// Identity is what a far end is known by: its key, which a token pins, and the
// secret that a token carries.
type Identity struct {
	key         *ecdsa.PrivateKey
	authority   []byte // a certificate of the key for itself, which has signed the other
	certificate tls.Certificate
	token       token
}

// Token is the string that lets a client prove itself to this far end and this
// far end to the client.
func (i *Identity) Token() string { return i.token.String() }

// TLS is what a server of this identity encrypts with.
func (i *Identity) TLS() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{i.certificate}, MinVersion: tls.VersionTLS13}
}

// Accepts says whether a token is that of this identity, or the secret in it, in constant
// time.
func (i *Identity) Accepts(token string) bool {
	token = strings.TrimSpace(token)
	if told, err := parseToken(token); err == nil {
		token = told.bearer()
	}
	return hashSecret(i.token.secret).accepts(token)
}

// Derive is an identity of the same key with a token for some purpose: who has that cannot
// make this one's of it, and it holds as long as this one.
func (i *Identity) Derive(purpose string) *Identity {
	derived := *i
	derived.token.secret = i.derived(purpose)
	return &derived
}

func (i *Identity) derived(purpose string) [secretSize]byte {
	mac := hmac.New(sha256.New, i.token.secret[:])
	mac.Write([]byte(purpose)) // never fails
	return [secretSize]byte(mac.Sum(nil))
}

// DefaultDir is where a far end keeps its identity.
func DefaultDir() (string, error) { return statedir.For("peer") }

// NewIdentity makes one that lives as long as the process.
func NewIdentity() (*Identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	var secret [secretSize]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return nil, fmt.Errorf("make secret: %w", err)
	}
	return newIdentity(key, secret)
}

// OwnIdentity is the one kept in DefaultDir, so that the token outlives a restart, or a new one where it is
// for one run only. A host where nothing can be kept is still a far end.
func OwnIdentity(ephemeral bool, log *slog.Logger) (*Identity, error) {
	if ephemeral {
		return NewIdentity()
	}
	dir, err := DefaultDir()
	if err == nil {
		var kept *Identity
		if kept, err = LoadIdentity(dir); err == nil {
			return kept, nil
		}
	}
	log.Warn("the token holds for this run only", "err", err)
	return NewIdentity()
}

// LoadIdentity reads the identity kept in the directory, or makes one and keeps
// it there, so that a token outlives a restart. The file holds the secret
// itself, since serve prints the token at every start; only its owner may read
// it.
func LoadIdentity(dir string) (*Identity, error) {
	path := filepath.Join(dir, "identity.pem")
	found, err := readIdentity(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return found, err
	}
	fresh, err := NewIdentity()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep identity: %w", err)
	}
	err = fresh.write(path)
	if errors.Is(err, fs.ErrExist) { // another far end of this host was quicker
		return readIdentity(path)
	}
	if err != nil {
		return nil, fmt.Errorf("keep identity: %w", err)
	}
	return fresh, nil
}

// The PEM blocks of the file.
const (
	pemKey    = "PRIVATE KEY"
	pemSecret = "FULLBORE SECRET"
)

func readIdentity(path string) (*Identity, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read identity: %w", err)
	}
	if info.Size() > 16<<10 {
		return nil, fmt.Errorf("read identity: %s is %d bytes, which it cannot be: remove it to get a new token", path, info.Size())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read identity: %w", err)
	}
	keyBlock, rest := pem.Decode(text)
	secretBlock, _ := pem.Decode(rest)
	if keyBlock == nil || keyBlock.Type != pemKey || secretBlock == nil || secretBlock.Type != pemSecret || len(secretBlock.Bytes) != secretSize {
		return nil, fmt.Errorf("read identity: %s is damaged: remove it to get a new token", path)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read identity %s: %w: remove it to get a new token", path, err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("read identity: %s holds a key of another kind: remove it to get a new token", path)
	}
	return newIdentity(key, [secretSize]byte(secretBlock.Bytes))
}

// write creates the file only if there is none: it may be another far end's identity.
func (i *Identity) write(path string) error {
	der, err := x509.MarshalPKCS8PrivateKey(i.key)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, block := range []*pem.Block{{Type: pemKey, Bytes: der}, {Type: pemSecret, Bytes: i.token.secret[:]}} {
		if err := pem.Encode(&text, block); err != nil {
			return err
		}
	}
	return statedir.KeepFirst(path, text.Bytes())
}

// CertificateName is the name that the certificate of every far end is for: which one
// it is its key tells.
const CertificateName = "fullbore"

// newIdentity signs certificates for the key. Only the key is pinned, so they are made
// afresh at each start and never have to be renewed. The key is its own authority: a
// program that trusts that trusts the far end after a restart too.
func newIdentity(key *ecdsa.PrivateKey, secret [secretSize]byte) (*Identity, error) {
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "fullbore far end"},
		NotBefore:    time.Now().Add(-24 * time.Hour), // clocks differ
		NotAfter:     time.Now().AddDate(10, 0, 0),
		KeyUsage:     x509.KeyUsageCertSign,
		IsCA:         true, BasicConstraintsValid: true,
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: CertificateName},
		NotBefore:    authority.NotBefore,
		NotAfter:     authority.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{CertificateName},
	}
	var made [2][]byte
	for i, c := range []*x509.Certificate{authority, template} {
		var err error
		if made[i], err = x509.CreateCertificate(rand.Reader, c, authority, key.Public(), key); err != nil {
			return nil, fmt.Errorf("sign certificate: %w", err)
		}
	}
	leaf, err := x509.ParseCertificate(made[1])
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	return &Identity{
		key:         key,
		authority:   made[0],
		certificate: tls.Certificate{Certificate: made[1:], PrivateKey: key, Leaf: leaf},
		token:       token{secret: secret, pin: pinOf(leaf)},
	}, nil
}
