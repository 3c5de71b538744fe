package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/config"
	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/plan"
	"github.com/tollgate-dp/tollgate/pipeline"
)

func (a *app) validate() *cobra.Command {
	var (
		path    string
		offline bool
		strict  bool
		f       format
	)
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check a configuration, and say what it promises and how long its budget lasts",
		Long: `Check a configuration file and everything that follows from it: what is promised to
users, and for every metric how much noise its counts have at first and at least (as
standard deviation σ), which counts can meet the target, and in how many windows every
user can take part.

Then look at the topics on the brokers, and at the deployment that they have, as
"runner run" does before it reads. A difference that "runner change" could put in
force is reported; a difference that can never be put in force is an error. --offline
leaves all that out. Key files that do not exist yet are not an error.`,
		Example: `  runner validate --config tollgate.yaml --offline
  runner validate --config tollgate.yaml --format json`,
		Args: noArguments("--config"),
	}
	cmd.Flags().SortFlags = false
	configPath(cmd, &path)
	cmd.Flags().BoolVar(&offline, "offline", false, "do not look at the brokers")
	strictFlag(cmd, &strict)
	formatFlag(cmd, &f)
	cmd.RunE = a.run(func(cmd *cobra.Command) error { return a.runValidate(cmd.Context(), path, offline, strict, f) })
	return cmd
}

func (a *app) runValidate(ctx context.Context, path string, offline, strict bool, f format) error {
	d, err := a.load(path, config.Options{MissingKeys: true})
	if err != nil {
		return err
	}
	for _, name := range d.file.Missing {
		how := "runner init --generate-keys, or openssl rand -hex 32 > " + name
		if variable, ok := strings.CutPrefix(name, "$"); ok {
			how = "export " + variable + "=$(openssl rand -hex 32), and keep that key"
		}
		fmt.Fprintf(a.stderr, "there is no key in %s yet: make one with %s\n", name, how)
	}
	if err := a.printPlan(plan.New(d.Deployment), f); err != nil {
		return err
	}
	if err := a.doubts(d, strict); err != nil || offline {
		return err
	}
	look := a.checking(strict)
	look.Start = true
	err = pipeline.CheckTopics(ctx, d.Deployment, look)
	switch {
	case errors.Is(err, kafkalog.ErrUnreachable):
		return fmt.Errorf("%w (--offline checks the file alone)", err)
	case err != nil:
		return d.explained(err)
	}
	fmt.Fprintln(a.stderr, "the topics are as they must be")
	return nil
}

func (a *app) printPlan(p *plan.Plan, f format) error {
	var b strings.Builder
	if f == formatJSON {
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(p); err != nil {
			return fmt.Errorf("encoding the plan: %w", err)
		}
	} else {
		writePromise(&b, p)
		writeMetrics(&b, p)
		writeLimits(&b, p)
	}
	if _, err := a.stdout.Write([]byte(b.String())); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}
