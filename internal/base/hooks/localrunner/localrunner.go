package localrunner

import (
	"slices"
	"strings"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
)

// Experiment is prism's name of the experiment that turns splits off.
const Experiment = "prism_disable_sdf_split"

var mu sync.Mutex

// Keep adds Experiment to the job options of this process, unless they contain it. Call it before a
// job starts. It is safe for concurrent use.
func Keep() {
	mu.Lock()
	defer mu.Unlock()
	all := jobopts.GetExperiments()
	if !slices.Contains(all, Experiment) {
		*jobopts.Experiments = strings.Join(append(all, Experiment), ",")
	}
}
