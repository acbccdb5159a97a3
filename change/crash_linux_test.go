package change

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/internal/sandbox"
	"github.com/fullbore/fullbore/tunable"
)

// These tests kill what changes a host, and let its system calls fail, in
// namespaces of its own with the kernel's real tunables. Whatever happened, the
// next command finds the host wholly old or wholly new, and says which.

// begun is what a process says before it begins its work.
const begun = "begun\n"

func init() {
	if os.Getenv("CHANGE_TEST_OP") != "" {
		runtime.LockOSThread() // one thread makes all the calls, always in the same order
	}
	// Reading the whole catalogue takes a process longer than its work.
	var entries map[string]*tunable.Tunable
	if json.Unmarshal([]byte(os.Getenv("CHANGE_TEST_CATALOGUE")), &entries) == nil {
		lookup = func(name string) (*tunable.Tunable, bool) { return entries[name], entries[name] != nil }
	}
}

// operate is one command in a process of its own: what the verbs of fullbore do.
func operate(op, dir, round string) error {
	m, err := NewManager(dir, Kernel{})
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(round)
	if err != nil {
		return err
	}
	fmt.Print(begun)
	ctx := context.Background()
	if op == "apply" {
		m.StartWatchdog = StartDetachedWatchdog
		id, err := m.Begin(ctx, "round "+round, time.Minute)
		if err == nil {
			err = m.Apply(ctx, id, roundSettings(n))
		}
		if err != nil && id != "" {
			_, _ = m.Revert(ctx, id)
		}
		return err
	}
	sets, err := m.List(ctx)
	if op == "status" || err != nil {
		return err
	}
	i := slices.IndexFunc(sets, func(s Set) bool { return s.Open() || op == "revert" && s.Kept() })
	switch {
	case i < 0:
		return nil
	case op == "revert":
		_, err = m.Revert(ctx, sets[i].ID)
	default:
		err = m.Confirm(ctx, sets[i].ID, op == "persist")
	}
	return err
}

// roundSettings are never below those of an earlier round.
func roundSettings(n int) []Setting {
	return []Setting{
		{rmem, fmt.Sprint("4096 131072 ", 67108864+4096*n)},
		{idle, strconv.Itoa(n % 2)},
		{wmem, fmt.Sprint("4096 16384 ", 67108864+4096*n)},
	}
}

// victim is a host on which processes die.
type victim struct {
	t       testing.TB
	dir     string
	m       *Manager // of a process that does not
	initial map[string]string
	round   int
	entries string // of the catalogue: those that are touched
}

func newVictim(t testing.TB) *victim {
	v := &victim{t: t, dir: filepath.Join(t.TempDir(), "changes"), initial: map[string]string{}}
	v.fresh()
	entries := map[string]*tunable.Tunable{}
	for _, s := range roundSettings(0) {
		v.initial[s.Tunable] = v.value(s.Tunable)
		entries[s.Tunable], _ = lookup(s.Tunable)
	}
	text, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	v.entries = string(text)
	return v
}

// fresh forgets all change sets.
func (v *victim) fresh() {
	empty(v.t, v.dir)
	m, err := NewManager(v.dir, Kernel{})
	if err != nil {
		v.t.Fatal(err)
	}
	m.StartWatchdog = func(_, _ string) error { return nil }
	m.Rewatch = m.StartWatchdog
	m.watched = func(_, _ string) bool { return true }
	v.m = m
}

func (v *victim) value(name string) string {
	value, err := host.Get(name)
	if err != nil {
		v.t.Fatal(err)
	}
	return value
}

// process is a command, not yet started.
func (v *victim) process(op string, wrapper ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		v.t.Fatal(err)
	}
	command := append(slices.Clone(wrapper), self)
	p := exec.Command(command[0], command[1:]...)
	p.Env = append(os.Environ(), "CHANGE_TEST_OP="+op, "CHANGE_TEST_DIR="+v.dir, "CHANGE_TEST_ROUND="+strconv.Itoa(v.round), "CHANGE_TEST_CATALOGUE="+v.entries)
	return p
}

