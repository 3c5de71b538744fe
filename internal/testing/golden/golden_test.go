package golden_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/golden"
)

// recorder takes what a failing test would say.
type recorder struct {
	testing.TB
	failed bool
}

var errFatal = errors.New("the test ends here")

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }
func (r *recorder) Fatalf(string, ...any) { r.failed = true; panic(errFatal) }

func fails(path, got string) (failed bool) {
	r := &recorder{}
	defer func() {
		if p := recover(); p != nil && p != errFatal {
			panic(p)
		}
		failed = r.failed
	}()
	golden.File(r, path, got)
	return r.failed
}

func TestOnlyTheSameBytesPass(t *testing.T) {
	if golden.Updating() {
		t.Skip("-update: files are written and not compared")
	}
	path := filepath.Join(t.TempDir(), "a.golden")
	if err := os.WriteFile(path, []byte("text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]bool{"text\n": false, "text": true, "": true} {
		if fails(path, got) != want {
			t.Errorf("%q fails: %v, want %v", got, !want, want)
		}
	}
	if !fails(path+".gone", "text\n") {
		t.Error("a missing file passes")
	}
}
