package run

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// engineBuilds says with which build tag a binary has an engine; "" for every binary.
var engineBuilds = map[string]string{"direct": "", "flink": "flink"}

// engine starts the workers of a cluster that run the stages; nil: this process runs them.
type engine func(a *app, f *runFlags, progress *terminal.Progress) (*pipeline.Workers, error)

// engines are those that this binary has. Files with build tags add theirs.
var engines = map[string]engine{"direct": nil}

// EngineNames returns the names of the engines that this binary has.
func EngineNames() []string { return slices.Sorted(maps.Keys(engines)) }

// TaggedCommands are those that only some builds have.
var TaggedCommands []func(*command.App) *cobra.Command

// engineValue is the value of --engine.
type engineValue struct{ name string }

// addressValue is the value of a flag for an address, which may contain a password.
type addressValue struct{ secret.URL }

func (v *addressValue) Set(text string) error {
	v.URL = secret.NewURL(text)
	return nil
}
func (v *addressValue) Type() string { return "string" }

// checkCluster refuses flags that do not go together.
func (f *runFlags) checkCluster(changed func(string) bool) error {
	cluster := f.engine.name == "flink"
	for _, name := range []string{"flink", "parallelism", "readers"} {
		if changed(name) && !cluster {
			return command.Usage(fmt.Errorf("--%s is only used with --engine flink", name))
		}
	}
	switch {
	case !cluster:
		return nil
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

func (v *engineValue) String() string { return v.name }
func (v *engineValue) Type() string   { return "direct|flink" }

func (v *engineValue) Set(text string) error {
	tag, known := engineBuilds[text]
	if !known {
		return fmt.Errorf("it must be one of %s", strings.ReplaceAll(v.Type(), "|", ", "))
	}
	_, has := engines[text]
	if !has {
		return fmt.Errorf("this binary was built without it: go build -tags %s ./cmd/runner makes one that has it", tag)
	}
	v.name = text
	return nil
}