// check looks at the host as the next command would, and wants it whole.
func (v *victim) check(told string) []Set {
	v.t.Helper()
	sets, err := v.m.List(context.Background())
	if err != nil {
		v.t.Fatalf("%s: status fails: %v", told, err)
	}
	want := v.initial
	persisted := false
	for _, set := range slices.Backward(sets) {
		if set.Trouble != "" {
			v.t.Fatalf("%s: status is troubled by %s: %s", told, set.ID, set.Trouble)
		}
		switch set.State {
		case Live, Confirmed:
			for _, value := range set.Values {
				want = with(want, value.Tunable, value.New)
			}
		case Planned, Reverted:
		default:
			v.t.Fatalf("%s: status says that %s is %s (%s): %+v", told, set.ID, set.State, set.Note, set.Values)
		}
		persisted = persisted || len(set.persisted()) > 0
	}
	got := map[string]string{}
	for name := range v.initial {
		got[name] = v.value(name)
	}
	if d := diff.Diff(want, got); d != "" {
		v.t.Fatalf("%s: half done (-as status says +as it is):\n%s\n%+v", told, d, sets)
	}
	text, err := os.ReadFile("/" + sysctlFile)
	if err != nil && !os.IsNotExist(err) {
		v.t.Fatal(err)
	}
	all, _, _ := readAll(v.dir)
	l := &ledger{Manager: v.m, sets: all}
	files, err := l.render(nil)
	if err != nil {
		v.t.Fatalf("%s: %v", told, err)
	}
	if d := diff.Diff(string(files[sysctlFile]), string(text)); d != "" || persisted != (len(text) > 0) {
		v.t.Fatalf("%s: drop-in (-as status says +as it is):\n%s\n%+v", told, d, sets)
	}
	return sets
}

// undo reverts everything, and wants the host as it was.
func (v *victim) undo(told string) {
	v.t.Helper()
	for _, set := range v.check(told) {
		if _, err := v.m.Revert(context.Background(), set.ID); err != nil {
			v.t.Fatalf("%s: revert: %v", told, err)
		}
	}
	for _, set := range v.check(told) {
		if set.State != Reverted {
			v.t.Fatalf("%s: all was reverted, but %s is %s", told, set.ID, set.State)
		}
	}
	left, _ := filepath.Glob("/etc/sysctl.d/*")
	if len(left) > 0 {
		v.t.Fatalf("%s: left behind: %v", told, left)
	}
}

// TestKilledAtRandom kills one command after the other at random times, every
// other time together with all watchdogs.
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	const worlds = 2
	rounds, least := 210, 52
	if testing.Short() {
		rounds, least = 90, 10
	}
	for i := range worlds {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			if !sandbox.Run(t) {
				return
			}
			v := newVictim(t)
			random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(i)))
			lasts := map[string]time.Duration{} // how long a command takes, longer or shorter than before as other work on this machine has it
			killed := 0
			for v.round = range rounds {
				op := []string{"apply", "confirm", "apply", "persist", "revert"}[v.round%5]
				told := fmt.Sprintf("round %d, %s", v.round, op)
				switch {
				case v.round < 10:
					lasts[op] = max(lasts[op], v.run(op))
				case v.kill(op, time.Duration(random.Int64N(int64(lasts[op]*5/4))), random.IntN(2) == 0):
					killed++
					lasts[op] += lasts[op] / 8
				default: // it had ended
					lasts[op] -= lasts[op] / 8
				}
				v.check(told)
				if v.round%30 == 29 {
					v.undo(told)
					v.fresh()
				}
			}
			v.undo("at the end")
			t.Logf("%d of %d died amid their work; they take about %v", killed, rounds, lasts)
			if killed < least {
				t.Errorf("only %d of %d were killed amid their work", killed, rounds)
			}
		})
	}
}

// run lets a command come to its end, and says how long it took from its beginning.
func (v *victim) run(op string) time.Duration {
	p := v.process(op)
	out := v.start(p)
	at := time.Now()
	if text, err := out.ReadString(0); len(text) > 0 || p.Wait() != nil {
		v.t.Fatalf("%s failed: %q %v", op, text, err)
	}
	return time.Since(at)
}

// start starts a command, and waits for it to begin.
func (v *victim) start(p *exec.Cmd) *bufio.Reader {
	out, err := p.StdoutPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	p.Stderr = p.Stdout
	if err := p.Start(); err != nil {
		v.t.Fatal(err)
	}
	from := bufio.NewReader(out)
	if line, err := from.ReadString('\n'); line != begun {
		v.t.Fatalf("the command says %q (%v)", line, err)
	}
	return from
}

