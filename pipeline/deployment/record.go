package deployment

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrOtherPromise means that the deployment on the brokers is not one that is recorded with the
// keys.
var ErrOtherPromise = errors.New("the record beside the keys has another deployment than these brokers")

// Record lists the deployments that have begun under the keys of a configuration.
type Record struct {
	From       string      // where the record is, for people
	Begun      []Beginning // in their order
	Unfinished []Beginning // deployments whose HEADER may be missing: they have released nothing
	// Named is set if the configuration names the place of the record, and the record there is
	// empty.
	Named bool
}

// Beginning is a deployment that has begun, or that was about to.
type Beginning struct {
	Cluster             string // the id of the cluster of Kafka
	Deployment, Control string // its name, and its control topic's name
	Incarnation         [16]byte
	At                  time.Time
}

// String names the deployment, its topic and cluster, and the time.
func (b Beginning) String() string {
	return fmt.Sprintf("%s, incarnation %x, on topic %s of cluster %s at %s", b.Deployment, b.Incarnation, b.Control,
		b.Cluster, b.At.Format(time.RFC3339))
}

// Has reports whether a deployment with an incarnation has begun.
func (r *Record) Has(incarnation [16]byte) bool {
	_, found := r.find(incarnation)
	return found
}

func (r *Record) find(incarnation [16]byte) (Beginning, bool) {
	for _, b := range r.Begun {
		if b.Incarnation == incarnation {
			return b, true
		}
	}
	return Beginning{}, false
}

// Refuses compares a cluster's deployment, by its incarnation on control, with the record. The
// error is ErrOtherPromise if the record has only others. elsewhere is set if the record has it on
// another cluster, which is not an error: mirrored topics and a restored backup carry the ledger
// with them. A nil record, or one without any line, refuses nothing: an earlier version began the
// deployment. But a record that the configuration names must exist: a deployment that continues
// without it could be begun a second time by mistake.
func (r *Record) Refuses(incarnation [16]byte, cluster string) (elsewhere *Beginning, err error) {
	switch {
	case r == nil:
		return nil, nil
	case r.Named:
		return nil, fmt.Errorf("%s, which keys.record names, is empty: set it to the line that tollgate init prints, "+
			"also if you run it again: %w", r.From, ErrOtherPromise)
	case len(r.Begun) == 0 && len(r.Unfinished) == 0:
		return nil, nil
	}
	b, found := r.find(incarnation)
	switch {
	case !found && len(r.Begun) == 0:
		return nil, fmt.Errorf("an init of the deployment was interrupted (%s): complete it with tollgate init, with "+
			"the same flags: %w", r.From, ErrOtherPromise)
	case !found:
		return nil, fmt.Errorf("cluster %s has incarnation %x, but %s has %s: correct kafka.brokers, or use the keys "+
			"and the record of that incarnation: %w", cluster, incarnation, r.From, r.all(), ErrOtherPromise)
	case b.Cluster != cluster:
		return &b, nil
	}
	return nil, nil
}

// Lost returns the error for a control topic that is empty or missing on a cluster although the
// record has a deployment; nil if it has none.
func (r *Record) Lost(topic, cluster string) error {
	if r == nil || len(r.Begun) == 0 {
		return nil
	}
	for _, b := range r.Begun {
		if b.Cluster == cluster && b.Control == topic {
			return fmt.Errorf("topic %s was lost, but %s has %s: restore the deployment's topics from a copy: %w",
				topic, r.From, b, ErrOtherPromise)
		}
	}
	return fmt.Errorf("topic %s of cluster %s has no deployment, but %s has %s: correct kafka.brokers, deployment or "+
		"outputs.control: %w", topic, cluster, r.From, r.all(), ErrOtherPromise)
}

func (r *Record) all() string {
	var all []string
	for _, b := range r.Begun {
		all = append(all, b.String())
	}
	return strings.Join(all, "; ")
}
