package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/pipeline"
)

// changeFlags are the flags of change as they were given.
type changeFlags struct {
	config       string
	dryRun       bool
	createTopics bool
	replication  int
	generateKeys bool
	format       format
}

func (a *app) change() *cobra.Command {
	f := &changeFlags{}
	cmd := &cobra.Command{
		Use:   "change",
		Short: "Change a deployment between two runs: metrics, bounds, keys, shards",
		Long: `Put a changed configuration in force after the last settled turn, as a new generation
on the control topic that every later run follows. End the run first (SIGTERM); no
turn may be under way. Accounts stay as they are, and so do the open windows of every
metric that keeps its name and its public keys. Windows that a change cuts short are
never released.

What can be changed: metrics can be added and removed; bounds, ladders, targets,
public keys, lateness, the noise key and ledger slots; the budget, downwards; the
number of shards together with the name of the ledger topic, and the number of
release shards together with the name of the counts topic. What a metric's name
stands for never changes: to count something else, use another name. The promise never
becomes weaker: metrics with private keys can be added only where privacy.delta_keys
was reserved from the start, and that part stays when they are removed. The
accountant, the period, the user-hash key and the field of the user in a record never
change.

To rotate the noise key, name a new one under keys.noise with a new id. After the
change no turn needs the old one any more, and it can be destroyed.

--dry-run says what would change, also while a run goes on.`,
		Example: `  runner change --config tollgate.yaml --dry-run
  runner change --config tollgate.yaml --generate-keys --create-topics`,
		Args: noArguments("--config"),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	configPath(cmd, &f.config)
	flags.BoolVar(&f.dryRun, "dry-run", false, "say what would change, and change nothing")
	flags.BoolVar(&f.createTopics, "create-topics", false, "make those of the deployment's topics that do not exist")
	flags.IntVar(&f.replication, "replication", 0, "with --create-topics: replicas of each partition (default: the brokers' setting)")
	flags.BoolVar(&f.generateKeys, "generate-keys", false, "make the key files that do not exist")
	formatFlag(cmd, &f.format)
	cmd.RunE = a.run(func(cmd *cobra.Command) error { return a.runChange(cmd.Context(), f) })
	return cmd
}

func (a *app) runChange(ctx context.Context, f *changeFlags) error {
	switch {
	case f.dryRun && (f.createTopics || f.generateKeys):
		return usage(errors.New("--dry-run makes nothing: leave --create-topics and --generate-keys out"))
	case f.replication != 0 && !f.createTopics:
		return usage(errors.New("--replication goes with --create-topics"))
	case f.replication < 0 || f.replication > 1<<15-1:
		return usage(fmt.Errorf("--replication is %d: it must be from 1 to %d", f.replication, 1<<15-1))
	}
	d, err := a.prepare(f.config, f.generateKeys)
	if err != nil {
		return err
	}
	if err := a.doubts(d, false); err != nil {
		return err
	}
	if f.createTopics {
		if err := a.createTopics(ctx, d, pipeline.TopicOptions{Replication: f.replication}); err != nil {
			return err
		}
	}
	result, err := pipeline.Change(ctx, d.Deployment, pipeline.ChangeOptions{DryRun: f.dryRun, Logger: a.checking(false).Logger})
	if err != nil {
		return d.explained(err)
	}
	return a.printChange(f, result)
}

// changed is a change as JSON.
type changed struct {
	Changes       []string   `json:"changes"`
	DryRun        bool       `json:"dry_run"`
	Generation    uint32     `json:"generation,omitempty"`
	FromTurn      uint64     `json:"from_turn,omitempty"`
	From          *time.Time `json:"from,omitempty"`
	CarriedOn     []string   `json:"carried_on"`
	GivenUp       []string   `json:"given_up"`
	RetiredKey    string     `json:"retired_key,omitempty"`
	RetiredTopics []string   `json:"retired_topics"`
}

func (a *app) printChange(f *changeFlags, r pipeline.ChangeResult) error {
	out := changed{Changes: []string{}, DryRun: f.dryRun, CarriedOn: append([]string{}, r.CarriedOn...),
		GivenUp: append([]string{}, r.GivenUp...), RetiredTopics: append([]string{}, r.RetiredTopics...), RetiredKey: r.RetiredKey}
	for _, d := range r.Differences {
		out.Changes = append(out.Changes, d.What)
	}
	if len(r.Differences) > 0 {
		out.Generation, out.FromTurn, out.From = r.Generation, r.FromTurn, &r.From
	}
	if f.format == formatJSON {
		text, err := json.MarshalIndent(out, "", "  ")
		if err == nil {
			_, err = a.stdout.Write(append(text, '\n'))
		}
		if err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
		return nil
	}
	if _, err := a.stdout.Write([]byte(out.text(f.config))); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

func (c *changed) text(file string) string {
	var b strings.Builder
	if len(c.Changes) == 0 {
		return "nothing to change: this configuration is in force already\n"
	}
	verb := "is in force"
	if c.DryRun {
		verb = "would be in force"
	}
	fmt.Fprintf(&b, "generation %d %s from %s on (turn %d)\n\nchanged:\n", c.Generation, verb, c.From.Format(time.RFC3339), c.FromTurn)
	for _, what := range c.Changes {
		fmt.Fprintf(&b, "  %s\n", what)
	}
	list := func(what string, names []string) {
		if len(names) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", what, strings.Join(names, ", "))
		}
	}
	b.WriteString("\n")
	list("metrics whose open windows go on", c.CarriedOn)
	list("metrics whose open windows are given up", c.GivenUp)
	if c.DryRun {
		return b.String()
	}
	if c.RetiredKey != "" {
		fmt.Fprintf(&b, "no turn needs noise key %s any more: destroy it, and every copy\n", c.RetiredKey)
	}
	list("topics that no run reads any more", c.RetiredTopics)
	fmt.Fprintf(&b, "\nnext: runner run --config %s\n", file)
	return b.String()
}
