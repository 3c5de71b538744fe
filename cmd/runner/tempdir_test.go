package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// Without a directory for temporary files the engine would panic.
func TestAMissingDirectoryForTemporaryFilesIsNamed(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv("TMPDIR", missing)
	code, _, stderr := run(t, "demo", "--events", "100", "--windows", "2")
	if code != exitError || !strings.Contains(stderr, missing) || !strings.Contains(stderr, "set TMPDIR") {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}
