package iperf3

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// UserList is who may test, with the hashes of their passwords.
type UserList []user

type user struct {
	name     [sha256.Size]byte // of the name: all are of one length
	password [sha256.Size]byte // of "{name}password"
}

// ParseUserList reads iperf3's file of users: lines of "name,hash", the hash being
// the SHA-256 of "{name}password" in hexadecimal; empty lines, and comments
// behind #. iperf3 passes over what it cannot read; here that is an error.
func ParseUserList(text []byte) (UserList, error) {
	var users UserList
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, hash, ok := strings.Cut(line, ",")
		if !ok || name == "" {
			return nil, fmt.Errorf("read users: line %d: use name,hash", n)
		}
		password, err := hex.DecodeString(hash)
		if err != nil || len(password) != sha256.Size {
			return nil, fmt.Errorf("read users: line %d: the hash is not 64 hexadecimal digits", n)
		}
		users = append(users, user{sha256.Sum256([]byte(name)), [sha256.Size]byte(password)})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read users: %w", err)
	}
	if len(users) == 0 {
		return nil, errors.New("read users: there are none")
	}
	return users, nil
}

// allow compares with all users, whichever fits: how long that takes does
// not reveal whether a name is known.
func (u UserList) allow(name, password string) bool {
	n, p := sha256.Sum256([]byte(name)), sha256.Sum256([]byte("{"+name+"}"+password))
	ok := 0
	for i := range u {
		ok |= subtle.ConstantTimeCompare(u[i].name[:], n[:]) & subtle.ConstantTimeCompare(u[i].password[:], p[:])
	}
	return ok == 1
}
