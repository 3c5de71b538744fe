// Package validate implements the command that checks a configuration and shows what follows from
// it.
package validate

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/initialise"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/plan"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// validateFlags are the flags of validate as they were given.
type validateFlags struct {
	config                 string
	offline, exact, strict bool
	format                 cli.Format
}

var (
	//go:embed validate.txt
	help string
	//go:embed validate_output.txt
	output string
)

func Command(a *command.App) *cobra.Command {
	f := &validateFlags{}
	return a.New("validate", help, func(cmd *cobra.Command) {
		a.ConfigPath(cmd, &f.config)
		cmd.Flags().BoolVar(&f.offline, "offline", false, "")
		cmd.Flags().BoolVar(&f.exact, "exact", false, "")
		command.StrictFlag(cmd, &f.strict)
		cli.FormatFlag(cmd, &f.format)
	}, func(cmd *cobra.Command) error { return runValidate(cmd.Context(), a, f) })
}

func runValidate(ctx context.Context, a *command.App, f *validateFlags) error {
	d, err := a.Load(f.config, config.Options{MissingKeys: true})
	if err != nil {
		return err
	}
	for _, name := range d.File.Missing {
		how := "tollgate init --generate-keys, or " + config.MakeKey(name)
		if variable, ok := strings.CutPrefix(name, "$"); ok {
			how = "export " + variable + "=$(openssl rand -hex 32), and keep that key"
		}
		fmt.Fprintf(a.Stderr, "there is no key in %s: make one with %s. If the deployment has begun, restore the "+
			"backup of its key instead\n", name, how)
	}
	for _, failed := range d.File.Failed {
		fmt.Fprintf(a.Stderr, "%s printed no key\n", failed)
	}
	p := plan.New(d.Deployment)
	if err := p.AddCounts(d.Deployment); err != nil {
		return err
	}
	if err := a.PrintText(f.format, p, command.Template(output, template.FuncMap{"kind": kindText,
		"targetOf": targetOf, "meetableFrom": meetableFrom}), validateText{p, f.exact}); err != nil {
		return err
	}
	if err := a.WarnAbout(d, f.strict, false); err != nil {
		return err
	}
	if f.offline {
		return a.WarnAboutBeginning(d, f.strict)
	}
	return validateTopics(ctx, a, d, f.strict)
}

// validateTopics checks the topics as a run does before it reads.
func validateTopics(ctx context.Context, a *command.App, d *command.Loaded, strict bool) error {
	var refusal *initialise.Refusal
	check := a.Checking(strict)
	check.Start = true
	err := a.AwaitAnswer(ctx, d.Config.Kafka)
	if err == nil {
		refusal, err = initialise.InitRefusal(ctx, d)
	}
	if refusal != nil && !refusal.Unrecorded {
		return refusal.BeforeInit()
	}
	if err == nil {
		err = pipeline.CheckTopics(ctx, d.Deployment, check)
	}
	switch {
	case refusal != nil && errors.Is(err, kafkalog.ErrUnknownTopic):
		// The error for a missing topic suggests an init, which would be refused.
		check.Existing, check.Logger = true, nil
		if err := pipeline.CheckTopics(ctx, d.Deployment, check); err != nil {
			return fmt.Errorf("%w\n%w", d.Explained(err), refusal.BeforeInit())
		}
		return refusal.BeforeInit()
	case refusal != nil && err == nil:
		fmt.Fprintln(a.Stderr, refusal.BeforeInit())
	case errors.Is(err, kafkalog.ErrUnreachable):
		return fmt.Errorf("%w (--offline checks the file alone)", err)
	case errors.Is(err, pipeline.ErrHeaderMismatch) && len(d.File.Missing) > 0:
		// The key that differs is a stand-in, whose fingerprint would mislead.
		return command.Contents(fmt.Errorf("the deployment on topic %s has begun, but there is no key in %s: restore "+
			"the backup of its key there, and validate again. Runs refuse any other key",
			d.Config.Outputs.Control, strings.Join(d.File.Missing, " and ")))
	case err != nil:
		return d.Explained(err)
	}
	fmt.Fprintln(a.Stderr, "the topics are set up correctly")
	return nil
}
