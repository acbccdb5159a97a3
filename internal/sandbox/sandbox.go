// Package sandbox runs a test in namespaces of its own, on files of its own:
// what the test does to its host, this machine does not see. Linux only.
package sandbox

import "os"

// entering in the environment says that this process should enter the sandbox.
const entering = "FULLBORE_TEST_SANDBOX"

// Entering reports whether this process was started for a test in a sandbox,
// which has not begun yet. A TestMain that makes its program something else is
// to let such a one run its tests.
func Entering() bool { return os.Getenv(entering) != "" }
