// Package dlq implements the commands for the dead letters of a deployment.
package dlq

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// app holds the flags that all commands of this package share.
type app struct {
	*command.App
	config   string
	classes  []string
	from, to command.TimeValue
	format   cli.Format
}

var (
	//go:embed list.txt
	listHelp string
	//go:embed show.txt
	showHelp string
	//go:embed replay.txt
	replayHelp string
)

func Command(c *command.App) *cobra.Command {
	return cli.Parent(&cobra.Command{
		Use:   "dlq",
		Short: "List, show and replay dead letters",
		Long: `List, show and replay dead letters: the records that a run could not read as events. All
numbers are exact, so these commands are for the trusted side only.`,
	}, (&app{App: c}).list(), (&app{App: c}).show(), (&app{App: c}).replay())
}

// command returns a command with the shared flags and the flags that register adds.
func (a *app) command(name, help string, register func(*pflag.FlagSet),
	work func(*cobra.Command) error) *cobra.Command {
	return a.New(name, help, func(cmd *cobra.Command) {
		a.ConfigPath(cmd, &a.config)
		flags := cmd.Flags()
		flags.StringSliceVar(&a.classes, "class", nil, "")
		flags.Var(&a.from, "from", "")
		flags.Var(&a.to, "to", "")
		register(flags)
		cli.FormatFlag(cmd, &a.format)
	}, work)
}

func (a *app) open(ctx context.Context, keys bool) (*command.Loaded, pipeline.DeadLetterChoice, error) {
	o := pipeline.DeadLetterChoice{Classes: a.classes, From: a.from.Time, To: a.to.Time}
	for _, class := range a.classes {
		if known(class) != class {
			return nil, o, command.Usage(fmt.Errorf("--class %s is not a class of dead letters: there are %s", class,
				strings.Join(event.Classes(), ", ")))
		}
	}
	d, err := a.Reach(ctx, a.config, config.Options{WithoutKeys: !keys})
	return d, o, err
}

// each calls fn for each chosen dead letter until fn returns false.
func (a *app) each(ctx context.Context, explain bool, fn func(*pipeline.DeadLetter) bool) error {
	d, o, err := a.open(ctx, false)
	if err != nil {
		return err
	}
	o.Explain = explain
	until, err := pipeline.EachDeadLetter(ctx, d.Deployment, o, fn)
	if err != nil {
		return d.Explained(err)
	}
	if !until.IsZero() {
		fmt.Fprintf(a.Stderr, "there may be more: for later dead letters give --from %s\n", until.Format(time.RFC3339))
	}
	return nil
}

// known returns class, or "other" for a text that another program has written.
func known(class string) string {
	if !slices.Contains(event.Classes(), class) {
		return "other"
	}
	return class
}

// noLetters is the text for people if there is no dead letter to print.
const noLetters = "no dead letters (with --class, --from or --to: none that match)\n"

type class struct {
	Class   string    `json:"class"`
	Records uint64    `json:"records"`
	First   time.Time `json:"first"` // the time when the first dead letter was written
	Last    time.Time `json:"last"`
}

// count adds a dead letter to its class. Dead letters come in no order of time.
func count(found map[string]*class, l *pipeline.DeadLetter) {
	name := known(l.Class)
	c := found[name]
	if c == nil {
		c = &class{Class: name, First: l.At, Last: l.At}
		found[name] = c
	}
	c.Records++
	if l.At.Before(c.First) {
		c.First = l.At
	}
	if l.At.After(c.Last) {
		c.Last = l.At
	}
}

func (a *app) list() *cobra.Command {
	return a.command("list", listHelp, func(*pflag.FlagSet) {}, func(cmd *cobra.Command) error {
		found := map[string]*class{}
		err := a.each(cmd.Context(), false, func(l *pipeline.DeadLetter) bool {
			count(found, l)
			return true
		})
		if err != nil {
			return err
		}
		all := slices.SortedFunc(maps.Values(found), func(a, b *class) int {
			return cmp.Or(cmp.Compare(b.Records, a.Records), strings.Compare(a.Class, b.Class))
		})
		return a.PrintAs(a.format, append([]*class{}, all...), func(b *strings.Builder) {
			if len(all) == 0 {
				b.WriteString(noLetters)
				return
			}
			rows := [][]string{{"class", "records", "first", "last"}}
			for _, c := range all {
				rows = append(rows, []string{c.Class, terminal.Number(float64(c.Records), 0),
					c.First.Format(time.RFC3339), c.Last.Format(time.RFC3339)})
			}
			b.WriteString(words.Table(rows...))
		})
	})
}

func (a *app) replay() *cobra.Command {
	var dryRun, yes bool
	return a.command("replay", replayHelp, func(flags *pflag.FlagSet) {
		flags.BoolVar(&dryRun, "dry-run", false, "")
		flags.BoolVar(&yes, "yes", false, "")
	}, func(cmd *cobra.Command) error {
		if dryRun == yes {
			return command.Usage(errors.New("give --dry-run to see what would become of the records, or --yes to " +
				"write them"))
		}
		d, o, err := a.open(cmd.Context(), true)
		if err != nil {
			return err
		}
		r, err := pipeline.ReplayDeadLetters(cmd.Context(), d.Deployment, o, yes)
		if err != nil {
			return d.Explained(err)
		}
		return a.PrintFields(a.format, []any{
			"chosen", r.Chosen,
			"replayed_before", r.Again,
			"cut", r.Cut,
			"of_another_topic", r.Elsewhere,
			"still_broken", r.Broken,
			"no_events", r.Skipped,
			"late", r.Late,
			"outside_of_time", r.Outside,
			"will_count", r.Counting,
			"written", r.Written,
		})
	})
}
