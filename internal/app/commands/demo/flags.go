package demo

import (
	"slices"
	"time"

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

	chosenFlags
	delta, deltaKeys                float64
	accountant                      command.Accountant
	relative, confidence            float64
	maxKeysPerUser, maxEventsPerKey int
	planned                         float64 // what choosing has spent
	chooses                         bool    // window, noise or lasts was not given
	openValues                      bool    // nor was the range of values
	given                           func(flag string) bool
	flags                           *pflag.FlagSet
	keys                            keyMode
	publicKeys                      string
	report, trustedReport           string
	format                          cli.Format
	top                             int
	strict                          bool
}

// chosenFlags are those that a setting decides, unless they were given.
type chosenFlags struct {
	window, lasts            time.Duration
	epsilon, absolute, noise float64
	min, max                 int64
}

// generatorFlags returns the flags that go with made-up events only, and fileFlags those that go
// with a file only.
func generatorFlags() []string { return []string{"seed", "events", "users", "keys-count", "windows"} }

func fileFlags() []string {
	names := cli.FlagNames(func(flags *pflag.FlagSet) {
		new(inputFlags).register(flags)
		new(kindFlags).register(flags, new(chosenFlags))
	})
	return append(slices.DeleteFunc(names, func(name string) bool { return name == "input" }), "all-windows")
}

func (f *demoFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.flags = flags
	f.inputFlags.register(flags)
	flags.BoolVar(&f.allWindows, "all-windows", false, "")
	s := &f.stream
	flags.Uint64Var(&s.Seed, "seed", s.Seed, "")
	flags.IntVar(&s.Events, "events", s.Events, "")
	flags.IntVar(&s.Users, "users", s.Users, "")
	flags.IntVar(&s.Keys, "keys-count", s.Keys, "")
	flags.IntVar(&s.Windows, "windows", s.Windows, "")
	f.kindFlags.register(flags, &f.chosenFlags)
	command.DurationFlag(flags, &f.window, "window", 0, "")
	flags.Var(cli.OneOf(&f.keys, keysPublic, keysPrivate), "keys", "")
	flags.StringVar(&f.publicKeys, "public-keys", "", "")
	f.registerPromise(flags)
	cli.FormatFlag(cmd, &f.format)
	command.TopFlag(cmd, &f.top)
	flags.StringVar(&f.report, "report", "", "")
	flags.StringVar(&f.trustedReport, "trusted-report", "", "")
	flags.BoolVar(&f.strict, "strict", false, "")
}

// registerPromise adds how exact values are to be, and what is promised.
func (f *demoFlags) registerPromise(flags *pflag.FlagSet) {
	flags.Float64Var(&f.absolute, "absolute", 0, "")
	flags.Float64Var(&f.noise, "noise", 0, "")
	flags.Float64Var(&f.relative, "relative", 0, "")
	flags.Float64Var(&f.confidence, "confidence", 0.95, "")
	flags.Float64Var(&f.epsilon, "epsilon", 1, "")
	flags.Float64Var(&f.delta, "delta", 1e-6, "")
	flags.Float64Var(&f.deltaKeys, "delta-keys", 0, "")
	command.AccountantFlag(flags, &f.accountant)
	command.DurationFlag(flags, &f.lasts, "lasts", 0, "")
	flags.IntVar(&f.maxKeysPerUser, "max-keys-per-user", 0, "")
	flags.IntVar(&f.maxEventsPerKey, "max-events-per-key", 0, "")
}

// keyMode is the value of --keys; "" until it is given.
type keyMode string

const (
	keysPublic  keyMode = "public"
	keysPrivate keyMode = "private"
)
