package change

import (
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/fullbore/fullbore/host"
)

// timerAfter is how long after a set's deadline its timer comes: the watchdog
// looks twice a second, and is to be the first.
const timerAfter = 2 * time.Second

// startTimer has systemd, if that is process 1, start another watchdog at the
// set's deadline: it does so even if all processes of this session are gone, and
// that of the watchdog with them. It is a second line, so a host without it, or
// where it fails, has the first. If the deadline has moved by then, the watchdog
// watches on. What systemd starts is in the first network namespace.
func startTimer(dir, id string) {
	if info, err := os.Lstat("/run/systemd/system"); err != nil || !info.IsDir() { // sd_booted(3)
		return
	}
	if here, _ := host.BootsHere(); !here {
		return
	}
	run, err := exec.LookPath("systemd-run")
	if err != nil {
		return
	}
	self, err := os.Executable()
	if err != nil {
		return
	}
	set, err := readSet(dir, id)
	if err != nil {
		return
	}
	after := fmt.Sprintf("%.3fs", (max(time.Until(set.Deadline), 0) + timerAfter).Seconds())
	command := exec.Command(run, "--quiet", "--collect", "--unit", "fullbore-"+id,
		"--description", "Revert change set "+id+" of fullbore unless it is confirmed",
		"--on-active", after, "--timer-property", "AccuracySec=1s",
		// Neither waits for anything else to be started.
		"--timer-property", "DefaultDependencies=no", "--property", "DefaultDependencies=no", "--", self, "watchdog", "--dir", dir, id)
	command.WaitDelay = time.Second
	if err := command.Start(); err != nil {
		return
	}
	ended := time.AfterFunc(lockWait, func() { _ = command.Process.Kill() })
	defer ended.Stop()
	_ = command.Wait()
}
