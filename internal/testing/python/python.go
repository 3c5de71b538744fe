package python

import (
	"cmp"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Variable names an interpreter that has the modules; default: python3.
const Variable = "TOLLGATE_PYTHON"

// With returns an interpreter with the modules, or skips the test.
func With(t testing.TB, modules ...string) string {
	t.Helper()
	name := cmp.Or(os.Getenv(Variable), "python3")
	path, err := exec.LookPath(name)
	if err == nil {
		err = exec.Command(path, "-c", "import "+strings.Join(modules, ", ")).Run()
	}
	if err != nil {
		t.Skipf("needs a Python with %s (%v): install them, or name one with %s; `.ci/run test` and `.ci/run "+
			"kafka` make one", strings.Join(modules, " and "), err, Variable)
	}
	return path
}
