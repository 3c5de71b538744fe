package initialise

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// initialisedAlready ends an init that found a HEADER. It succeeds if the HEADER matches this
// configuration and the topics are set up correctly, so that init can be repeated after a crash or
// by a script.
func (a *app) initialisedAlready(ctx context.Context, f *initFlags, d *command.Loaded, record *pipeline.Record,
	e *pipeline.InitialisedError) error {
	if len(e.Differences) > 0 {
		return command.Contents(differsFrom(f, d, e))
	}
	if err := pipeline.CheckTopics(ctx, d.Deployment, a.Checking(f.strict)); err != nil {
		return d.Explained(err)
	}
	if err := a.recordAlready(f, d, record, e); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s is initialised already on topic %s, with this configuration; nothing was changed%s\n",
		d.Config.Deployment, e.Topic, d.ButMade())
	fmt.Fprintf(&b, "incarnation %s, generation %d; time begins at %s\n", hex.EncodeToString(e.Incarnation[:]),
		e.Generation, e.Start.Format(time.RFC3339))
	if start := f.start.Moment(d.Config.Time.WindowZone); f.start.Word == "" &&
		!deployment.FirstWindow(d.Deployment, start).Equal(e.Start) {
		fmt.Fprintf(&b, "--start %s is ignored: the first init has fixed where time begins\n", &f.start)
	}
	command.WriteBackups(&b, d.File)
	fmt.Fprintf(&b, "\nnext: tollgate run --config %s\n", f.config)
	return a.Print(b.String())
}

// differsFrom returns the error for a configuration that differs from the one in force, with the
// remedy.
func differsFrom(f *initFlags, d *command.Loaded, e *pipeline.InitialisedError) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is initialised already on topic %s, with another configuration (generation %d, incarnation "+
		"%s, time begins at %s); nothing was changed%s. What differs, in force → in %s:\n",
		d.Config.Deployment, e.Topic, e.Generation, hex.EncodeToString(e.Incarnation[:]), e.Start.Format(time.RFC3339),
		d.ButMade(), f.config)
	never := false
	for _, one := range e.Differences {
		fmt.Fprintf(&b, "  %s\n", one.What)
		command.WriteValues(&b, "    ", one.Values)
		if one.Never != "" {
			never = true
			fmt.Fprintf(&b, "    this cannot be changed: %s\n", one.Never)
		}
	}
	if never {
		b.WriteString("put the old values back, or begin a new deployment with new keys, another name (deployment: " +
			"NAME) and its own topics under outputs")
	} else {
		fmt.Fprintf(&b, "put it in force with: tollgate change --config %s (--dry-run shows what would change); or "+
			"put the old values back", f.config)
	}
	return errors.New(b.String())
}
