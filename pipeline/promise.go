package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/changes"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// PromiseGeneration is the promise of one generation of a deployment, without the metrics' keys.
type PromiseGeneration struct {
	Generation uint32    `json:"generation"`
	From       time.Time `json:"from"`    // start of its first turn, UTC
	Written    time.Time `json:"written"` // append time of its record on the control topic, UTC
	By         string    `json:"by,omitempty"`
	Why        string    `json:"why,omitempty"`

	Epsilon    float64 `json:"epsilon"` // for each budget period, if there are periods
	Delta      float64 `json:"delta"`
	DeltaKeys  float64 `json:"delta_keys"` // part of Delta that private keys may spend
	Accountant string  `json:"accountant"`
	Planned    float64 `json:"planned,omitempty"` // part of the promise spent on the choice of settings
	Period     string  `json:"period,omitempty"`  // "": one budget for life
	Trust      string  `json:"trust"`
	User       string  `json:"user"` // field of a record that contains the user id

	Metrics []PromisedMetric `json:"metrics"`
	Changes []string         `json:"changes,omitempty"` // differences from the previous generation
	// Digest is the SHA-256, in hexadecimal, of the previous generation's digest and this
	// generation's JSON without Digest, so it covers all generations up to this one.
	Digest string `json:"digest,omitempty"`
}

// PromisedMetric is the part of the promise that concerns one metric.
type PromisedMetric struct {
	Name   string        `json:"name"`
	Kind   string        `json:"kind"`
	Filter string        `json:"filter,omitempty"`
	Keys   string        `json:"keys"` // public, private or from
	Listed int           `json:"public_keys,omitempty"`
	Window time.Duration `json:"window_ns"`
	Slide  time.Duration `json:"slide_ns"`
	Digest string        `json:"digest"` // of everything that the metric's values depend on, as on the counts topic
}

// ReadPromise returns every generation of the promise, oldest first. It reads control from the
// beginning and changes nothing. Errors: ErrNotInitialised if control has no HEADER, ErrLogFault
// for a damaged record, or the broker's error.
func ReadPromise(ctx context.Context, d *deployment.Deployment) (all []PromiseGeneration, err error) {
	v := controllog.NewView(d.Config.LedgerSlots)
	err = readHistory(ctx, d, func(r *kafkalog.Record, c schemas.Control) error {
		before := v.Header
		if err := v.Observe(r.Offset, c); err != nil || v.Header == before {
			return err
		}
		g := promiseOf(v.Header)
		g.Written = time.UnixMilli(r.Timestamp).UTC()
		previous := ""
		if before != nil {
			previous = all[len(all)-1].Digest
			for _, difference := range changes.Differences(before, v.Header) {
				g.Changes = append(g.Changes, difference.What)
			}
		}
		text, err := json.Marshal(g)
		if err != nil {
			return fmt.Errorf("encoding generation %d: %w", g.Generation, err)
		}
		sum := sha256.Sum256(append([]byte(previous), text...))
		g.Digest = hex.EncodeToString(sum[:])
		all = append(all, g)
		return nil
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("reading topic %s: %w", d.Config.Outputs.Control, deployment.ErrNotInitialised)
	}
	return all, err
}

func promiseOf(h *schemas.Header) PromiseGeneration {
	budget := h.Budget.Whole()
	g := PromiseGeneration{
		Generation: h.Generation, From: time.UnixMilli(h.SliceStart).UTC(), By: h.By, Why: h.Why,
		Epsilon: h.Budget.Epsilon, Delta: h.Budget.Delta, DeltaKeys: budget.Keys.Float(),
		Accountant: string(h.Budget.Accountant), Planned: h.Budget.Planned.Share, Period: h.Metrics[0].Period,
		Trust: h.Trust, User: h.Events.User,
	}
	for i := range h.Metrics {
		m := &h.Metrics[i]
		if metrickind.Of(m.Kind).Derived() {
			continue
		}
		digest := m.Digest()
		g.Metrics = append(g.Metrics, PromisedMetric{
			Name: m.Name, Kind: m.Kind, Filter: m.Filter, Keys: m.KeyMode, Listed: len(m.PublicKeys),
			Window: time.Duration(m.WindowSize) * time.Millisecond,
			Slide:  time.Duration(m.WindowSlide) * time.Millisecond, Digest: hex.EncodeToString(digest[:]),
		})
	}
	return g
}
