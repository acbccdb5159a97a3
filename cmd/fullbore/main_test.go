package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fullbore/fullbore/internal/sandbox"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/record"
)

// asMain in the environment makes this test binary behave as fullbore, also in
// the processes that it starts: hosts of a lab, far ends, watchdogs.
const asMain = "FULLBORE_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	lab.AgentMain()
	// A watchdog is started without its owner's environment, and so is what was sent over ssh.
	if !sandbox.Entering() && os.Getenv(asMain) != "" || len(os.Args) > 1 && os.Args[1] == "watchdog" || filepath.Base(os.Args[0]) == "fullbore" {
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	// Tests keep no runs, but for those of what is kept.
	if err := errors.Join(os.Setenv(asMain, "1"), os.Setenv(record.Variable, record.Nowhere)); err != nil {
		panic(err)
	}
	// Those that run beside others wait more than they work: their paths are slow, and
	// their transfers over loopback have a rate. -parallel is not to change that.
	_ = flag.Set("test.parallel", "8")
	os.Exit(m.Run())
}

// TestScripts runs the command line as a person would: testdata/*.txtar.
func TestScripts(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			bin := filepath.Join(env.WorkDir, ".bin")
			if err := os.Mkdir(bin, 0o755); err != nil {
				return err
			}
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv(asMain, "1")
			env.Setenv("FULLBORE_STATE", filepath.Join(env.WorkDir, ".state"))
			return os.Symlink(self, filepath.Join(bin, "fullbore"))
		},
	})
}
