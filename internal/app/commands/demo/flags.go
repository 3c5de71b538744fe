package demo

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/generate"
)

// demoFlags are the flags of demo as they were given.
type demoFlags struct {
	stream generate.Config // made-up events

	inputFlags
	allWindows bool

	chooses               bool // a setting is chosen: window, noise, lasts or the range of values was not given
	openValues            bool // the range of values was not given
	given                 func(flag string) bool
	flags                 *pflag.FlagSet
	publicKeys            string
	report, trustedReport string
	format                cli.Format
	strict                bool
}

// generatorFlags returns the flags for made-up events only, and fileFlags those for a file only.
func generatorFlags() []string { return []string{"seed", "events", "users", "keys-count", "windows"} }

func fileFlags() []string {
	names := cli.FlagNames(func(flags *pflag.FlagSet) { new(inputFlags).register(flags) })
	return append(slices.DeleteFunc(names, func(name string) bool { return name == "input" }), "all-windows")
}

func (f *demoFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.registerShared(flags, func() {
		command.DurationFlag(flags, &f.Window, "window", 0, "")
	})
	flags.BoolVar(&f.allWindows, "all-windows", false, "")
	s := &f.stream
	flags.Uint64Var(&s.Seed, "seed", s.Seed, "")
	flags.IntVar(&s.Events, "events", s.Events, "")
	flags.IntVar(&s.Users, "users", s.Users, "")
	flags.IntVar(&s.Keys, "keys-count", s.Keys, "")
	flags.IntVar(&s.Windows, "windows", s.Windows, "")
	cli.FormatFlag(cmd, &f.format)
	flags.StringVar(&f.report, "report", "", "")
	flags.StringVar(&f.trustedReport, "trusted-report", "", "")
	flags.BoolVar(&f.strict, "strict", false, "")
}

// registerShared adds the flags that demo and plan share: the file, what to compute, how accurate
// values must be, and the promise. windows adds the flags that differ between the two. The help
// lists all flags in this order.
func (f *demoFlags) registerShared(flags *pflag.FlagSet, windows func()) {
	f.flags = flags
	f.inputFlags.register(flags)
	windows()
	flags.StringVar(&f.publicKeys, "public-keys", "", "")
	flags.Float64Var(&f.Target.Absolute, "absolute", 0, "")
	flags.Float64Var(&f.Noise, "noise", 0, "")
	flags.Float64Var(&f.Target.Relative, "relative", 0, "")
	flags.Float64Var(&f.Target.Confidence, "confidence", 0.95, "")
	flags.Float64Var(&f.Epsilon, "epsilon", 1, "")
	flags.Float64Var(&f.Delta, "delta", 1e-6, "")
	flags.Float64Var(&f.DeltaKeys, "delta-keys", 0, "")
	command.AccountantFlag(flags, &f.Accountant)
	command.DurationFlag(flags, &f.Lasts, "lasts", 0, "")
	flags.IntVar(&f.MaxKeysPerUser, "max-keys-per-user", 0, "")
	flags.IntVar(&f.MaxEventsPerKey, "max-events-per-key", 0, "")
}
