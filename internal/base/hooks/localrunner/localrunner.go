package localrunner

import (
	"slices"
	"strings"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
)

// Experiment is prism's name for the experiment that turns splits off.
const Experiment = "prism_disable_sdf_split"

var mu sync.Mutex

// Keep adds the experiment to the job options of this process, once. Call it before a job is
// started. Concurrent calls of Keep are safe.
func Keep() {
	mu.Lock()
	defer mu.Unlock()
	all := jobopts.GetExperiments()
	if !slices.Contains(all, Experiment) {
		*jobopts.Experiments = strings.Join(append(all, Experiment), ",")
	}
}