// kill kills a command, and maybe everything else, some time after it began, and
// reports whether it was still at it.
func (v *victim) kill(op string, after time.Duration, all bool) bool {
	p := v.process(op)
	v.start(p)
	time.Sleep(after)
	if all {
		if os.Getpid() != 1 {
			v.t.Fatal("this is not process 1 of a sandbox: it would kill the whole machine")
		}
		_ = unix.Kill(-1, unix.SIGKILL) // all but process 1, which this is
	} else {
		_ = p.Process.Kill()
	}
	_ = p.Wait()
	reap()
	status, ok := p.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

// writing are the system calls that change something outside of the process.
const writing = "openat,write,pwrite64,fchmod,fchmodat,fsync,fdatasync,ftruncate,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,flock"

// TestFaultAtEveryWrite lets, one at a time, each system call of a command fail
// that writes, and kills the command at it. The errors take turns; with
// FULLBORE_LONG=1 each call fails with each of them.
func TestFaultAtEveryWrite(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("this machine has no strace: ", err)
	}
	for _, op := range []string{"apply", "confirm", "persist", "revert"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			if !sandbox.Run(t) {
				return
			}
			v := newVictim(t)
			log := filepath.Join(t.TempDir(), "log")
			trace := func(more ...string) error {
				v.prepare(op)
				p := v.process(op, append([]string{strace, "-y", "-o", log, "-e", "trace=" + writing, "-e", "signal=none"}, more...)...)
				var out bytes.Buffer
				p.Stdout, p.Stderr = &out, &out
				p.WaitDelay = 100 * time.Millisecond
				err := p.Run()
				reap()
				if err != nil {
					return fmt.Errorf("%w: %s", err, &out)
				}
				return nil
			}
			if err := trace(); err != nil {
				t.Fatalf("undisturbed: %v", err)
			}
			v.undo("undisturbed")
			calls := writes(t, log)
			if len(calls) < 8 {
				t.Fatalf("only %d system calls write: %v", len(calls), calls)
			}
			tried, failed := 0, 0
			errors := []string{"error=ENOSPC", "error=EIO", "error=EROFS"}
			for i, c := range calls {
				faults := []string{errors[i%len(errors)], "signal=KILL"}
				if testing.Short() {
					faults[0] = errors[0]
				} else if os.Getenv("FULLBORE_LONG") != "" {
					faults = []string{errors[0], errors[1], errors[2], "signal=KILL"}
				}
				for _, fault := range faults {
					tried++
					told := fmt.Sprintf("%s with %s at %s %d: %s", op, fault, c.name, c.count, c.line)
					err := trace("-e", fmt.Sprintf("inject=%s:%s:when=%d", c.name, fault, c.count))
					if err != nil {
						failed++
					}
					v.check(told)
					v.undo(told)
				}
			}
			t.Logf("%s: %d system calls write; %d of %d faults made it fail", op, len(calls), failed, tried)
			if failed < tried/2 {
				t.Errorf("only %d of %d faults were felt", failed, tried)
			}
		})
	}
}

// prepare makes a host on which the command has something to do.
func (v *victim) prepare(op string) {
	v.fresh()
	v.round++
	if op == "apply" {
		return
	}
	ctx := context.Background()
	id, err := v.m.Begin(ctx, "prepared", time.Minute)
	if err == nil {
		err = v.m.Apply(ctx, id, roundSettings(v.round))
	}
	if err == nil && op == "revert" {
		err = v.m.Confirm(ctx, id, true)
	}
	if err != nil {
		v.t.Fatal("prepare: ", err)
	}
}

// call is a system call as strace counts it.
type call struct {
	name  string
	count int
	line  string
}

var straced = regexp.MustCompile(`^([a-z0-9]+)\(`)

// writes reads strace's log: the calls after the command began that change
// something.
func writes(t testing.TB, log string) []call {
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var calls []call
	counts := map[string]int{}
	work := false
	for line := range strings.Lines(string(text)) {
		found := straced.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		name := found[1]
		counts[name]++
		if strings.Contains(line, strconv.Quote(begun)) {
			work = true
			continue
		}
		switch {
		case !work, name == "openat" && !strings.Contains(line, "O_WRONLY") && !strings.Contains(line, "O_RDWR"):
		case name == "write" && !strings.Contains(line, "</run/") && !strings.Contains(line, "</etc/"): // not of the sandbox, but to who runs the tests
		default:
			calls = append(calls, call{name, counts[name], strings.TrimSpace(line)})
		}
	}
	slices.SortStableFunc(calls, func(a, b call) int { return cmp.Compare(a.name, b.name) })
	return calls
}

