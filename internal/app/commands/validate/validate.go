// Package validate has the command that checks a configuration and shows what follows from it.
package validate

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/initialise"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/plan"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// app is what the commands of this package use of the world outside.
type app struct{ *command.App }

// validateFlags are the flags of validate as they were given.
type validateFlags struct {
	config                 string
	offline, exact, strict bool
	format                 cli.Format
}

//go:embed validate.txt
var help string

func Command(c *command.App) *cobra.Command {
	a, f := &app{c}, &validateFlags{}
	return a.New("validate", help, func(cmd *cobra.Command) {
		a.ConfigPath(cmd, &f.config)
		cmd.Flags().BoolVar(&f.offline, "offline", false, "")
		cmd.Flags().BoolVar(&f.exact, "exact", false, "")
		command.StrictFlag(cmd, &f.strict)
		cli.FormatFlag(cmd, &f.format)
	}, func(cmd *cobra.Command) error { return a.runValidate(cmd.Context(), f) })
}

func (a *app) runValidate(ctx context.Context, f *validateFlags) error {
	d, err := a.Load(f.config, config.Options{MissingKeys: true})
	if err != nil {
		return err
	}
	for _, name := range d.File.Missing {
		how := "tollgate init --generate-keys, or " + config.MakeKey(name)
		if variable, ok := strings.CutPrefix(name, "$"); ok {
			how = "export " + variable + "=$(openssl rand -hex 32), and keep that key"
		}
		fmt.Fprintf(a.Stderr, "there is no key in %s: make one with %s. If the deployment has begun, put the copy of "+
			"its own key there instead\n", name, how)
	}
	for _, failed := range d.File.Failed {
		fmt.Fprintf(a.Stderr, "no key was printed by %s\n", failed)
	}
	p := plan.New(d.Deployment)
	if err := p.AddCounts(d.Deployment); err != nil {
		return err
	}
	if err := a.PrintAs(f.format, p, func(b *strings.Builder) {
		command.WritePromise(b, p, f.exact)
		writeMetrics(b, p, f.exact)
		writeCounts(b, p)
		writeLimits(b, p)
	}); err != nil {
		return err
	}
	if err := a.WarnAbout(d, f.strict, false); err != nil {
		return err
	}
	if f.offline {
		return a.WarnAboutBeginning(d, f.strict)
	}
	return a.validateTopics(ctx, d, f.strict)
}

// validateTopics checks the topics as a run does before it reads.
func (a *app) validateTopics(ctx context.Context, d *command.Loaded, strict bool) error {
	var no *initialise.Refusal
	look := a.Checking(strict)
	look.Start = true
	err := a.AwaitAnswer(ctx, d.Config.Kafka)
	if err == nil {
		no, err = initialise.RefusesInit(ctx, d)
	}
	if no != nil && !no.Unrecorded {
		return no.BeforeInit()
	}
	if err == nil {
		err = pipeline.CheckTopics(ctx, d.Deployment, look)
	}
	switch {
	case no != nil && errors.Is(err, kafkalog.ErrUnknownTopic):
		// Of a topic that is missing, the error names an init that is refused.
		look.Existing, look.Logger = true, nil
		if err := pipeline.CheckTopics(ctx, d.Deployment, look); err != nil {
			return fmt.Errorf("%w\n%w", d.Explained(err), no.BeforeInit())
		}
		return no.BeforeInit()
	case no != nil && err == nil:
		fmt.Fprintln(a.Stderr, no.BeforeInit())
	case errors.Is(err, kafkalog.ErrUnreachable):
		return fmt.Errorf("%w (--offline checks the file alone)", err)
	case errors.Is(err, pipeline.ErrHeaderMismatch) && len(d.File.Missing) > 0:
		// What differs is the stand-in, whose fingerprint would mislead.
		return command.Contents(fmt.Errorf("the deployment on topic %s has begun, but there is no key in %s: put the "+
			"copy of its own key there, and validate again. Runs refuse any other key",
			d.Config.Outputs.Control, strings.Join(d.File.Missing, " and ")))
	case err != nil:
		return d.Explained(err)
	}
	fmt.Fprintln(a.Stderr, "the topics are as they must be")
	return nil
}
