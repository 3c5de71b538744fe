package deployment

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrOtherPromise means that the record beside the keys does not list the deployment on the
// brokers.
var ErrOtherPromise = errors.New("the record beside the keys does not list the deployment on these brokers")

// Record lists the deployments that have begun under the keys of a configuration.
type Record struct {
	From       string      // where the record is kept, for messages
	Begun      []Beginning // in the order in which they began
	Unfinished []Beginning // deployments that have released nothing, and whose HEADER may be missing
	Named      bool        // whether the configuration names a place for the record, but the record is empty
}

// Beginning is a deployment that has begun, or was about to begin.
type Beginning struct {
	Cluster             string // id of the Kafka cluster
	Deployment, Control string // names of the deployment and of its control topic
	Incarnation         [16]byte
	At                  time.Time
}

// String names the deployment, its topic and cluster, and the time.
func (b Beginning) String() string {
	return fmt.Sprintf("%s, incarnation %x, on topic %s of cluster %s at %s", b.Deployment, b.Incarnation, b.Control,
		b.Cluster, b.At.Format(time.RFC3339))
}

// Has reports whether the record lists the given incarnation as begun.
func (r *Record) Has(incarnation [16]byte) bool { return r.find(incarnation) != nil }

func (r *Record) find(incarnation [16]byte) *Beginning {
	for i := range r.Begun {
		if r.Begun[i].Incarnation == incarnation {
			return &r.Begun[i]
		}
	}
	return nil
}

// Check looks up a deployment in the record by its incarnation, which the caller has read from
// control. It returns ErrOtherPromise if the record lists only other deployments. It returns
// elsewhere if the record lists the deployment on another cluster. That is not an error, because
// mirrored topics and a restored backup include the ledger. A nil record, or one without lines,
// refuses nothing, because an earlier version may have begun the deployment. But a record that the
// configuration names must not be empty: the deployment could be begun twice.
func (r *Record) Check(incarnation [16]byte, cluster string) (elsewhere *Beginning, err error) {
	switch {
	case r == nil:
		return nil, nil
	case r.Named:
		return nil, fmt.Errorf("%s, which keys.record names, is empty: set it to the line that tollgate init prints, "+
			"also if you run it again: %w", r.From, ErrOtherPromise)
	case len(r.Begun) == 0 && len(r.Unfinished) == 0:
		return nil, nil
	}
	b := r.find(incarnation)
	switch {
	case b == nil && len(r.Begun) == 0:
		return nil, fmt.Errorf("an init of the deployment was interrupted (%s): complete it with tollgate init, with "+
			"the same flags: %w", r.From, ErrOtherPromise)
	case b == nil:
		return nil, fmt.Errorf("cluster %s has incarnation %x, but %s lists %s: correct kafka.brokers, or use the "+
			"keys and the record of that incarnation: %w", cluster, incarnation, r.From, r.describe(), ErrOtherPromise)
	case b.Cluster != cluster:
		return b, nil
	}
	return nil, nil
}

// Lost returns the error for a control topic that is empty or missing on a cluster although the
// record lists a deployment. It returns nil if the record lists none.
func (r *Record) Lost(topic, cluster string) error {
	if r == nil || len(r.Begun) == 0 {
		return nil
	}
	for _, b := range r.Begun {
		if b.Cluster == cluster && b.Control == topic {
			return fmt.Errorf("topic %s was lost, but %s lists %s: restore the deployment's topics from a copy: %w",
				topic, r.From, b, ErrOtherPromise)
		}
	}
	return fmt.Errorf("topic %s of cluster %s has no deployment, but %s lists %s: correct kafka.brokers, deployment "+
		"or outputs.control: %w", topic, cluster, r.From, r.describe(), ErrOtherPromise)
}

func (r *Record) describe() string {
	var all []string
	for _, b := range r.Begun {
		all = append(all, b.String())
	}
	return strings.Join(all, "; ")
}
