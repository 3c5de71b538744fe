package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/schemas"
)

// terms are the settings of a run that every process with one of its stages needs. They are part of
// the pipeline, which engines store and show, so they contain no secrets.
type terms struct {
	Run         int64           // number of the run
	ID          string          // name of the run, in hexadecimal
	Incarnation string          // id of the deployment, in hexadecimal
	Bounded     bool            `json:",omitempty"`
	Until       time.Time       `json:",omitzero"`
	UntilEnd    bool            `json:",omitempty"`
	Ends        map[int32]int64 `json:",omitempty"` // see reading.Options
	StallLimit  time.Duration
	Strict      bool `json:",omitempty"`
	Disposable  bool `json:",omitempty"`
	Readers     int
	Crowded     bool   `json:",omitempty"` // see reading.Options
	Cluster     string // id of the Kafka cluster
	// Config locates the configuration for a worker. Digests are the digests of that
	// configuration's parts, without secrets. A worker refuses a configuration with other Digests.
	Config  string            `json:",omitempty"`
	Digests map[string]string `json:",omitempty"`
}

// termsOf returns the terms of a run that has been announced.
func termsOf(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client, control *controllog.Log,
	o RunOptions) (*terms, error) {
	t := &terms{Run: control.Run, ID: hex.EncodeToString(control.RunID[:]),
		Incarnation: hex.EncodeToString(control.Header.Incarnation[:]), Bounded: o.Bounded, Until: o.Until,
		UntilEnd: o.UntilEnd, StallLimit: o.StallLimit, Strict: o.Strict, Disposable: o.Disposable}
	if o.Bounded && !o.Until.IsZero() && o.Until.UnixMilli() <= control.Header.StartMillis {
		return nil, fmt.Errorf("running until %s: the deployment starts only at %s", o.Until.UTC().Format(time.RFC3339),
			time.UnixMilli(control.Header.StartMillis).UTC().Format(time.RFC3339))
	}
	ids, err := client.Partitions(ctx, d.Config.Events.Topic)
	if err != nil {
		return nil, fmt.Errorf("finding the events topic: %w", err)
	}
	if o.Readers < 0 {
		return nil, fmt.Errorf("running with %d readers: their number must not be negative", o.Readers)
	}
	t.Readers = max(1, min(o.Readers, len(ids), schemas.MaxGroups))
	if o.Bounded || o.UntilEnd {
		if t.Ends, err = reading.Ends(ctx, client, d.Config.Events.Topic); err != nil {
			return nil, err
		}
	}
	if t.Cluster, err = client.ClusterID(ctx); err != nil {
		return nil, fmt.Errorf("reading the cluster's id: %w", err)
	}
	if w := o.Workers; w != nil {
		t.Config, t.Crowded = w.Config, t.Readers > max(1, w.Tasks)
		if t.Digests, err = digestsOf(d); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *terms) encode() (string, error) {
	data, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("encoding the terms of a run: %w", err)
	}
	return string(data), nil
}

func decodeTerms(text string) (*terms, error) {
	t := &terms{}
	if err := json.Unmarshal([]byte(text), t); err != nil {
		return nil, fmt.Errorf("decoding the terms of a run: check that all processes have the same version: %w", err)
	}
	return t, nil
}

func (t *terms) runID() (id [16]byte, err error) {
	b, err := hex.DecodeString(t.ID)
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("decoding the terms of a run: %q is not the id of a run", t.ID)
	}
	return [16]byte(b), nil
}

// digestsOf returns a digest of the JSON of each part of a configuration. The JSON omits secrets,
// which could be guessed from a digest, and paths of files that may be replaced during the run.
// Keys are compared by the fingerprints in the HEADER instead.
func digestsOf(d *deployment.Deployment) (map[string]string, error) {
	digests := map[string]string{}
	v := reflect.ValueOf(d.Config)
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("json") == "-" {
			continue
		}
		data, err := json.Marshal(v.Field(i).Interface())
		if err != nil {
			return nil, fmt.Errorf("comparing configurations: %w", err)
		}
		sum := sha256.Sum256(data)
		digests[v.Type().Field(i).Name] = hex.EncodeToString(sum[:16])
	}
	return digests, nil
}

// differences returns the parts of the configuration whose digests differ from those in the terms.
func (t *terms) differences(d *deployment.Deployment) ([]string, error) {
	digests, err := digestsOf(d)
	if err != nil {
		return nil, err
	}
	var parts []string
	for part, digest := range t.Digests {
		if digests[part] != digest {
			parts = append(parts, part)
		}
	}
	slices.Sort(parts)
	return parts, nil
}
