// Package nfs measures a server of NFS as its clients use it: reads, writes and looks at a
// file, many at once, over one connection or several, by version 3 (RFC 1813), 4.1
// (RFC 8881) or 4.2 (RFC 7862).
package nfs

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fullbore/fullbore/hostport"
)

// Target is a file of a server.
type Target struct {
	Host      string
	Port      uint16 // of NFS
	MountPort uint16 // of version 3's MOUNT; 0: the server's portmapper knows
	Version   string // 3, 4.1 or 4.2; empty: 4.1, and 3 where the server does not have that
	Path      string // absolute, of the export and the file in it
	UID, GID  uint32 // who reads
}

// Versions are those of NFS that fullbore speaks.
var Versions = []string{"3", "4.1", "4.2"}

// UsualPort is that of NFS (RFC 8881, section 2.9.2, and IANA).
const UsualPort = 2049

// maxPath is how long a target's path may be: Linux's PATH_MAX.
const maxPath = 4096

// ParseTarget reads nfs://HOST[:PORT]/EXPORT/FILE[?version=V&mountport=N&uid=N&gid=N].
func ParseTarget(s string) (Target, error) {
	t, err := parse(s)
	if err != nil {
		return Target{}, fmt.Errorf("%q: %w", s, err)
	}
	return t, nil
}

func parse(s string) (Target, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return Target{}, fmt.Errorf("not an address of a file: %w", err)
	case u.Scheme != "nfs":
		return Target{}, fmt.Errorf("an address of a file begins with nfs://, such as nfs://server/export/file")
	case u.Host == "" || u.User != nil || u.Fragment != "" || u.Opaque != "":
		return Target{}, fmt.Errorf("not nfs://HOST/EXPORT/FILE")
	case len(u.Path) > maxPath:
		return Target{}, fmt.Errorf("the path has more than %d bytes", maxPath)
	}
	t := Target{Path: path.Clean("/" + u.Path), UID: uint32(max(0, os.Getuid())), GID: uint32(max(0, os.Getgid()))}
	if t.Path == "/" || strings.HasSuffix(u.Path, "/") {
		return Target{}, fmt.Errorf("no file is named: nfs://%s/EXPORT/FILE", u.Host)
	}
	if strings.ContainsRune(t.Path, 0) {
		return Target{}, fmt.Errorf("the path has a zero byte")
	}
	if t.Host, t.Port, err = hostport.Parse(u.Host, UsualPort); err != nil {
		return Target{}, err
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Target{}, fmt.Errorf("behind the question mark: %w", err)
	}
	for key, values := range query {
		if len(values) != 1 {
			return Target{}, fmt.Errorf("%s is given %d times", key, len(values))
		}
		if err := t.option(key, values[0]); err != nil {
			return Target{}, err
		}
	}
	return t, nil
}

func (t *Target) option(key, value string) (err error) {
	number := func(bits int) (n uint64) {
		if n, err = strconv.ParseUint(value, 10, bits); err != nil {
			err = fmt.Errorf("%s=%s is not a number below %d", key, value, uint64(1)<<bits)
		}
		return n
	}
	switch key {
	case "version":
		if t.Version = value; !slices.Contains(Versions, value) {
			err = fmt.Errorf("version=%s is none of %s", value, strings.Join(Versions, ", "))
		}
	case "mountport":
		if t.MountPort = uint16(number(16)); err == nil && t.MountPort == 0 {
			err = fmt.Errorf("mountport=0 is no port")
		}
	case "uid":
		t.UID = uint32(number(32))
	case "gid":
		t.GID = uint32(number(32))
	default:
		err = fmt.Errorf("%s is none of version, mountport, uid, gid", key)
	}
	return err
}
