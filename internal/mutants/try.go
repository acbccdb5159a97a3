//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A test and what it takes.
type test struct {
	name    string
	lasts   time.Duration
	cpu     time.Duration
	reaches map[int]bool
}

const (
	quick    = 200 * time.Millisecond // tests up to this long run together, before the others
	memory   = 8 << 20                // KiB that a test may address: a mutant may fill lists without an end
	patience = 10                     // a mutant that takes so many times what its tests take is timed out
	least    = 10 * time.Second       // but no earlier
)

// reach runs every test by itself, and finds out which mutants it reaches.
func (s *source) reach(ctx context.Context, o *options) ([]test, error) {
	out, err := s.command(ctx, nil, "-test.list", ".").Output()
	if err != nil {
		return nil, withOutput(err)
	}
	var tests []test
	for name := range strings.FieldsSeq(string(out)) {
		integration := strings.HasPrefix(name, "TestIntegration")
		if !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") && !strings.HasPrefix(name, "Example") || integration && !o.integration {
			continue
		}
		t := test{name: name}
		if err := s.watch(ctx, &t); err != nil {
			fmt.Printf("%s: %s fails by itself and is left out: %v\n", s.path, name, err)
			continue
		}
		tests = append(tests, t)
	}
	slices.SortFunc(tests, func(a, b test) int { return int(a.lasts - b.lasts) })
	return tests, ctx.Err()
}

// watch runs a test. What it reaches comes through a pipe with a name: the test
// may have made all of its files read-only.
func (s *source) watch(ctx context.Context, t *test) error {
	pipe := filepath.Join(filepath.Dir(s.binary), "reached")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	read, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	t.reaches = map[int]bool{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(read); lines.Scan() && lines.Text() != "end"; {
			if id, err := strconv.Atoi(lines.Text()); err == nil {
				t.reaches[id] = true
			}
		}
	}()
	command := s.command(ctx, []string{"MUTANTS_REACHED=" + pipe}, "-test.run", "^"+t.name+"$", "-test.timeout", "5m")
	began := time.Now()
	out, err := command.CombinedOutput()
	t.lasts = time.Since(began)
	if command.ProcessState != nil {
		t.cpu = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	}
	_, _ = read.WriteString("\nend\n")
	<-done
	read.Close()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func (s *source) command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, s.binary, append(args, "-test.short")...)
	command.Dir = s.dir
	command.Env = append(os.Environ(), env...)
	command.WaitDelay = time.Second
	return command
}

// outcomes of a mutant
const (
	killed   = "killed"
	survived = "survived"
	missed   = "not reached"
	timedOut = "timed out"
)

// try runs the tests of all mutants that are not known yet.
func (s *source) try(ctx context.Context, o *options, tests []test, kept *results) error {
	jobs := make(chan mutant)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	workers := o.workers
	if o.integration {
		workers = 1
	}
	for range workers {
		wg.Go(func() {
			for m := range jobs {
				outcome, err := s.outcome(ctx, m, tests)
				if ctx.Err() != nil {
					continue
				}
				mu.Lock()
				if err == nil {
					err = kept.add(m, outcome)
				}
				failed = errors.Join(failed, err)
				mu.Unlock()
			}
		})
	}
	for _, m := range s.mutants {
		if o.wants(m, kept.known[m.ID]) {
			jobs <- m
		}
	}
	close(jobs)
	wg.Wait()
	return errors.Join(failed, ctx.Err())
}

// stillPass runs all tests without a mutant. Tests read files of the working tree:
// if those have changed meanwhile, a mutant may have been killed by that.
func (s *source) stillPass(tests []test) error {
	var names []string
	for _, t := range tests {
		names = append(names, t.name)
	}
	out, err := s.command(context.Background(), nil, "-test.run", "^("+strings.Join(names, "|")+")$").CombinedOutput()
	if err != nil {
		return fmt.Errorf("the tests fail without a mutant, too (did the working tree change?); what was found since the start is forgotten: %w: %s", err, out)
	}
	return nil
}

// outcome runs the tests that reach a mutant, quick ones first.
func (s *source) outcome(ctx context.Context, m mutant, tests []test) (string, error) {
	var together []test
	var alone [][]test
	for _, t := range tests {
		switch {
		case !t.reaches[m.ID]:
		case t.lasts <= quick:
			together = append(together, t)
		default:
			alone = append(alone, []test{t})
		}
	}
	if together == nil && alone == nil {
		return missed, nil
	}
	if together != nil {
		alone = append([][]test{together}, alone...)
	}
	for _, some := range alone {
		if outcome, err := s.runs(ctx, m, some); err != nil || outcome != survived {
			return outcome, err
		}
	}
	return survived, nil
}

// runs runs tests with a mutant alive. What is bounded is foremost the time of
// the processor: it does not depend on what else the machine does.
func (s *source) runs(ctx context.Context, m mutant, tests []test) (string, error) {
	var names []string
	lasts, cpu := least, least
	for _, t := range tests {
		names = append(names, t.name)
		lasts += 3 * patience * t.lasts
		cpu += patience * t.cpu
	}
	bounded, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	tested := s.command(bounded, nil, "-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$")
	limits := fmt.Sprintf(`ulimit -v %d; ulimit -t %d; exec "$@"`, memory, int(cpu.Seconds())+1)
	command := exec.CommandContext(bounded, "/bin/sh", append([]string{"-c", limits, "sh"}, tested.Args...)...)
	command.Dir, command.WaitDelay = tested.Dir, time.Second
	command.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(m.ID))
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	if command.ProcessState == nil {
		return "", fmt.Errorf("mutant %d was not tried: %w", m.ID, err)
	}
	status, _ := command.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case bounded.Err() != nil, status.Signaled() && (status.Signal() == syscall.SIGXCPU || status.Signal() == syscall.SIGKILL):
		return timedOut, nil
	case err != nil:
		return killed, nil
	}
	return survived, nil
}
