package long

import (
	"os"
	"testing"
)

// Variable is the environment variable that makes long tests run.
const Variable = "TOLLGATE_LONG"

// On reports whether long tests run. Tests with random or many cases choose their number by it.
func On() bool { return os.Getenv(Variable) == "1" }

// Test skips a test unless long tests run.
func Test(t testing.TB) {
	t.Helper()
	if !On() {
		t.Skipf("skipped: long; %s=1 runs it", Variable)
	}
}
