package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/admin"
	"github.com/tollgate-dp/tollgate/pipeline/internal/changes"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/countslog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/pipeline/internal/topicrules"
	"github.com/tollgate-dp/tollgate/schemas"
)

// CheckOptions configure CheckTopics.
type CheckOptions struct {
	// Logger receives possible improvements. nil: they are discarded.
	Logger *slog.Logger
	// Strict returns errors for topics that can lose acknowledged records if one broker fails.
	// Without Strict, CheckTopics only warns about them.
	Strict bool

	// Start adds the checks that a run makes at its start, if control contains a deployment.
	Start bool
	// Existing checks only existing topics. Init will create the missing ones.
	Existing bool
}

// CheckTopics checks the deployment's topics and the newest schema in a registry. It returns every
// reason why a run would not start, joined: one *TopicError for each wrong setting of a topic. It
// logs possible improvements and changes nothing.
//
// Other errors: ErrStrict, joined to ErrTopicSettings, if the topics fail only because of
// CheckOptions.Strict; ErrLogFault if the topics do not belong together; *event.FormatError for a
// schema that lacks a field; and errors of the broker and the registry.
//
// CheckOptions.Start adds: ErrHeaderMismatch if Change can never put the configuration in force (if
// Change can, CheckTopics logs a warning); ErrStopped; ErrLogFault if topics were restored from
// different moments or have lost records that a run needs; and ErrCountsSchema or the registry's
// error if consumers of counts in Avro would not find the schema.
func CheckTopics(ctx context.Context, d *deployment.Deployment, o CheckOptions) error {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	_, unreadable := reading.NewDecoder(ctx, d, o.Logger)
	options := topicrules.Options{Logger: o.Logger, Strict: o.Strict}
	if o.Existing {
		options.WillCreate = func(string) bool { return true }
	}
	rules := topicrules.Check(ctx, d, client, options)
	return errors.Join(rules, unreadable, checkDeployment(ctx, d, client, o, rules == nil))
}

// checkDeployment checks the deployment on control. If there is none, it checks whether Init may
// run. topicsSound means that no topic breaks a rule. A broken rule is a better explanation than a
// failed comparison of the topics, so checkDeployment compares less if there is one.
func checkDeployment(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client, o CheckOptions,
	topicsSound bool) error {
	control, _, err := openControl(ctx, d, client, o.Logger)
	notYet := errors.Is(err, deployment.ErrNotInitialised) || errors.Is(err, kafkalog.ErrUnknownTopic)
	if notYet {
		if err := d.CheckNew(); err != nil {
			return err
		}
	}
	switch {
	case notYet && o.Start:
		_, err := admin.LookUpCounts(ctx, d) // init will register there
		return err
	case notYet:
		return nil
	case err != nil:
		return err
	}
	if !o.Start {
		return nil
	}
	want := changes.Header(d)
	if all := changes.Differences(control.Header, &want); len(all) > 0 {
		err := changes.Agrees(d, control.Header)
		if all[0].Never != "" {
			return err
		}
		o.Logger.Warn(fmt.Sprintf("the configuration is not the one in force, so a run refuses it: %v (tollgate "+
			"change --dry-run lists all differences)", err))
	}
	var stop *schemas.Stop
	control.WithView(func(v *controllog.View) { stop = v.Stop })
	if stop != nil {
		return controllog.Stopped(stop)
	}
	if err := admin.CheckCounts(ctx, d, control.Header); err != nil {
		return err
	}
	d = changes.InForce(d, control.Header)
	if !topicsSound {
		return countslog.CheckIntact(ctx, d, client, control)
	}
	_, err = checkConsistent(ctx, d, client, control, o.Logger)
	return err
}
