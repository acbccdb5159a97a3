//go:build !windows

package statedir

import (
	"errors"
	"os"
	"syscall"
)

// syncDir has a folder's names on the disk. Some file systems know no such thing.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
