// Package dlq has the commands for the dead letters of a deployment.
package dlq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// app is what the commands of this package use of the world outside.
type app struct{ *command.App }

// flags are those that all commands of this package have.
type flags struct {
	config   string
	classes  []string
	from, to command.TimeValue
	format   cli.Format
}

func Command(c *command.App) *cobra.Command {
	a := &app{c}
	cmd := &cobra.Command{
		Use:   "dlq",
		Short: "List, show and replay dead letters",
		Long: `List, show and replay dead letters: the records that a run could not read as events. All
numbers are exact and individual records are shown, so these commands are for the trusted
side only.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.list(), a.show(), a.replay())
	return cmd
}

func (a *app) flags(cmd *cobra.Command, f *flags) {
	cmd.Args = command.NoArguments("--config")
	cmd.Flags().SortFlags = false
	a.ConfigPath(cmd, &f.config)
	cmd.Flags().StringSliceVar(&f.classes, "class", nil, "only dead letters of this class (can be repeated; default: "+
		"all)")
	cmd.Flags().Var(&f.from, "from", "only dead letters that were written at this time or later")
	cmd.Flags().Var(&f.to, "to", "only dead letters that were written before this time")
	cli.FormatFlag(cmd, &f.format)
}

// choice checks the classes.
func (f *flags) choice() (o pipeline.DeadLetterChoice, err error) {
	for _, class := range f.classes {
		if !slices.Contains(event.Classes(), class) {
			return o, command.Usage(fmt.Errorf("--class %s is no class of dead letters: there are %s",
				class, strings.Join(event.Classes(), ", ")))
		}
	}
	return pipeline.DeadLetterChoice{Classes: f.classes, From: f.from.Time, To: f.to.Time}, nil
}

func (a *app) reach(ctx context.Context, f *flags, keys bool) (o pipeline.DeadLetterChoice, d *command.Loaded,
	err error) {
	if o, err = f.choice(); err != nil {
		return o, nil, err
	}
	d, err = a.Reach(ctx, f.config, config.Options{WithoutKeys: !keys})
	return o, d, err
}

// class is what list shows of a class of dead letters.
type class struct {
	Class   string    `json:"class"`
	Records uint64    `json:"records"`
	First   time.Time `json:"first"` // when it was written
	Last    time.Time `json:"last"`
}

func (a *app) list() *cobra.Command {
	f := &flags{}
	limit := 0
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Count dead letters by class",
		Long: `Count dead letters by class, with the times at which the first and the last one were
written. list shows nothing of the records themselves. After a crash, a dead letter can be
on the topic twice.`,
		Example: "  tollgate dlq list --config tollgate.yaml --from 2026-03-01",
	}
	a.flags(cmd, f)
	cmd.Flags().IntVar(&limit, "limit", pipeline.MaxDeadLetters, "read at most this many dead letters")
	cmd.RunE = a.Run(func(cmd *cobra.Command) error {
		if limit < 1 {
			return command.Must("limit", "at least 1")
		}
		o, d, err := a.reach(cmd.Context(), f, false)
		if err != nil {
			return err
		}
		found := map[string]*class{} // no more than there are classes
		until, err := pipeline.EachDeadLetter(cmd.Context(), d.Deployment, o, limit, func(l *pipeline.DeadLetter) bool {
			name := known(l.Class)
			c := found[name]
			if c == nil {
				c = &class{Class: name, First: l.At, Last: l.At}
				found[name] = c
			}
			c.Records++
			if l.At.After(c.Last) {
				c.Last = l.At
			}
			return true
		})
		if err != nil {
			return d.Explained(err)
		}
		all := slices.SortedFunc(maps.Values(found), func(a, b *class) int {
			return cmp.Or(cmp.Compare(b.Records, a.Records), strings.Compare(a.Class, b.Class))
		})
		a.reached(until)
		return a.PrintAs(f.format, append([]*class{}, all...), func(b *strings.Builder) {
			rows := [][]string{{"class", "records", "first", "last"}}
			for _, c := range all {
				rows = append(rows, []string{c.Class, terminal.Number(float64(c.Records), 0),
					c.First.Format(time.RFC3339), c.Last.Format(time.RFC3339)})
			}
			b.WriteString(words.Table(rows...))
		})
	})
	return cmd
}

// known returns a class, or "other" for a text that another program has written there.
func known(class string) string {
	if !slices.Contains(event.Classes(), class) {
		return "other"
	}
	return class
}

// reached reports that not all dead letters were read.
func (a *app) reached(until time.Time) {
	if !until.IsZero() {
		fmt.Fprintf(a.Stderr, "the limit was reached: give a larger --limit, or --from %s for later dead letters\n",
			until.Format(time.RFC3339))
	}
}

func (a *app) replay() *cobra.Command {
	f := &flags{}
	var dryRun, yes bool
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Write the originals of dead letters to the events topic again",
		Long: `Write the originals of dead letters to the events topic again, after you have corrected
the configuration or registered a schema. With --dry-run, replay shows what would become
of them. With --yes, it writes the records that the configuration can read now and whose
windows are open. Late ones would not count.

Each record goes to its partition, with its key, headers and timestamp, and with its
origin in the header tollgate-replayed. If you repeat a replay, even one that was
interrupted, it leaves out records that are there already. Do not run two at once. If the
producer has sent a corrected record as well, the event counts twice, and its user pays
for both. Newer records decide which records are late (docs/guarantee.md, section 1).`,
		Example: `  tollgate dlq replay --config tollgate.yaml --class unknown_schema --dry-run
  tollgate dlq replay --config tollgate.yaml --class unknown_schema --yes`,
	}
	a.flags(cmd, f)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would become of the records, and write nothing")
	cmd.Flags().BoolVar(&yes, "yes", false, "write the records")
	cmd.RunE = a.Run(func(cmd *cobra.Command) error {
		if dryRun == yes {
			return command.Usage(errors.New("give --dry-run to see what would become of the records, or --yes to " +
				"write them"))
		}
		o, d, err := a.reach(cmd.Context(), f, true)
		if err != nil {
			return err
		}
		r, err := pipeline.ReplayDeadLetters(cmd.Context(), d.Deployment, o, yes)
		if err != nil {
			return d.Explained(err)
		}
		return a.PrintAs(f.format, r, func(b *strings.Builder) { writeReplay(b, r) })
	})
	return cmd
}

func writeReplay(b *strings.Builder, r pipeline.DeadLetterReplay) {
	rows := [][]string{}
	for _, row := range []struct {
		name    string
		records uint64
	}{
		{"chosen dead letters", r.Chosen},
		{"replayed before, or twice on the topic", r.Again},
		{"cut: the dead letter does not have all of the record", r.Cut},
		{"of another events topic", r.Elsewhere},
		{"still broken by this configuration", r.Broken},
		{"no events by this configuration", r.Skipped},
		{"late: their windows are closed", r.Late},
		{"before the start or of the future", r.Outside},
		{"will count", r.Counting},
		{"written", r.Written},
	} {
		rows = append(rows, []string{row.name, terminal.Number(float64(row.records), 0)})
	}
	b.WriteString(words.Table(rows...))
}
