package config_test

import (
	"os"
	"path/filepath"
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
	if text, err := config.ReadSmall(path, 7); err == nil || text != "" ||
		err.Error() != "read "+path+": the file is too long: at most 7 bytes are allowed" {
		t.Errorf("over the limit: %q, %v", text, err)
	}
}
