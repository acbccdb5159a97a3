package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// build makes the binary to try from this checkout.
func (o *options) build(ctx context.Context) (remove func(), err error) {
	dir, err := os.MkdirTemp("", "fullbore-accuracy")
	if err != nil {
		return nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	o.fullbore = filepath.Join(dir, "fullbore")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", o.fullbore, "github.com/fullbore/fullbore/cmd/fullbore").CombinedOutput()
	if err != nil {
		remove()
		return nil, fmt.Errorf("build fullbore: %w: %s", err, out)
	}
	return remove, nil
}
