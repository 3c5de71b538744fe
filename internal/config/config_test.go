package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/internal/config"
	"github.com/tollgate-dp/tollgate/internal/testing/golden"
)

// environment is what getenv knows in these tests.
func environment(name string) string {
	return map[string]string{"NOISE_KEY": strings.Repeat("c3", 32), "P": "hunter2"}[name]
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("no file is called %s (%v)", pattern, err)
	}
	return found
}

func TestGoodFilesCompile(t *testing.T) {
	for _, path := range files(t, "testdata/*.good.yml") {
		f, err := config.Load(path, config.Options{Getenv: environment})
		if err == nil {
			_, err = f.Compile()
		}
		if err != nil {
			t.Errorf("%s:\n%v", path, err)
		}
	}
}

// Every bad file is refused with the message beside it, which shows no secret.
func TestBadFilesAreRefusedWithThePosition(t *testing.T) {
	for _, path := range files(t, "testdata/*.bad.yml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f, err := config.Load(path, config.Options{Getenv: environment})
			if err == nil {
				_, err = f.Compile()
			}
			if err == nil {
				t.Fatal("accepted")
			}
			var all config.Errors
			if !errors.As(err, &all) || len(all) == 0 {
				t.Fatalf("%T has no position: %v", err, err)
			}
			for _, secret := range []string{"hunter2", "c3c3c3c3"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("a secret is shown: %v", err)
				}
			}
			golden.File(t, strings.TrimSuffix(path, ".yml")+".txt", err.Error()+"\n")
		})
	}
}

func TestAFileThatIsNotThereIsNoErrorOfItsContents(t *testing.T) {
	_, err := config.Load("testdata/nowhere.yml", config.Options{})
	if !errors.Is(err, os.ErrNotExist) || errors.As(err, new(config.Errors)) {
		t.Errorf("got %v", err)
	}
}

// A name that is not there is told once, with what to do.
func TestAFileThatIsNotThereIsNamedOnce(t *testing.T) {
	_, err := config.Load("nope.yaml", config.Options{})
	if err == nil || strings.Count(err.Error(), "nope.yaml") != 1 || !strings.Contains(err.Error(), "docs/example.yaml") {
		t.Errorf("got %v", err)
	}
	if _, err = config.Load(t.TempDir(), config.Options{}); err == nil || strings.Count(err.Error(), "reading") != 1 {
		t.Errorf("a directory: %v", err)
	}
}

// What an empty file is told to begin with compiles.
func TestTheMinimalFileCompiles(t *testing.T) {
	f, err := config.Parse("minimal.yaml", []byte(config.Minimal()))
	if err == nil {
		err = f.Resolve(config.Options{MissingKeys: true})
	}
	if err == nil {
		_, err = f.Compile()
	}
	if err != nil {
		t.Error(err)
	}
}

func TestMissingKeysCanBeStoodInFor(t *testing.T) {
	f, err := config.Load("testdata/key_file_missing.bad.yml", config.Options{MissingKeys: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{filepath.Join("testdata", "nowhere.key")}, f.Missing); diff != "" {
		t.Error(diff)
	}
	if _, err := f.Compile(); err != nil {
		t.Error(err)
	}
}

func TestPathsAreRelativeToTheFile(t *testing.T) {
	f, err := config.Load("testdata/list_file.good.yml", config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"north", "south, west", "north"}, f.Config().Metrics[0].Keys.List); diff != "" {
		t.Error(diff)
	}
	noise, user := f.KeyFiles()
	if noise != filepath.Join("testdata", "noise.key") || user != filepath.Join("testdata", "user.key") {
		t.Errorf("key files %q, %q", noise, user)
	}
}

func FuzzParse(f *testing.F) {
	for _, path := range append(seeds("testdata/*.good.yml"), seeds("testdata/*.bad.yml")...) {
		body, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		file, err := config.Parse("f.yml", body)
		if (file == nil) == (err == nil) {
			t.Fatalf("file %v, error %v", file, err)
		}
		if err != nil {
			var all config.Errors
			if !errors.As(err, &all) || len(all) == 0 {
				t.Fatalf("%T has no position", err)
			}
			for _, e := range all {
				if e.Line < 1 || e.Column < 1 || e.Reason == "" {
					t.Fatalf("%+v", e)
				}
			}
		}
	})
}

func seeds(pattern string) []string {
	found, err := filepath.Glob(pattern)
	if err != nil {
		return nil
	}
	return found
}
