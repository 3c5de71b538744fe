package localrunner

import (
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
