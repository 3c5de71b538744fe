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

	"github.com/tollgate-dp/tollgate/internal/testing/workload"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// run executes the mode that the arguments select. The first two modes are for people; these modes
// start processes in the third mode.
func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	mode := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		mode, args = args[0], args[1:]
	}
	switch mode {
	case "":
		o, err := parse(args)
		if err != nil {
			return err
		}
		t, err := compare(ctx, o)
		if err != nil {
			return err
		}
		return t.write(out, o.json)
	case "realdata":
		return measureReal(ctx, args, out)
	case childMode:
		return child(ctx, in, out)
	}
	return fmt.Errorf("there is no mode %q: give realdata, or no mode", mode)
}

// options holds the flags of the comparison.
type options struct {
	load       workload.Load
	partitions int
	shards     int
	rounds     int
	cpus       int
	only       []string
	broker     string
	json       bool
}

const about = `Usage: go run . [flags]

Measures Privacy on Beam, Beam's count, a plain loop over Kafka records and Tollgate on the same
events, each in a process of its own, in interleaved rounds.

`

// parse reads the flags. It ends the program after -help or an unknown flag.
func parse(args []string) (options, error) {
	o := options{load: workload.Standard()}
	set := flag.NewFlagSet("peers", flag.ExitOnError)
	set.Usage = func() {
		fmt.Fprint(set.Output(), about)
		set.PrintDefaults()
	}
	set.IntVar(&o.load.Users, "users", o.load.Users, "users")
	set.IntVar(&o.load.Keys, "keys", o.load.Keys, "keys, all public")
	set.IntVar(&o.load.Events, "events", o.load.Events, "events")
	set.IntVar(&o.load.Windows, "windows", o.load.Windows, "windows")
	set.IntVar(&o.rounds, "rounds", 3, "rounds of measurements; the table shows their medians")
	set.IntVar(&o.partitions, "partitions", 4, "partitions of the events topic")
	set.IntVar(&o.shards, "shards", 16, "shards of the product")
	set.IntVar(&o.cpus, "cpus", min(2, runtime.NumCPU()), "GOMAXPROCS of the measured processes")
	set.BoolVar(&o.json, "json", false, "write JSON")
	set.StringVar(&o.broker, "broker", cmp.Or(os.Getenv("TOLLGATE_BROKER"), "embedded"),
		"embedded (in the measured process) or kafka (Apache Kafka in a process of its own);\nTOLLGATE_BROKER sets "+
			"the default")
	only := set.String("only", "", "contestants, separated by commas: "+strings.Join(contestantNames(), ", ")+
		" (default all)")
	if err := set.Parse(args); err != nil {
		return o, err
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	return o, o.check(set.Args())
}

func (o options) check(rest []string) error {
	known := contestantNames()
	if len(rest) > 0 {
		return fmt.Errorf("argument %q is not a flag", rest[0])
	}
	for _, name := range o.only {
		if !slices.Contains(known, name) {
			return fmt.Errorf("-only: there is no contestant %q; it must be among %s", name, strings.Join(known, ", "))
		}
	}
	if min(o.load.Users, o.load.Keys, o.load.Events, o.load.Windows, o.partitions, o.shards, o.cpus, o.rounds) < 1 {
		return errors.New("every number must be at least 1")
	}
	if brokerPlaces[o.broker] == "" {
		return fmt.Errorf("-broker: %q is neither embedded nor kafka", o.broker)
	}
	return nil
}
