package python

import (
	"cmp"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Variable is the environment variable that names the interpreter; the default is python3.
const Variable = "TOLLGATE_PYTHON"

// With returns an interpreter that can import the modules. It skips the test if there is none.
func With(t testing.TB, modules ...string) string {
	t.Helper()
	name := cmp.Or(os.Getenv(Variable), "python3")
	path, err := exec.LookPath(name)
	if err == nil {
		err = exec.Command(path, "-c", "import "+strings.Join(modules, ", ")).Run()
	}
	if err != nil {
		t.Skipf("needs a Python with %s (%v): install them, or set %s to another Python; `.ci/run test` and "+
			"`.ci/run kafka` install one", strings.Join(modules, " and "), err, Variable)
	}
	return path
}
