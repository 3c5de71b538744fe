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
		new(kindFlags).register(flags, new(chosenFlags), "")
	})
	return append(slices.DeleteFunc(names, func(name string) bool { return name == "input" }), "all-windows")
}

func (f *demoFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	s := &f.stream
	flags.Uint64Var(&s.Seed, "seed", s.Seed, "made-up events: another seed gives other events and other noise")
	flags.IntVar(&s.Events, "events", s.Events, "made-up events: how many")
	flags.IntVar(&s.Users, "users", s.Users, "made-up events: how many users may appear")
	flags.IntVar(&s.Keys, "keys-count", s.Keys, "made-up events: how many keys may appear")
	flags.IntVar(&s.Windows, "windows", s.Windows, "made-up events: how many windows")

	f.inputFlags.register(flags)
	flags.BoolVar(&f.allWindows, "all-windows", false, "continue even if the data make more than 20,000 windows")
	cli.Group(flags, "Input")
	f.kindFlags.register(flags, &f.chosenFlags, "default: demo chooses")
	command.DurationFlag(flags, &f.window, "window", 0,
		"size of a window, like 15m, 1h30m or 1d (default 1h for made-up events; demo chooses one for a file)")
	f.registerTarget(flags, "demo")
	cli.Group(flags, "What to compute")
	flags.Var(cli.OneOf(&f.keys, keysPublic, keysPrivate), "keys", "public: release every key of --public-keys, even "+
		"with a count of zero; "+
		"private: protect which keys exist (default public for made-up events and with --public-keys, else private)")
	flags.StringVar(&f.publicKeys, "public-keys", "", "file with one key per line, or a,b,c")
	f.registerPromise(cmd, "demo")
	cli.Group(flags, "Privacy")
	cli.FormatFlag(cmd, &f.format)
	command.TopFlag(cmd, &f.top)
	flags.StringVar(&f.report, "report", "", "file for an HTML page of the released counts: charts, tables, the "+
		"promise")
	flags.StringVar(&f.trustedReport, "trusted-report", "", "file for exact tallies of all records, as JSON; not for "+
		"publication")
	flags.BoolVar(&f.strict, "strict", false, "fail where demo only warns otherwise: more than half of the records "+
		"lost before counting (exit code 4); "+
		"settings with which nothing can be released (exit code 3)")
	cli.Group(flags, "Output")
}

// registerPromise adds what is promised.
func (f *demoFlags) registerPromise(cmd *cobra.Command, name string) {
	flags := cmd.Flags()
	flags.Float64Var(&f.epsilon, "epsilon", 1, "privacy loss ε of a user over all released counts")
	flags.Float64Var(&f.delta, "delta", 1e-6, "probability δ by which results may go beyond ε")
	flags.Float64Var(&f.deltaKeys, "delta-keys", 0, "part of δ for hiding which private keys exist (default: a tenth "+
		"of δ)")
	command.AccountantFlag(cmd, &f.accountant)
	command.DurationFlag(flags, &f.lasts, "lasts", 0,
		"how long a user's budget is paid out, like 30d or 365d (default: from --from to --to, or else "+name+
			" chooses)")
	flags.IntVar(&f.maxKeysPerUser, "max-keys-per-user", 0, "cap: how many keys a user can contribute to in a window, "+
		"0 for no cap")
	flags.IntVar(&f.maxEventsPerKey, "max-events-per-key", 0, "cap: how many events a user can contribute to a key in "+
		"a window, 0 for no cap")
}

// registerTarget adds how exact values are to be.
func (f *demoFlags) registerTarget(flags *pflag.FlagSet, name string) {
	flags.Float64Var(&f.absolute, "absolute", 0, "target: absolute error that is always good enough; a count or sum "+
		"has at least this noise, "+
		"and more noise counts more events of busy users (default: "+name+" chooses)")
	flags.Float64Var(&f.noise, "noise", 0,
		"for means, variances, standard deviations, quantiles and histograms: the least noise of a number of events "+
			"(default: "+name+" chooses)")
	flags.Float64Var(&f.relative, "relative", 0, "target: relative error beside the absolute one, 0 for none (default "+
		"0.1 for made-up events)")
	flags.Float64Var(&f.confidence, "confidence", 0.95, "target: probability that the error is no larger than the "+
		"target")
}

// usualFlags are those that --help shows.
func usualFlags() []string {
	return []string{
		"input", "header", "user-field", "key-field", "time-field", "kind", "value-field", "min", "max", "window",
		"public-keys", "epsilon", "delta", "report", "format",
	}
}

// keyMode is the value of --keys; "" until it is given.
type keyMode string

const (
	keysPublic  keyMode = "public"
	keysPrivate keyMode = "private"
)
