//go:build !linux

package lab

import (
	"context"
	"fmt"
	"os"

	"github.com/fullbore/fullbore/host"
)

// A lab needs Linux: network namespaces and TUN devices with offloads. Elsewhere
// scenarios can be read and drawn.
var errUnsupported = fmt.Errorf("start lab: %w", host.ErrUnsupported)

type (
	system  struct{}
	agent   struct{}
	process struct{}
)

// AgentMain returns: no process is a lab's host here.
func AgentMain() {}

// Start is not supported here.
func Start(context.Context, *Scenario, Options) (*Lab, error) { return nil, errUnsupported }

// Report is empty here.
func (*Lab) Report() Report { return Report{} }

// Close does nothing here.
func (*Lab) Close() error { return nil }

// Start is not supported here.
func (*Cmd) Start() error { return errUnsupported }

// Wait is not supported here.
func (*Cmd) Wait() error { return errUnsupported }

// Signal is not supported here.
func (*Cmd) Signal(os.Signal) error { return errUnsupported }

// PID is 0 here.
func (*Cmd) PID() int { return 0 }

// Attach is not supported here.
func Attach(string, string) (*Host, error) { return nil, errUnsupported }

// RunForeground is not supported here.
func (*Cmd) RunForeground() error { return errUnsupported }
