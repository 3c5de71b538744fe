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

// ErrUnavailable means that this machine lacks something that a cluster requires.
var ErrUnavailable = errors.New("a real Flink cluster cannot be run here")

// unavailable is the exit code with which the script reports a missing tool.
const unavailable = 69

// prepare finds the script, and downloads missing jars with it.
func prepare(ctx context.Context) (string, error) {
	script, err := find()
	if err != nil {
		return "", err
	}
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, script, "fetch")
	cmd.Stderr = &stderr
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == unavailable {
		return "", fmt.Errorf("%w: %s; `.ci/run flink` installs what is missing where it can", ErrUnavailable,
			strings.TrimSpace(stderr.String()))
	}
	if err != nil {
		return "", fmt.Errorf("downloading Flink's jars: %w; stderr:\n%s", err, stderr.String())
	}
	return script, nil
}

// find returns deploy/flink/cluster in the working directory or the nearest directory above it.
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
