package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
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

func (a *app) validate() *cobra.Command {
	f := &validateFlags{}
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check a configuration, and show what it promises and how long its budget lasts",
		Long: `Check a configuration file and show what follows from it: the promise to users and,
for every metric, which counts are released, how exact they are, and in how many
windows every user can take part. --exact adds the figures of the theory.

validate then checks the topics on the brokers and the deployment on them, as "tollgate
run" does before it reads. It reports a difference that "tollgate change" can put in
force; a difference that no change can put in force is an error. --offline skips these
checks. A key file that does not exist yet is not an error.`,
		Example: `  tollgate validate --config tollgate.yaml --offline
  tollgate validate --config tollgate.yaml --format json`,
		Args: noArguments("--config"),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	a.configPath(cmd, &f.config)
	flags.BoolVar(&f.offline, "offline", false, "check only the file, not the brokers")
	flags.BoolVar(&f.exact, "exact", false, "also print exact terms: accountant, privacy loss, parts of δ, deviations of the noise")
	strictFlag(cmd, &f.strict)
	cli.FormatFlag(cmd, &f.format)
	cmd.RunE = a.run(func(cmd *cobra.Command) error {
		return a.runValidate(cmd.Context(), f)
	})
	return cmd
}

func (a *app) runValidate(ctx context.Context, f *validateFlags) error {
	d, err := a.load(f.config, config.Options{MissingKeys: true})
	if err != nil {
		return err
	}
	for _, name := range d.file.Missing {
		how := "tollgate init --generate-keys, or " + config.MakeKey(name)
		if variable, ok := strings.CutPrefix(name, "$"); ok {
			how = "export " + variable + "=$(openssl rand -hex 32), and keep that key"
		}
		fmt.Fprintf(a.stderr, "there is no key in %s: make one with %s. If the deployment has begun, put the copy of its own key there instead\n", name, how)
	}
	p := plan.New(d.Deployment)
	if err := p.AddCounts(d.Deployment); err != nil {
		return err
	}
	if err := a.printPlan(p, f.exact, f.format); err != nil {
		return err
	}
	if err := a.warnAbout(d, f.strict, false); err != nil {
		return err
	}
	if f.offline {
		return a.warnAboutBeginning(d, f.strict)
	}
	return a.validateTopics(ctx, d, f.strict)
}

// validateTopics checks the topics as a run does before it reads.
func (a *app) validateTopics(ctx context.Context, d *loaded, strict bool) error {
	var no *refusal
	look := a.checking(strict)
	look.Start = true
	err := a.awaitAnswer(ctx, d.Config.Kafka)
	if err == nil {
		no, err = d.refusesInit(ctx)
	}
	if no != nil && !no.unrecorded {
		return no.beforeInit()
	}
	if err == nil {
		err = pipeline.CheckTopics(ctx, d.Deployment, look)
	}
	switch {
	case no != nil && errors.Is(err, kafkalog.ErrUnknownTopic):
		// Of a topic that is missing, the error names an init that is refused.
		look.Existing, look.Logger = true, nil
		if err := pipeline.CheckTopics(ctx, d.Deployment, look); err != nil {
			return fmt.Errorf("%w\n%w", d.explained(err), no.beforeInit())
		}
		return no.beforeInit()
	case no != nil && err == nil:
		fmt.Fprintln(a.stderr, no.beforeInit())
	case errors.Is(err, kafkalog.ErrUnreachable):
		return fmt.Errorf("%w (--offline checks the file alone)", err)
	case errors.Is(err, pipeline.ErrHeaderMismatch) && len(d.file.Missing) > 0:
		// What differs is the stand-in, whose fingerprint would mislead.
		return contents(fmt.Errorf("the deployment on topic %s has begun, but there is no key in %s: put the copy of its own key there, and validate again. Runs refuse any other key",
			d.Config.Outputs.Control, strings.Join(d.file.Missing, " and ")))
	case err != nil:
		return d.explained(err)
	}
	fmt.Fprintln(a.stderr, "the topics are as they must be")
	return nil
}

// refusesInit returns why a plain init would begin nothing, where control is empty or missing.
func (d *loaded) refusesInit(ctx context.Context) (*refusal, error) {
	without, record := d.unrecorded()
	if err := pipeline.Initialised(ctx, without.Deployment); err != nil {
		return nil, nil //nolint:nilerr // CheckTopics says it again, with what else is wrong
	}
	cluster, err := pipeline.ClusterID(ctx, d.Deployment)
	if err != nil {
		return nil, err
	}
	return mayBegin(&initFlags{}, without, record, cluster)
}

func (a *app) printPlan(p *plan.Plan, exact bool, f cli.Format) error {
	return a.printAs(f, p, func(b *strings.Builder) {
		writePromise(b, p, exact)
		writeMetrics(b, p, exact)
		writeCounts(b, p)
		writeLimits(b, p)
	})
}
