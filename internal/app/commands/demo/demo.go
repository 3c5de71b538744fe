// Package demo has the commands that need no Kafka: demo runs the whole pipeline in one process,
// and plan recommends settings for a file or for a stretch of a topic. Both share the flags that
// describe a file, a promise and what to compute.
package demo

import (
	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/generate"
)

// app is what the commands of this package use of the world outside.
type app struct{ *command.App }

func Command(c *command.App) *cobra.Command {
	a := &app{c}
	f := &demoFlags{stream: generate.Defaults()}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run everything in one process, on made-up events or on your own file",
		Long: `Run the whole pipeline in one process, with an embedded broker in place of Kafka, and
print the counts: as a table and a chart, or as JSON lines.

Without --input, demo makes the events up: users and pages by Zipf's law, a daily
rhythm, some late and some broken records. The noise also comes from --seed, so that
you can repeat a run; such noise protects no user.

With --input FILE, demo counts your own events. The file may be of any size and in any
order. demo leaves out broken records and reports them. Every run draws new noise and makes
a promise of its own: over several runs, the privacy losses of the users in the file
add up.

The promise is (epsilon, delta)-differential privacy for each user with all of their
events, if the times in the file are right. Without --from and --to, the data decide
how many windows there are, and this number is not protected: it can reveal a single
record with a time far away from the others. Without --public-keys, demo releases a
key only if enough of its events count.

--kind says what demo computes from a file: the number of events or users, or the sum,
mean, variance, standard deviation, quantiles or histogram of a field of numbers. Values
outside --min and --max count as the nearer of the two. Without them, demo chooses a
range and pays for it from the promise. For a histogram, give them, or --edges.`,
		Example: `  tollgate demo
  tollgate demo --relative 0.05 --events 2000000
  tollgate demo --input visits.csv --header --user-field user --key-field page \
    --time-field when --time-unit rfc3339 --window 24h
  tollgate demo --input orders.csv --header --user-field user --key-field country \
    --time-field when --kind mean --value-field amount --min 0 --max 200`,
		Args: command.NoArguments("--input"),
	}
	f.register(cmd)
	f.flags = cmd.Flags()
	cmd.RunE = a.Run(func(cmd *cobra.Command) error { return a.runDemo(cmd.Context(), f, cmd.Flags().Changed) })
	cli.GroupHelp(cmd, usualFlags()...)
	return cmd
}
