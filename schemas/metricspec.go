package schemas

import (
	"bytes"
	"crypto/sha256"
	"math"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
)

// MetricSpec is everything on which the meaning of a metric's released values depends: two metrics
// with one Digest have the same definition. The digest is part of the input of the noise, so that
// two definitions never have the same noise.
type MetricSpec struct {
	Name   string
	Kind   string // a name of package metrickind
	Filter string // "" passes every event
	Of     string // for derived kinds: the metric that it is derived from

	// Window size and slide, lateness, skew and slack, all in milliseconds.
	WindowSize, WindowSlide, Lateness, Skew, Slack int64

	MaxKeysPerUser, MaxEventsPerKey uint32
	// clipping bounds for kinds with values; Max also as metrickind.Counted documents
	Min, Max int64

	LadderKind   string // "adaptive" or "geometric"
	LadderFactor float64
	First, Top   units.Precision

	Relative, Absolute, Confidence float64 // the target

	KeyMode    string   // "public", "private" or "from"
	KeysFrom   string   // for "from": the metric whose released keys this one takes
	PublicKeys [][]byte // strictly ascending in byte order
	// DeltaKey is the δ with which a key of a single user may pass for a contribution of 1; for c,
	// it may pass with c² times as much: budgets.Budget.KeyDelta.
	DeltaKey units.Delta
	// Burst, Refill and Horizon are the metric's part of an account: accounts.Allowance. Burst 0:
	// all.
	Burst, Refill units.Mu2
	Horizon       int64
	Period        string // budget period, as time.Duration prints it; "" is one period without end
}

// Key modes of a metric.
const (
	KeysPublic  = "public"  // a list of keys; each is released in every window
	KeysPrivate = "private" // the keys whose noisy count passes a threshold
	KeysFrom    = "from"    // the keys that another metric has released
)

// Filters returns the distinct filters of a deployment's metrics in the order of their first use:
// filter i is bit i of event.Event.Passes and Label.Passes.
func Filters(metrics []MetricSpec) []string {
	var filters []string
	for i := range metrics {
		if f := metrics[i].Filter; f != "" && !slices.Contains(filters, f) {
			filters = append(filters, f)
		}
	}
	return filters
}

// Route returns the metric name that determines the release shards of the metric's keys: a metric
// with the keys of another one is released in the shards of that one.
func (m *MetricSpec) Route() string {
	if m.KeysFrom != "" {
		return m.KeysFrom
	}
	return m.Name
}

// HasTarget reports whether the metric has a target; without one every count is as precise as the
// budget allows, and Release.Met is always false.
func (m *MetricSpec) HasTarget() bool { return m.Relative > 0 || m.Absolute > 0 }

// MostEvents is the greatest number of events of a user and key that a window counts if no cap is
// set.
const MostEvents = 1 << 30

// Bounds returns the limits on what one user adds to one count of the metric: the cap on events
// or, without one, as many as a full bucket pays for.
func (m *MetricSpec) Bounds() metrickind.Bounds {
	events := int64(m.MaxEventsPerKey)
	if events == 0 {
		events = MostEvents
		if kind := metrickind.Of(m.Kind); !kind.Sums() {
			events = int64(min(MostEvents, m.paid()))
		}
	}
	return metrickind.Bounds{Events: events, Min: m.Min, Max: m.Max}
}

// paid returns the greatest contribution to one count that a full bucket pays for; at least 1.
func (m *MetricSpec) paid() uint64 {
	if m.Burst == 0 || m.Top.IsZero() {
		return math.MaxUint64
	}
	most := new(big.Int).Lsh(new(big.Int).SetUint64(uint64(m.Burst)), units.Mu2Bits)
	if most.Quo(most, m.Top.Big()).Sqrt(most); most.IsUint64() {
		return max(1, most.Uint64())
	}
	return math.MaxUint64
}

// Allowance returns the metric's part of an account.
func (m *MetricSpec) Allowance() accounts.Allowance {
	return accounts.Allowance{Burst: m.Burst, Refill: m.Refill, Horizon: m.Horizon}
}

// Most returns the most that one user adds to one count: the limit of the bounds, and of the
// payment from a full bucket.
func (m *MetricSpec) Most() uint64 {
	kind := metrickind.Of(m.Kind)
	if kind.Sums() && m.Min == 0 && m.Max == 0 { // without a range
		return m.paid()
	}
	return min(uint64(kind.Sensitivity(m.Bounds())), m.paid())
}

// Digest returns the SHA-256 of an injective encoding of every field.
func (m MetricSpec) Digest() [32]byte {
	w := newWriter(nil, KindMetricSpec)
	m.layout(w)
	return sha256.Sum256(w.out)
}

func (m *MetricSpec) layout(w *wire) {
	w.text(&m.Name, "metric name")
	w.text(&m.Kind, "metric kind")
	w.text(&m.Filter, "metric filter")
	w.text(&m.Of, "metric that it is derived from")
	for _, ms := range [...]*int64{&m.WindowSize, &m.WindowSlide, &m.Lateness, &m.Skew, &m.Slack} {
		w.int(ms, "metric times")
	}
	w.uint32(&m.MaxKeysPerUser, "keys per user")
	w.uint32(&m.MaxEventsPerKey, "events per key")
	w.int(&m.Min, "least value")
	w.int(&m.Max, "greatest value")
	w.text(&m.LadderKind, "ladder kind")
	w.float(&m.LadderFactor, "ladder factor")
	w.precision(&m.First, "first precision")
	w.precision(&m.Top, "top precision")
	w.float(&m.Relative, "relative target")
	w.float(&m.Absolute, "absolute target")
	w.float(&m.Confidence, "confidence")
	w.text(&m.KeyMode, "key mode")
	w.text(&m.KeysFrom, "source of keys")
	list(w, &m.PublicKeys, 1, "public keys", func(key *[]byte, w *wire) { w.bytes(key, MaxKeyBytes, "public keys") })
	ascend(w, m.PublicKeys, "public keys", func(a, b *[]byte) int { return bytes.Compare(*a, *b) })
	w.delta(&m.DeltaKey, "key delta")
	w.uint((*uint64)(&m.Burst), "burst")
	w.uint((*uint64)(&m.Refill), "refill")
	w.int(&m.Horizon, "horizon")
	w.text(&m.Period, "period")
}
