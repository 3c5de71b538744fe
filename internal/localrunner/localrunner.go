package localrunner

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
)

// Experiment is prism's name for the experiment that turns splits off.
const Experiment = "prism_disable_sdf_split"

var mu sync.Mutex

// Keep adds the experiment to the job options of this process, once. It is safe for concurrent use
// with itself; call it before the job is started.
func Keep() {
	mu.Lock()
	defer mu.Unlock()
	all := jobopts.GetExperiments()
	for _, e := range all {
		if e == Experiment {
			return
		}
	}
	*jobopts.Experiments = strings.Join(append(all, Experiment), ",")
}

// CheckTempDir refuses a directory of temporary files that cannot be written: the local runner
// keeps a file there, and panics without.
func CheckTempDir() error {
	file, err := os.CreateTemp("", "tollgate-*")
	if err != nil {
		return fmt.Errorf("the engine needs a directory for temporary files, and %s cannot be written: set TMPDIR to another: %w", os.TempDir(), err)
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}
