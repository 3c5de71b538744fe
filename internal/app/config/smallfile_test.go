package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/config"
)

func TestSmallFilesAreReadUpToTheirLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "small")
	if err := os.WriteFile(path, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := config.ReadSmall(path, 8); err != nil || text != "hunter2\n" {
		t.Errorf("at the limit: %q, %v", text, err)
	}
	if err := os.WriteFile(path+".bom", []byte("\uFEFFhunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := config.ReadSmall(path+".bom", 10); err != nil || text != "hunter2" {
		t.Errorf("with a byte order mark: %q, %v", text, err)
	}
	text, err := config.ReadSmall(path, 7)
	if want := "read " + path + ": the file is too long: it may have 7 bytes"; err == nil || err.Error() != want ||
		text != "" {
		t.Errorf("over the limit: %q, %v; want %q", text, err, want)
	}
	if _, err := config.ReadSmall(path+".not", 8); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(),
		path+".not") {
		t.Errorf("no file: %v", err)
	}
}
