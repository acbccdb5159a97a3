package iperf3

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// minKeyBits is the least that Go's crypto/rsa works with. iperf3's manual makes
// keys of 2048.
const minKeyBits = 1024

// ParsePublicKey reads a server's public key from PEM, as openssl rsa -pubout
// writes it.
func ParsePublicKey(text []byte) (*rsa.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("read RSA public key: not in PEM")
	}
	var key any
	var err error
	switch block.Type {
	case "PUBLIC KEY":
		key, err = x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		key, err = x509.ParsePKCS1PublicKey(block.Bytes)
	default:
		return nil, fmt.Errorf("read RSA public key: PEM has %.40q instead", block.Type)
	}
	if err != nil {
		return nil, fmt.Errorf("read RSA public key: %w", err)
	}
	public, ok := key.(*rsa.PublicKey)
	if !ok {
		return nil, errors.New("read RSA public key: it is of another kind")
	}
	if n := public.N.BitLen(); n < minKeyBits {
		return nil, fmt.Errorf("read RSA public key: %d bits are too few, at least %d are needed", n, minKeyBits)
	}
	return public, nil
}

// ParsePrivateKey reads a private key from PEM, in PKCS #1 or #8. It must not be
// encrypted: a server starts without anybody there to ask.
func ParsePrivateKey(text []byte) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(text)
	switch {
	case block == nil:
		return nil, errors.New("read RSA private key: not in PEM")
	case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "":
		return nil, errors.New("read RSA private key: it is encrypted; openssl rsa -in KEY -out PLAIN takes the passphrase off")
	}
	var key any
	var err error
	switch block.Type {
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	default:
		return nil, fmt.Errorf("read RSA private key: PEM has %.40q instead", block.Type)
	}
	if err != nil {
		return nil, fmt.Errorf("read RSA private key: %w", err)
	}
	private, ok := key.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New("read RSA private key: it is of another kind")
	}
	if n := private.N.BitLen(); n < minKeyBits {
		return nil, fmt.Errorf("read RSA private key: %d bits are too few, at least %d are needed", n, minKeyBits)
	}
	return private, nil
}
