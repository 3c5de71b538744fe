package commands

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/run"
	"github.com/tollgate-dp/tollgate/schemas"
)

func version(a *command.App) *cobra.Command {
	var f cli.Format
	const help = "Print the version, its build, the formats that it writes and reads, and its engines"
	return a.New("version", help, func(cmd *cobra.Command) { cli.FormatFlag(cmd, &f) }, func(*cobra.Command) error {
		b := a.Build()
		return a.PrintFields(f, []any{
			"module", b.Module, "version", b.Version, "revision", b.Revision,
			"go", runtime.Version(), "platform", runtime.GOOS + "/" + runtime.GOARCH,
			"formats", command.Names(formats()),
			"engines", command.Names(run.EngineNames()),
		})
	})
}

// formats lists the formats on a deployment's topics, each with its version.
func formats() (all []string) {
	for _, f := range schemas.FormatVersions() {
		all = append(all, fmt.Sprintf("%s %d", f.Format, f.Version))
	}
	return all
}

// versionLine is what --version prints.
func versionLine(a *command.App) string {
	b := a.Build()
	return b.Module + " " + b.Version + ", revision " + b.Revision + ", " + runtime.Version()
}
