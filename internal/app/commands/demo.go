package commands

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/generate"
)

// demoFlags are the flags of demo as they were given.
type demoFlags struct {
	stream generate.Config // made-up events

	inputFlags
	allWindows bool

	window                          time.Duration
	epsilon, delta, deltaKeys       float64
	accountant                      accountant
	relative, absolute, confidence  float64
	noise                           float64
	lasts                           time.Duration
	maxKeysPerUser, maxEventsPerKey int
	planned                         float64 // what choosing has spent
	chooses                         bool    // window, noise or lasts was not given
	openValues                      bool    // nor was the range of values
	given                           func(flag string) bool
	flags                           *pflag.FlagSet
	keys                            keyMode
	publicKeys                      string
	noiseKeyFile                    string
	repeat                          runValue
	report, trustedReport           string
	format                          cli.Format
	top                             int
	strict                          bool
}

// Groups of flags that go with made-up events only, and with a file only.
var (
	generatorFlags = [...]string{"seed", "events", "users", "keys-count", "windows"}
	fileFlags      = [...]string{
		"input-format", "header", "columns", "user-field", "no-user", "key-field", "time-field", "time-unit", "time-layout", "time-zone", "skip-bad-times", "skip-undecodable", "skip-bad-values", "no-value", "from", "to", "kind", "value-field", "decimals", "decimal-comma", "min",
		"max", "all-windows", "repeat",
	}
)

func (a *app) demo() *cobra.Command {
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
add up. With --noise-key-file, demo prints a name of the run on stderr; run demo again
with --repeat and that name to get the same output.

The promise is (epsilon, delta)-differential privacy for each user with all of their
events, if the times in the file are right. Without --from and --to, the data decide
how many windows there are, and this number is not protected: it can reveal a single
record with a time far away from the others. Without --public-keys, demo releases a
key only if enough users have contributed to it.

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
		Args: noArguments("--input"),
	}
	f.register(cmd)
	f.flags = cmd.Flags()
	cmd.RunE = a.run(func(cmd *cobra.Command) error { return a.runDemo(cmd.Context(), f, cmd.Flags().Changed) })
	return cmd
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
	f.kindFlags.register(flags, "default: demo chooses")
	flags.BoolVar(&f.allWindows, "all-windows", false, "continue even if the data make more than 20,000 windows")
	durationFlag(flags, &f.window, "window", 0, "size of a window, like 15m, 1h30m or 1d (default 1h for made-up events; demo chooses one for a file)")
	f.registerPromise(cmd, "demo")
	flags.Var(cli.OneOf(&f.keys, keysPublic, keysPrivate), "keys", "public: release every key of --public-keys, even with a count of zero; private: protect which keys exist (default public for made-up events and with --public-keys, else private)")
	flags.StringVar(&f.publicKeys, "public-keys", "", "file with one key per line, or a,b,c")
	flags.StringVar(&f.noiseKeyFile, "noise-key-file", "", "file with 64 hex digits; keep it secret. Every run on a file derives new noise from it, unless you give --repeat")
	flags.Var(&f.repeat, "repeat", "repeat the output of an earlier run on a file: the name that it printed on stderr; needs the same --noise-key-file, records and settings")
	flags.StringVar(&f.report, "report", "", "file for an HTML page of the released counts: charts, tables, the promise")
	flags.StringVar(&f.trustedReport, "trusted-report", "", "file for exact tallies of all records, as JSON; not for publication")
	cli.FormatFlag(cmd, &f.format)
	topFlag(cmd, &f.top)
	hiddenEngine(cmd)
	flags.BoolVar(&f.strict, "strict", false, "fail where demo only warns otherwise: more than half of the records lost before counting (exit code 4); settings with which nothing can be released, a key file that others can read (exit code 3)")
}

// registerPromise adds what is promised, and how exact values are to be.
func (f *demoFlags) registerPromise(cmd *cobra.Command, command string) {
	flags := cmd.Flags()
	flags.Float64Var(&f.epsilon, "epsilon", 1, "privacy loss ε of a user over all released counts")
	flags.Float64Var(&f.delta, "delta", 1e-6, "probability δ that the promise fails")
	flags.Float64Var(&f.deltaKeys, "delta-keys", 0, "part of δ for hiding which private keys exist (default: a tenth of δ)")
	accountantFlag(cmd, &f.accountant)
	durationFlag(flags, &f.lasts, "lasts", 0, "how long a user's budget is paid out, like 30d or 365d (default: from --from to --to, or else "+command+" chooses)")
	flags.Float64Var(&f.absolute, "absolute", 0, "target: absolute error that is always good enough; a count or sum has at least this noise, and more noise counts more events of busy users (default: "+command+" chooses)")
	flags.Float64Var(&f.noise, "noise", 0, "for means, variances, standard deviations, quantiles and histograms: the least noise of a number of events (default: "+command+" chooses)")
	flags.Float64Var(&f.relative, "relative", 0, "target: relative error beside the absolute one, 0 for none (default 0.1 for made-up events)")
	flags.Float64Var(&f.confidence, "confidence", 0.95, "target: probability that the error is no larger than the target")
	flags.IntVar(&f.maxKeysPerUser, "max-keys-per-user", 0, "cap: how many keys a user can contribute to in a window, 0 for no cap")
	flags.IntVar(&f.maxEventsPerKey, "max-events-per-key", 0, "cap: how many events a user can contribute to a key in a window, 0 for no cap")
}
