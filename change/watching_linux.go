package change

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// A watchdog holds a lock on one byte of the lock file as long as it lives: the
// byte at the place that the set's id is a number of. The kernel takes it away
// with the process, whatever that dies of. The locks on bytes and the one on the
// whole file (flock) know nothing of each other.

// watchPlace is that byte: the second in which the set was made, and its chance.
func watchPlace(id string) (int64, bool) {
	made := madeAt(id)
	if made.Unix() < 0 {
		return 0, false
	}
	chance, err := strconv.ParseInt(id[len(idTime)+1:], 16, 64)
	return made.Unix()<<24 | chance, err == nil
}

// holdWatch takes the lock of a watchdog; any number of them may have it.
func holdWatch(dir, id string) (release func()) {
	place, ok := watchPlace(id)
	file, err := os.Open(lockPath(dir))
	if err != nil || !ok {
		return func() {} // it watches all the same, but nobody knows
	}
	held := unix.Flock_t{Type: unix.F_RDLCK, Start: place, Len: 1}
	_ = unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, &held)
	return func() { file.Close() }
}

// watched reports whether a watchdog watches the set. Where that cannot be determined,
// as on kernels before 3.15, it is taken for granted.
func watched(dir, id string) bool {
	place, ok := watchPlace(id)
	file, err := os.Open(lockPath(dir))
	if err != nil || !ok {
		return true
	}
	defer file.Close()
	asked := unix.Flock_t{Type: unix.F_WRLCK, Start: place, Len: 1}
	err = unix.FcntlFlock(file.Fd(), unix.F_OFD_GETLK, &asked)
	return err != nil || asked.Type != unix.F_UNLCK
}

// mayWatch reports whether this process could revert a set.
func mayWatch(dir string) bool {
	file, err := os.OpenFile(lockPath(dir), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	file.Close()
	return true
}

func lockPath(dir string) string { return filepath.Join(dir, "lock") }
