package realflink

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrUnavailable is returned if this machine lacks a requirement of a cluster.
var ErrUnavailable = errors.New("a real Flink cluster cannot be run here")

// unavailable is the exit code of the script for a missing tool.
const unavailable = 69

// prepare finds the script and has it bring the jars that are not there.
func prepare(ctx context.Context) (string, error) {
	script, err := find()
	if err != nil {
		return "", err
	}
	var said strings.Builder
	cmd := exec.CommandContext(ctx, script, "fetch")
	cmd.Stderr = &said
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == unavailable {
		return "", fmt.Errorf("%w: %s; `.ci/run flink` installs what is missing where it can", ErrUnavailable,
			strings.TrimSpace(said.String()))
	}
	if err != nil {
		return "", fmt.Errorf("bringing Flink's jars: %w; it said:\n%s", err, said.String())
	}
	return script, nil
}

// find looks for deploy/flink/cluster upwards from the working directory, which for a test is its
// package's.
func find() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("looking for deploy/flink/cluster: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		script := filepath.Join(dir, "deploy", "flink", "cluster")
		if _, err := os.Stat(script); err == nil {
			return script, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%w: no directory from %s upwards has deploy/flink/cluster", ErrUnavailable, start)
		}
	}
}
