package deployfiles

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var built struct {
	once sync.Once
	dir  string
	said []byte
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir) // a temporary directory
	}
	os.Exit(code)
}

// runner returns the path of the program, built once.
func runner(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "tollgate-deployfiles-"); built.err != nil {
			return
		}
		cmd := exec.Command("go", "build", "-o", built.dir+string(filepath.Separator), "./cmd/runner", "./internal/testing/brokerprocess")
		cmd.Dir = "../../.."
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
		built.said, built.err = cmd.CombinedOutput()
	})
	if built.err != nil {
		t.Fatalf("building the program: %v: %s", built.err, built.said)
	}
	return filepath.Join(built.dir, "runner") // go build names it after its directory
}
