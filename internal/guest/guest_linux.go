package guest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// within is the time that a guest has for a test: some minutes of a slow machine.
const within = 15 * time.Minute

// ended is the last line of a guest's test, with its exit status.
var ended = regexp.MustCompile(`(?m)^guest: the test ended with ([0-9]+)\r?$`)

// Run runs the test once more in a guest, and reports whether this is the process there:
// it is root, its working directory is empty, /tmp is in memory, and the only network device
// that is up is lo. Outside, the test passes as the one in the guest does; it skips itself
// unless the environment asks for such tests ([Asked]).
func Run(t *testing.T, m Machine) bool {
	t.Helper()
	if Inside() {
		return true
	}
	if os.Getenv(Asked) == "" {
		t.Skipf("takes a machine of its own: make guest, or %s=1", Asked)
	}
	root := installed(t)
	kernel := only(t, filepath.Join(root, "boot", "vmlinuz-*"))
	image, err := build(t.Context(), root, t.TempDir(), m, initScript(t.Name()))
	if err != nil {
		t.Fatal("make a guest's files: ", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	// la57=off and tsc=reliable: without KVM the one is not emulated well, and the clock that is
	// chosen without the other is too slow.
	qemu := program(ctx, root, "qemu-system-x86_64",
		"-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "max,la57=off", "-smp", "2", "-m", "2G", "-nodefaults", "-display", "none", "-no-reboot",
		"-L", filepath.Join(root, "usr/share/qemu"), "-L", filepath.Join(root, "usr/share/seabios"),
		"-kernel", kernel, "-initrd", image, "-append", "console=ttyS0 quiet panic=-1 tsc=reliable", "-serial", "stdio")
	said := &transcript{log: t.Output()}
	qemu.Stdout, qemu.Stderr = said, said
	err = qemu.Run()
	end := ended.FindSubmatch(said.said)
	switch {
	case end == nil:
		t.Fatalf("the guest ended before its test did: %v, %v", err, context.Cause(ctx))
	case string(end[1]) != "0":
		t.Errorf("in its guest the test failed: exit status %s", end[1])
	case !bytes.Contains(said.said, []byte("--- PASS: "+t.Name())):
		t.Error("in its guest the test did not run")
	}
	return false
}

// transcript shows what a guest says as it comes, and keeps it.
type transcript struct {
	log  io.Writer
	said []byte
}

func (s *transcript) Write(p []byte) (int, error) {
	_, _ = s.log.Write(bytes.ReplaceAll(p, []byte("\r"), nil))
	s.said = append(s.said, p...)
	return len(p), nil
}

// installed is where .ci/install unpacks what a guest needs.
func installed(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			root := filepath.Join(dir, "bin", "guest")
			if _, err := os.Stat(filepath.Join(root, "boot")); err != nil {
				t.Fatalf("needs QEMU and a kernel, which .ci/install unpacks: %v", err)
			}
			return root
		}
	}
	t.Fatal("not in fullbore's sources")
	return ""
}

// only is the one file that a pattern is for.
func only(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: one file is wanted, there are %d (%v)", pattern, len(files), err)
	}
	return files[0]
}

// libraries are where programs of a root find theirs, those of this machine too.
func libraries(root string) string { return filepath.Join(root, "usr/lib/x86_64-linux-gnu") }

// program is a command of a root.
func program(ctx context.Context, root, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(root, "usr/bin", name), args...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+libraries(root))
	return cmd
}

// initScript is process 1 of the guest.
func initScript(test string) string {
	return fmt.Sprintf(`#!/bin/busybox sh
export PATH=/usr/sbin:/usr/bin HOME=/tmp TMPDIR=/tmp %s=1 %s=1
/bin/busybox --install -s /usr/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
stty -onlcr </dev/ttyS0
while read -r module; do insmod "/modules/$module" || exit 1; done </modules/order
ip link set lo up
cd /test
/test/.program -test.run '^%s$' -test.v -test.timeout %s
echo "guest: the test ended with $?"
poweroff -f
`, inside, Asked, strings.ReplaceAll(test, "/", "$/^"), within-time.Minute)
}
