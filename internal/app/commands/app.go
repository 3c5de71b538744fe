package commands

import (
	_ "embed"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/commands/audit"
	"github.com/tollgate-dp/tollgate/internal/app/commands/budget"
	"github.com/tollgate-dp/tollgate/internal/app/commands/change"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/demo"
	"github.com/tollgate-dp/tollgate/internal/app/commands/dlq"
	"github.com/tollgate-dp/tollgate/internal/app/commands/initialise"
	"github.com/tollgate-dp/tollgate/internal/app/commands/replay"
	"github.com/tollgate-dp/tollgate/internal/app/commands/run"
	"github.com/tollgate-dp/tollgate/internal/app/commands/serve"
	"github.com/tollgate-dp/tollgate/internal/app/commands/status"
	"github.com/tollgate-dp/tollgate/internal/app/commands/validate"
)

//go:embed tollgate.txt
var help string

// rootCommand returns the command tollgate with all others below it.
func rootCommand(a *command.App) *cobra.Command {
	root := a.New("tollgate", help, func(*cobra.Command) {}, (*cobra.Command).Help)
	root.Args = nil // cobra suggests a command
	root.Version = versionLine(a)
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(initialise.Command(a), run.Command(a), serve.Command(a), change.Command(a), status.Command(a),
		status.Statement(a), status.Forget(a), status.Promise(a), audit.Command(a), status.Recover(a),
		replay.Command(a),
		dlq.Command(a), validate.Command(a), demo.Plan(a), demo.Command(a),
		budget.Command(a), serve.Probe(a), version(a), man(a))
	if run.Worker != nil {
		root.AddCommand(run.Worker(a))
	}
	return root
}
