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

// How to begin a deployment anyway; %s is the phrase that introduces the flag.
const (
	asFirst  = "if no deployment has begun with these keys, %s --begin-first-promise"
	asSecond = "to begin a second deployment, which gives the same people their whole budget once more, %s " +
		"--begin-second-promise"
)

// Refusal is the reason why init does not begin a deployment on an empty control topic.
type Refusal struct {
	why        error
	unless     string // asFirst or asSecond
	Unrecorded bool   // no record mentions the keys, which is normal for new keys in variables
}

// ofInit returns the error of an init that has written nothing.
func (r *Refusal) ofInit(d *command.Loaded) error {
	return command.Contents(fmt.Errorf("%w. Nothing was written%s; %s", r.why, d.ExceptMade(), fmt.Sprintf(r.unless,
		"add")))
}

// BeforeInit returns the error of a command that checks the topics before init.
func (r *Refusal) BeforeInit() error {
	return command.Contents(fmt.Errorf("%w; %s", r.why, fmt.Sprintf(r.unless, "use tollgate init --create-topics")))
}

// mayBegin returns a refusal to begin a deployment on an empty control topic if one has already
// begun under its keys, unless the operator has asked for a second one.
func mayBegin(f *initFlags, d *command.Loaded, record *pipeline.Record, cluster string) (*Refusal, error) {
	if f.second {
		return nil, nil
	}
	_, userHash := d.File.KeyFiles()
	records := []*pipeline.Record{record}
	if userHash != "" { // even if keys.record names another file
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
			// A record that was truncated, or restored from an old copy, looks the same.
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

// newBeginning draws the incarnation of a deployment that will begin on a cluster.
func newBeginning(d *command.Loaded, cluster string) (pipeline.Beginning, error) {
	b := pipeline.Beginning{Cluster: cluster, Deployment: d.Config.Deployment, Control: d.Config.Outputs.Control,
		At: time.Now()}
	if _, err := rand.Read(b.Incarnation[:]); err != nil {
		return b, fmt.Errorf("drawing an incarnation id: %w", err)
	}
	return b, nil
}

// recordIntent records that a deployment is about to begin.
func recordIntent(d *command.Loaded, b pipeline.Beginning) error {
	if file, _ := d.File.RecordPlace(); file != "" {
		return startrecord.Add(file, b, false, false)
	}
	return nil
}

// recordBegun records that control has the HEADER of a deployment. If another process has meanwhile
// begun a deployment under the same keys, this one does not count.
func recordBegun(a *command.App, f *initFlags, d *command.Loaded, b pipeline.Beginning) error {
	file, variable := d.File.RecordPlace()
	if _, userHash := d.File.KeyFiles(); userHash != "" && file != startrecord.Path(userHash) {
		// Without keys.record, commands look for the record beside the key.
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
		where := "keep this line in a file beside the keys, and name that file under keys.record"
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
		err = command.Contents(fmt.Errorf("another init began a deployment with these keys first: %w. Runs will "+
			"refuse the one that this init began; %s", err, fmt.Sprintf(asSecond, "add")))
	}
	return err
}

// recordAlready records a deployment that control already has: an earlier version, or an init that
// was interrupted, began it.
func recordAlready(a *command.App, f *initFlags, d *command.Loaded, record *pipeline.Record,
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
		return command.Contents(fmt.Errorf("%w. Nothing was written%s; with the same keys, each of two deployments "+
			"gives the same people a full budget; to accept that, add --begin-second-promise", err, d.ExceptMade()))
	}
	return recordBegun(a, f, d, b)
}

// InitRefusal returns why an init without flags would not begin a deployment, if control is empty
// or missing.
func InitRefusal(ctx context.Context, d *command.Loaded) (*Refusal, error) {
	without, record := d.Unrecorded()
	if err := pipeline.Initialised(ctx, without.Deployment); err != nil {
		return nil, nil //nolint:nilerr // CheckTopics reports it again, with the other faults
	}
	cluster, err := pipeline.ClusterID(ctx, d.Deployment)
	if err != nil {
		return nil, err
	}
	return mayBegin(&initFlags{}, without, record, cluster)
}
