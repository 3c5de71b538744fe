package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/workload"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.As(err, new(usageError)):
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// A usageError is a mistake in the arguments.
type usageError struct{ error }

// run does what the arguments say. The first four modes are for people, the others are the
// processes that these start.
func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	mode := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		mode, args = args[0], args[1:]
	}
	switch mode {
	case "", "soak":
		o, err := parse(mode, args, out)
		if err != nil {
			return err
		}
		t, err := map[string]func(context.Context, options) (table, error){"": compare, "soak": soak}[mode](ctx, o)
		if err != nil {
			return err
		}
		return t.write(out, o.format)
	case "errors":
		if len(args) > 0 {
			return usageError{fmt.Errorf("%s takes no argument, and %q was given", mode, args[0])}
		}
		t, err := compareErrors(ctx)
		if err != nil {
			return err
		}
		return t.write(out, "text")
	case "realdata":
		return measureReal(ctx, args, out)
	case childMode:
		return child(ctx, in, out)
	case brokerMode:
		return serveBroker(in, out)
	case liveMode:
		return live(ctx, in)
	}
	return usageError{fmt.Errorf("there is no mode %q: soak, errors, realdata, or none", mode)}
}

// options are the flags of all modes.
type options struct {
	load       workload.Load
	partitions int
	shards     int
	rounds     int
	cpus       int
	only       []string
	broker     string
	format     string
	soak       soakOptions
}

// parse reads the flags of a mode. Its errors are flag.ErrHelp and usageError.
func parse(mode string, args []string, out io.Writer) (options, error) {
	o := options{load: workload.Standard()}
	set := flag.NewFlagSet(strings.TrimSpace("peers "+mode), flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.IntVar(&o.load.Users, "users", o.load.Users, "users")
	set.IntVar(&o.load.Keys, "keys", o.load.Keys, "keys, all public")
	set.IntVar(&o.partitions, "partitions", 4, "partitions of the events topic")
	set.IntVar(&o.shards, "shards", 16, "shards of the product")
	set.IntVar(&o.cpus, "cpus", min(2, runtime.NumCPU()), "GOMAXPROCS of what is measured")
	set.StringVar(&o.format, "format", "text", "text, markdown or json")
	broker, brokers := "embedded", "embedded (in the process), apart (embedded, in a process of its own) or kafka (Apache Kafka as a process)"
	only := ""
	switch mode {
	case "soak":
		broker, brokers = "kafka", "apart (embedded, in a process of its own) or kafka (Apache Kafka as a process)"
		o.soak.addFlags(set)
	default:
		set.StringVar(&only, "only", "", "contestants, by commas: "+strings.Join(contestantNames(), ", ")+" (default all)")
	}
	if mode != "soak" {
		set.IntVar(&o.load.Events, "events", o.load.Events, "events")
		set.IntVar(&o.load.Windows, "windows", o.load.Windows, "windows")
		set.IntVar(&o.rounds, "rounds", 3, "how often everything is measured; the table has medians")
	}
	set.StringVar(&o.broker, "broker", cmp.Or(os.Getenv("TOLLGATE_BROKER"), broker), brokers+"; the environment's TOLLGATE_BROKER is the default where it is set")
	if err := set.Parse(args); errors.Is(err, flag.ErrHelp) {
		set.SetOutput(out)
		fmt.Fprintf(out, "Usage: go run . %s\n\n", strings.TrimSpace(mode+" [flags]"))
		fmt.Fprintf(out, "%s\n\n", about[mode])
		set.PrintDefaults()
		return o, err
	} else if err != nil {
		return o, usageError{err}
	}
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	return o, o.check(mode, set.Args())
}

var about = map[string]string{
	"":     "Measures Privacy on Beam, Beam's count, a plain loop over Kafka records and this product on the\nsame events, each in a process of its own, interleaved over some rounds.",
	"soak": "Runs this product on live events for some minutes, and says how long after its end a window's\nvalues could be read, and how much memory that took.",
}

func (o options) check(mode string, rest []string) error {
	known := contestantNames()
	if len(rest) > 0 {
		return usageError{fmt.Errorf("argument %q is not a flag", rest[0])}
	}
	for _, name := range o.only {
		if !slices.Contains(known, name) {
			return usageError{fmt.Errorf("-only: there is no %q; there are %s", name, strings.Join(known, ", "))}
		}
	}
	least := []int{o.load.Users, o.load.Keys, o.partitions, o.shards, o.cpus}
	if mode == "soak" {
		if o.soak.window < time.Second || o.soak.window%time.Millisecond != 0 {
			return usageError{errors.New("-window: windows last a second at least, in whole milliseconds")}
		}
		least = append(least, o.soak.rate, int(o.soak.lasts/o.soak.window), int(o.soak.report/o.soak.window))
	} else {
		least = append(least, o.load.Events, o.load.Windows, o.rounds)
	}
	for _, n := range least {
		if n < 1 {
			return usageError{errors.New("every number is at least 1, and -for and -report at least a -window")}
		}
	}
	if where[o.broker] == "" || mode == "soak" && o.broker == "embedded" {
		return usageError{fmt.Errorf("-broker: %q is not one of those that --help names", o.broker)}
	}
	if !slices.Contains([]string{"text", "markdown", "json"}, o.format) {
		return usageError{fmt.Errorf("-format: %q is not text, markdown or json", o.format)}
	}
	return nil
}
