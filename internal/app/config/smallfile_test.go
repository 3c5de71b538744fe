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
	if want := "read " + path + ": the file is too long: it may have 7 bytes"; err == nil || err.Error() != want || text != "" {
		t.Errorf("over the limit: %q, %v; want %q", text, err, want)
	}
	if _, err := config.ReadSmall(path+".not", 8); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path+".not") {
		t.Errorf("no file: %v", err)
	}
}

// A name is relative to the configuration, so the message has it as the system found it, once.
func TestFilesThatAreTooLongAreRefusedWithTheirPath(t *testing.T) {
	body, err := os.ReadFile("testdata/key_too_short.bad.yml")
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	path := filepath.Join(directory, "long.yml")
	for name, text := range map[string]string{
		"long.yml":  string(body),
		"short.key": strings.Repeat(" ", 4097),
		"user.key":  strings.Repeat("c3", 32),
	} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err = config.Load(path, config.Options{}, config.Environment{})
	want := path + ":10:17: keys.noise.file: reading " + filepath.Join(directory, "short.key") + ": the file is too long: it may have 4096 bytes\n"
	if !errors.As(err, new(config.Errors)) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
