package config_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/testing/golden"
)

// environment has the variables of these tests.
func environment(name string) string {
	return map[string]string{"NOISE_KEY": strings.Repeat("c3", 32), "P": "hunter2", "NOISE": strings.Repeat("c3", 32),
		"WHERE": "visits", "HOW_MANY": "24", "YES": "true"}[name]
}

var variables = config.Environment{Get: environment}

func files(t testing.TB, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("no file is called %s (%v)", pattern, err)
	}
	return found
}

func TestGoodFilesCompile(t *testing.T) {
	for _, path := range files(t, "testdata/*.good.yml") {
		f, err := config.Load(path, config.Options{}, variables)
		if err == nil {
			_, err = f.Compile()
		}
		if err != nil {
			t.Errorf("%s:\n%v", path, err)
		}
	}
}

// Every bad file is refused with the message in the file beside it, which shows no secret.
func TestBadFilesAreRefusedWithThePosition(t *testing.T) {
	for _, path := range files(t, "testdata/*.bad.yml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f, err := config.Load(path, config.Options{}, variables)
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

// The error of a missing file names it once, with a remedy, and has no position.
func TestAFileThatIsNotThereIsNamedOnce(t *testing.T) {
	_, err := config.Load("nope.yaml", config.Options{}, config.Environment{})
	if !errors.Is(err, os.ErrNotExist) || errors.As(err, new(config.Errors)) || strings.Count(err.Error(),
		"nope.yaml") != 1 || !strings.Contains(err.Error(), "docs/example.yaml") {
		t.Errorf("got %v", err)
	}
	if _, err = config.Load(t.TempDir(), config.Options{}, variables); err == nil || strings.Count(err.Error(),
		"reading") != 1 {
		t.Errorf("a directory: %v", err)
	}
}

func TestMissingKeysCanBeStoodInFor(t *testing.T) {
	f, err := config.Load("testdata/key_file_missing.bad.yml", config.Options{MissingKeys: true}, variables)
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

// A command that fails is treated like a missing file. A process without keys runs no command.
func TestAKeyCommandCanBeStoodInFor(t *testing.T) {
	const name = "testdata/key_command_fails.bad.yml"
	f, err := config.Load(name, config.Options{MissingKeys: true}, variables)
	if err != nil || len(f.Failed) != 1 || f.Failed[0] != "sh: exit status 2: vault is sealed" {
		t.Fatalf("%v with %q", err, f.Failed)
	}
	if f, err = config.Load(name, config.Options{WithoutKeys: true}, variables); err != nil || len(f.Failed) > 0 {
		t.Errorf("without keys: %v with %q", err, f.Failed)
	}
}

// A process without keys never reads them.
func TestKeysThatAreNotWantedAreNotRead(t *testing.T) {
	secret := strings.Repeat("ab", 32)
	t.Setenv("TOLLGATE_TEST_KEY", secret)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "user.key"), []byte(secret), 0o644); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(config.Minimal(), "file: noise.key", "env: TOLLGATE_TEST_KEY")
	text = strings.ReplaceAll(text, "file: user-hash.key", "file: user.key") + "outputs: {registry: {url: " +
		"http://127.0.0.1:1, user: u, password_env: TOLLGATE_TEST_UNSET}}\n"
	f, err := config.Parse(filepath.Join(folder, "tollgate.yaml"), []byte(text), config.Process())
	if err != nil || !strings.Contains(text, "TOLLGATE_TEST_KEY") || !strings.Contains(text, "file: user.key") {
		t.Fatalf("%v in %s", err, text)
	}
	if err := f.Resolve(config.Options{WithoutKeys: true, WithoutRegistries: true}); err != nil {
		t.Fatal(err)
	}
	if d, err := f.Compile(); err != nil || d.Config.Keys.UserHash.Reveal() == ([32]byte(bytes.Repeat([]byte{0xab},
		32))) || d.Config.Keys.Noise.Secret.Reveal()[0] == 0xab || len(f.Warnings(d)) > 0 {
		t.Errorf("a key was read (%v)", err)
	}
	if err := f.Resolve(config.Options{}); err == nil {
		t.Error("with keys, the password of the registry is missing")
	}
}

// A worker starts whatever the record of deployments contains: only the process that submits a run
// has it.
func TestARecordThatIsNotWantedIsNotRead(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"noise.key": strings.Repeat("ab", 32),
		"user-hash.key": strings.Repeat("cd", 32), "user-hash.key.deployments": "damaged"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for place, refused := range map[string]bool{"": true, "  record: {env: TOLLGATE_TEST_UNSET}\n": false} {
		text := strings.Replace(config.Minimal(), "  noise:", place+"  noise:", 1)
		f, err := config.Parse(filepath.Join(folder, "tollgate.yaml"), []byte(text), config.Process())
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if err := f.Resolve(config.Options{}); (err != nil) != refused || err == nil && !f.Config().Record.Named {
			t.Errorf("%q: the record was not looked at: %v", place, err)
		}
		if err := f.Resolve(config.Options{WithoutRecord: true}); err != nil || f.Config().Record != nil {
			t.Errorf("%q: the record was looked at: %v", place, err)
		}
	}
}

func TestPathsAreRelativeToTheFile(t *testing.T) {
	f, err := config.Load("testdata/list_file.good.yml", config.Options{}, variables)
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

// Paths in a configuration from the standard input begin in the current directory.
func TestPathsOfTheStandardInputAreOfTheCurrentDirectory(t *testing.T) {
	body, err := os.ReadFile("testdata/list_file.good.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"-", "/dev/stdin", "/dev/fd/63"} {
		f, err := config.Parse(name, body, variables)
		if err != nil {
			t.Fatal(err)
		}
		if noise, _ := f.KeyFiles(); noise != "noise.key" {
			t.Errorf("%s: %q", name, noise)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, path := range append(files(f, "testdata/*.good.yml"), files(f, "testdata/*.bad.yml")...) {
		body, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		file, err := config.Parse("f.yml", body, variables)
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

// A password in an unknown field is not shown, wherever the error is.
func TestRuleAMisplacedPasswordIsNotShown(t *testing.T) {
	for _, line := range []string{
		`  passwort: hunter2`,
		`  "passwort": "hunter2"`,
		`  passwort: {value: hunter2}`,
		`  passwort: "hunter2`,
		`  pass word: 'hunter2' # of ada`,
		`  - secret: hunter2`,
		`  sasl: {mechanism: plian, secret: hunter2}`,
		`  sasl: {"mechanism":"plian","secret":"hunter2"}`,
		`  sasl: {secret: hunter2, mechanism: plian}`,
		`  1: hunter2`,
		`  brokers: ["ada:hunter2@localhost:9092"]`,
		`  brokers: ["ada:hunter2@localhost"]`,
	} {
		old := "kafka:\n"
		if strings.Contains(line, "brokers") {
			old += "  brokers: [\"localhost:9092\"]\n"
		}
		text := strings.Replace(config.Minimal(), old, "kafka:\n"+line+"\n", 1)
		f, err := config.Parse("file.yaml", []byte(text), config.Environment{})
		if err == nil {
			err = f.Resolve(config.Options{MissingKeys: true})
		}
		if err == nil {
			_, err = f.Compile()
		}
		if err == nil || !strings.Contains(err.Error(), "file.yaml:") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// An empty target gets the defaults of its fields, not the default of an absent target.
func TestAnEmptyTargetIsNotAnAbsentOne(t *testing.T) {
	text, err := os.ReadFile("testdata/small.good.yml")
	if err != nil {
		t.Fatal(err)
	}
	for counted, want := range map[string]float64{"true": 0.05, "{target: {relative: 0}}": 0, "{target: {}}": 0} {
		f, err := config.Parse("testdata/small.good.yml", append(slices.Clip(text), "    counted: "+counted+"\n"...),
			config.Environment{})
		if err == nil {
			err = f.Resolve(config.Options{})
		}
		if err != nil {
			t.Fatal(err)
		}
		d, err := f.Compile()
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Config.Metrics[0].Counted.Target; got.Relative != want || got.Confidence != 0.95 {
			t.Errorf("counted: %s has the target %+v", counted, got)
		}
	}
}

// A key and a time may be one field or a list of them.
func TestAKeyAndATimeAreAFieldOrAList(t *testing.T) {
	text, err := os.ReadFile("testdata/small.good.yml")
	if err != nil {
		t.Fatal(err)
	}
	for with, want := range map[string][]string{"key: page": {"page"}, "key: [page]": {"page"},
		"key: [country, page]": {"country", "page"}, "time: [day, clock]": {"day", "clock"}} {
		file := filepath.Join(t.TempDir(), "tollgate.yml")
		field, _, _ := strings.Cut(with, ":")
		changed := regexp.MustCompile(field+": [a-z]+").ReplaceAllString(string(text), with)
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := config.Load(file, config.Options{WithoutKeys: true}, config.Environment{})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Config().Events.Format.FieldsOf(field); !slices.Equal(got, want) {
			t.Errorf("%s: %q", with, got)
		}
	}
}
