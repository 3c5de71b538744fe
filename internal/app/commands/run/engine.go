package run

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
)

const (
	direct     = "direct" // this process runs the stages
	flinkNamed = "flink"
)

// startFlink starts the workers of a cluster, which run the stages; Worker is the command that its
// machines run. Both are nil in binaries without the build tag flink.
var (
	startFlink func(a *app, f *runFlags, progress *terminal.Progress) (*pipeline.Workers, error)
	Worker     func(*command.App) *cobra.Command
)

// EngineNames returns the names of the engines in this binary.
func EngineNames() []string {
	if startFlink == nil {
		return []string{direct}
	}
	return []string{direct, flinkNamed}
}

// checkCluster refuses flags that do not go together.
func (f *runFlags) checkCluster(changed func(string) bool) error {
	cluster := f.engine == flinkNamed
	for _, name := range []string{"flink", "parallelism", "readers"} {
		if changed(name) && !cluster {
			return command.Usage(fmt.Errorf("--%s is only used with --engine flink", name))
		}
	}
	switch {
	case !cluster:
		return nil
	case startFlink == nil:
		return command.Usage(errors.New("--engine is flink, but this binary was built without it: build one with go " +
			"build -tags flink ./cmd/runner"))
	case f.flink.Reveal() == "":
		return command.Usage(errors.New("--engine flink needs --flink: the address of the JobManager's REST " +
			"interface, for example http://localhost:8081"))
	case f.parallelism < 1:
		return command.Must("parallelism", "1 or more")
	case f.readers < 0 || changed("readers") && f.readers == 0:
		return command.Must("readers", "1 or more")
	}
	return nil
}
