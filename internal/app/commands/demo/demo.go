// Package demo implements the commands demo, which runs the whole pipeline in one process without
// Kafka, and plan, which recommends settings for a file or for a range of a topic. Both share the
// flags that describe a file, a promise and what to compute.
package demo

import (
	_ "embed"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/input"
	"github.com/tollgate-dp/tollgate/internal/app/generate"
	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// app gives the commands of this package access to the process around them.
type app struct{ *command.App }

var (
	//go:embed demo.txt
	demoHelp string
	//go:embed plan.txt
	planHelp string
	//go:embed flags.txt
	flagsHelp string
	//go:embed demo_output.txt
	demoOutput string
)

// newCommand returns a command whose help includes the flags that demo and plan share.
func (a *app) newCommand(use, help, window string, register func(*cobra.Command),
	work func(*cobra.Command) error) *cobra.Command {
	return a.New(use, help+"\n"+flagsHelp, register, work, "{window}", window,
		"{formats}", input.AnyFormat(), "{quoted}", input.QuotedFormats(), "{rows}", input.RowFormats(" or "),
		"{schemas}", input.SchemaFormats(), "{kinds}", spelling.List(metrickind.Names(metrickind.Offered()), " or "),
		"{valued}", spelling.List(metrickind.Names(metrickind.Valued()), " and "),
		"{also}", spelling.List(metrickind.AllAlso(), " or "))
}

func Command(c *command.App) *cobra.Command {
	a, f := &app{c}, &demoFlags{stream: generate.Defaults()}
	const window = "size of a window, like 15m, 1h30m or 1d (default 1h for made-up events; chosen for a file, from " +
		"1d on unless --time-unit or --time-layout shows that times have hours)"
	return a.newCommand("demo", demoHelp, window, f.register, func(cmd *cobra.Command) error {
		return a.runDemo(cmd.Context(), f, cmd.Flags().Changed)
	})
}
