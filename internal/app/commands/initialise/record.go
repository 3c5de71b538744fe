package initialise

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/startrecord"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// How to begin a deployment all the same; the verb is for how a flag is given.
const (
	asFirst  = "if no deployment has begun with these keys, %s --begin-first-promise"
	asSecond = "to begin a second deployment, which gives the same people their whole budget once more, %s " +
		"--begin-second-promise"
)

// Refusal says why a deployment does not begin on a control topic that is empty.
type Refusal struct {
	why        error
	unless     string // asFirst or asSecond
	Unrecorded bool   // it says only that nothing is known of the keys, as of most new ones in variables
}

// ofInit is the error of an init, which has written nothing.
func (r *Refusal) ofInit(d *command.Loaded) error {
	return command.Contents(fmt.Errorf("%w. Nothing was written%s; %s", r.why, d.ButMade(), fmt.Sprintf(r.unless,
		"add")))
}

// BeforeInit is the error of a command that checks what init will find.
func (r *Refusal) BeforeInit() error {
	return command.Contents(fmt.Errorf("%w; %s", r.why, fmt.Sprintf(r.unless, "use tollgate init --create-topics")))
}

// mayBegin refuses a deployment on a control topic that is empty, where one has begun under its
// keys and the operator has not asked for a second one.
func mayBegin(f *initFlags, d *command.Loaded, record *pipeline.Record, cluster string) (*Refusal, error) {
	if f.second {
		return nil, nil
	}
	_, userHash := d.File.KeyFiles()
	records := []*pipeline.Record{record}
	if userHash != "" { // whatever keys.record names
		beside, err := startrecord.Read(startrecord.Path(userHash))
		if err != nil {
			return nil, command.Contents(err)
		}
		records = append(records, beside)
	}
	for _, r := range records {
		if lost := r.Lost(d.Config.Outputs.Control, cluster); lost != nil {
			return &Refusal{why: lost, unless: asSecond}, nil
		}
	}
	var interrupted *pipeline.Beginning
	if record != nil && len(record.Unfinished) > 0 {
		interrupted = &record.Unfinished[len(record.Unfinished)-1]
		if !f.first && (interrupted.Cluster != cluster || interrupted.Control != d.Config.Outputs.Control) {
			// A record that was cut, or restored from an early copy, has the same lines.
			why := fmt.Errorf("%s says that an init was interrupted (%s), but this is topic %s of cluster %s: correct "+
				"kafka.brokers and outputs.control",
				record.From, *interrupted, d.Config.Outputs.Control, cluster)
			return &Refusal{why: why, unless: asFirst}, nil
		}
	}
	if file, _ := d.File.RecordPlace(); file == "" && !f.first {
		why := errors.New("no record says whether a deployment has begun with these keys: if one has, correct " +
			"kafka.brokers or keys.record")
		return &Refusal{why: why, unless: asFirst, Unrecorded: true}, nil
	}
	return nil, nil
}

// newBeginning draws the incarnation of a deployment that is to begin on a cluster.
func newBeginning(d *command.Loaded, cluster string) (pipeline.Beginning, error) {
	b := pipeline.Beginning{Cluster: cluster, Deployment: d.Config.Deployment, Control: d.Config.Outputs.Control,
		At: time.Now()}
	if _, err := rand.Read(b.Incarnation[:]); err != nil {
		return b, fmt.Errorf("drawing an incarnation id: %w", err)
	}
	return b, nil
}

// willBegin records that a deployment is about to begin.
func willBegin(d *command.Loaded, b pipeline.Beginning) error {
	if file, _ := d.File.RecordPlace(); file != "" {
		return startrecord.Add(file, b, false, false)
	}
	return nil
}

// hasBegun records that control has the HEADER of a deployment. Where another process has begun
// another one meanwhile under the same keys, this one does not count.
func (a *app) hasBegun(f *initFlags, d *command.Loaded, b pipeline.Beginning) error {
	file, variable := d.File.RecordPlace()
	if _, userHash := d.File.KeyFiles(); userHash != "" && file != startrecord.Path(userHash) {
		// If a configuration does not name the record, it is beside the key.
		if err := startrecord.Add(startrecord.Path(userHash), b, true, f.second); err != nil &&
			!startrecord.Unwritable(err) {
			return err
		}
	}
	if file == "" {
		line, err := startrecord.Line(b, true, f.second)
		if err != nil {
			return err
		}
		where := "keep this line with the keys, and name it under keys.record"
		if variable != "" {
			where = "add this line to the environment variable " + variable
		}
		fmt.Fprintf(a.Stderr, "%s, so that no second promise is begun by mistake:\n%s\n", where, line)
		return nil
	}
	if err := startrecord.Add(file, b, true, f.second); err != nil {
		return err
	}
	record, err := startrecord.Read(file)
	if err == nil && !record.Has(b.Incarnation) {
		_, err = record.Check(b.Incarnation, b.Cluster)
		err = command.Contents(fmt.Errorf("another init has begun a deployment with these keys first: %w. Runs refuse "+
			"the one that this init has begun; %s", err, fmt.Sprintf(asSecond, "add")))
	}
	return err
}

// recordAlready records a deployment that control has already: an earlier version, or an init that
// was interrupted, has begun it.
func (a *app) recordAlready(f *initFlags, d *command.Loaded, record *pipeline.Record,
	e *pipeline.InitialisedError) error {
	b := pipeline.Beginning{Cluster: e.Cluster, Deployment: d.Config.Deployment, Control: e.Topic,
		Incarnation: e.Incarnation, At: time.Now()}
	switch {
	case record != nil && record.Has(e.Incarnation):
		elsewhere, err := record.Check(e.Incarnation, e.Cluster)
		if elsewhere != nil {
			fmt.Fprintf(a.Stderr, "this is cluster %s, but the deployment began as %s: this is right only after a "+
				"failover or a restore\n", e.Cluster, elsewhere)
		}
		return err
	case record != nil && len(record.Begun) > 0 && !f.second:
		_, err := record.Check(e.Incarnation, e.Cluster)
		return command.Contents(fmt.Errorf("%w. Nothing was written%s; two deployments with the same keys give the "+
			"same people a whole budget each; to accept that, add --begin-second-promise", err, d.ButMade()))
	}
	return a.hasBegun(f, d, b)
}

// RefusesInit returns why a plain init would begin nothing, where control is empty or missing.
func RefusesInit(ctx context.Context, d *command.Loaded) (*Refusal, error) {
	without, record := d.Unrecorded()
	if err := pipeline.Initialised(ctx, without.Deployment); err != nil {
		return nil, nil //nolint:nilerr // CheckTopics says it again, with what else is wrong
	}
	cluster, err := pipeline.ClusterID(ctx, d.Deployment)
	if err != nil {
		return nil, err
	}
	return mayBegin(&initFlags{}, without, record, cluster)
}
