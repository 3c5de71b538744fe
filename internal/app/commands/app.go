package commands

import (
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

// rootCommand returns the command tollgate with all others below it.
func rootCommand(a *command.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "tollgate",
		Short: "Counts per window and key from Kafka, with a privacy budget for every user",
		Long: `Tollgate counts events per window and key, and adds as much noise to each count as the
accuracy target allows. Every user has a privacy budget; when a count could cost a
user more than is left, Tollgate leaves that user out of it.

To try Tollgate without Kafka: demo. On Kafka, describe a deployment in a file, check
it with validate, begin it with init and start it with run.

Exit codes:
  0  done; also if a signal ended the run after its open turn
  1  a broker, a topic, an input file or an output failed; the deployment has
     stopped itself (STOP); another run has taken over; or --wait ran out
  2  a flag is wrong
  3  the configuration or a key file is wrong; the configuration is not the one
     that the deployment has; or --strict turned a warning into an error
  4  with --strict, at the end of demo or of a run that ends: more than half of the
     records were lost before counting
  5  audit found no difference, and could not check everything
  6  audit found a difference`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.Version = versionLine(a)
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(initialise.Command(a), run.Command(a), serve.Command(a), change.Command(a), status.Command(a),
		status.Statement(a), status.Forget(a), status.Promise(a), audit.Command(a), status.Recover(a),
		replay.Command(a),
		dlq.Command(a), validate.Command(a), demo.Plan(a), demo.Command(a),
		budget.Command(a), serve.Probe(a), version(a), man(a))
	for _, tagged := range run.TaggedCommands {
		root.AddCommand(tagged(a))
	}
	return root
}