// TestFullDisk leaves less and less room for journals.
func TestFullDisk(t *testing.T) {
	if !sandbox.Run(t) {
		return
	}
	v := newVictim(t)
	must(t, os.MkdirAll(v.dir, 0o755))
	must(t, unix.Mount("none", v.dir, "tmpfs", 0, "size=32k"))
	defer func() { _ = unix.Unmount(v.dir, unix.MNT_DETACH) }()
	filler := filepath.Join(v.dir, "filler")
	refused := 0
	for pages := range 8 {
		sandbox.KillOthers()
		v.prepare("apply")
		fill(t, filler, 7-pages)
		half := false // it was applied, for which there was no room: it can only be reverted
		for _, op := range []string{"apply", "persist", "revert"} {
			out, err := v.process(op).CombinedOutput()
			if err != nil {
				refused++
				onlyRevert := half && op == "persist" && strings.Contains(string(out), "was cut short; revert the set")
				if !onlyRevert && !strings.Contains(string(out), "no space left on device") {
					t.Errorf("%d pages free, %s: %v: %s", pages, op, err, out)
				}
				half = half || op == "apply"
			}
			if op == "apply" && pages == 7 && err != nil {
				t.Errorf("there is room, but: %s", out)
			}
		}
		must(t, os.Remove(filler))
		v.undo(fmt.Sprintf("%d pages free", pages))
	}
	if refused == 0 {
		t.Error("the disk was never full")
	}
}

// fill takes that many pages of a disk.
func fill(t *testing.T, path string, pages int) {
	_ = os.WriteFile(path, bytes.Repeat([]byte("x"), pages*os.Getpagesize()), 0o644)
	if _, err := os.Stat(path); err != nil {
		must(t, os.WriteFile(path, nil, 0o644))
	}
}

// TestReadOnlyEtc persists where that cannot be.
func TestReadOnlyEtc(t *testing.T) {
	if !sandbox.Run(t) {
		return
	}
	v := newVictim(t)
	v.prepare("persist")
	remount := func(flags uintptr) { must(t, unix.Mount("none", "/etc", "tmpfs", unix.MS_REMOUNT|flags, "")) }
	remount(unix.MS_RDONLY)
	out, err := v.process("persist").CombinedOutput()
	if err == nil || strings.Count(string(out), "read-only file system") != 1 {
		t.Fatalf("error %v: %s", err, out)
	}
	if sets := v.check("read-only"); sets[0].State != Live || sets[0].Persist {
		t.Errorf("%+v", sets[0])
	}
	remount(0)
	v.run("persist")
	remount(unix.MS_RDONLY) // now nothing can be withdrawn
	out, err = v.process("revert").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "read-only file system") {
		t.Errorf("error %v: %s", err, out)
	}
	remount(0)
	v.undo("writable again")
}

// TestTwoAtOnce starts two commands that want the same: one of them is refused.
func TestTwoAtOnce(t *testing.T) {
	if !sandbox.Run(t) {
		return
	}
	v := newVictim(t)
	for range 8 {
		v.prepare("apply")
		both := []*exec.Cmd{v.process("apply"), v.process("apply")}
		var said [2]bytes.Buffer
		for i, p := range both {
			p.Stdout, p.Stderr = &said[i], &said[i]
			must(t, p.Start())
		}
		refused := 0
		for i, p := range both {
			if err := p.Wait(); err != nil {
				refused++
				if !strings.Contains(said[i].String(), "is held by change set") {
					t.Errorf("%v: %s", err, &said[i])
				}
			}
		}
		live := 0
		for _, set := range v.check("two at once") {
			if set.State == Live {
				live++
			}
		}
		if refused != 1 || live != 1 {
			t.Fatalf("%d refused, %d live", refused, live)
		}
		v.undo("two at once")
	}
}

// TestWatchdogIsReplaced kills the watchdog of a live set: the next command of
// any kind starts another, which reverts it in time.
func TestWatchdogIsReplaced(t *testing.T) {
	if !sandbox.Run(t) {
		return
	}
	v := newVictim(t)
	v.run("apply")
	id := v.check("applied")[0].ID
	if !watched(v.dir, id) {
		t.Fatal("it has no watchdog")
	}
	sandbox.KillOthers()
	if watched(v.dir, id) {
		t.Fatal("it still has one")
	}
	v.run("status")
	if !watched(v.dir, id) {
		t.Fatal("it has no new watchdog")
	}
	set, err := readSet(v.dir, id)
	must(t, err)
	set.Within, set.Deadline = time.Second, time.Now().Add(time.Second)
	text, err := encode(set)
	must(t, err)
	must(t, writeDurably(journalPath(v.dir, id), text))
	for range 100 {
		if set, err = readSet(v.dir, id); err == nil && !set.Open() {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if sets := v.check("reverted"); sets[0].State != Reverted {
		t.Errorf("%+v", sets[0])
	}
}

// reap takes leave of processes that were left to process 1.
func reap() {
	for {
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}

// empty empties a directory.
func empty(t testing.TB, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}
