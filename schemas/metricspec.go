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

// MetricSpec holds everything that determines the meaning of a metric's released values. Two
// metrics with the same Digest have the same definition. The digest is part of the input of the
// noise, so different definitions never share noise.
type MetricSpec struct {
	Name   string
	Kind   string // a name of package metrickind
	Filter string // every event passes the filter ""
	Of     string // for derived kinds: the metric from which this one is derived

	WindowSize, WindowSlide, Lateness, Skew, Slack int64 // milliseconds

	MaxKeysPerUser, MaxEventsPerKey uint32
	Min, Max                        int64 // bounds on values; metrickind.Counted also uses Max

	LadderKind   string // "adaptive" or "geometric"
	LadderFactor float64
	First, Top   units.Precision

	Relative, Absolute, Confidence float64 // the target

	KeyMode    string   // "public", "private" or "from"
	KeysFrom   string   // for "from": the metric whose released keys this metric uses
	PublicKeys [][]byte // strictly ascending in byte order
	// DeltaKey is the largest permitted probability that a key with a single user is released if
	// the user contributes 1. For a contribution of c it is c² times as large: see
	// budgets.Budget.KeyDelta.
	DeltaKey units.Delta
	// Burst, Refill and Horizon are the metric's accounts.Allowance. Burst 0 means all of it.
	Burst, Refill units.Mu2
	Horizon       int64
	Period        string // budget period, as time.Duration prints it; "" if the period never ends
}

// Key modes of a metric.
const (
	KeysPublic  = "public"  // a list of keys, all released in every window
	KeysPrivate = "private" // keys whose noisy count passes a threshold
	KeysFrom    = "from"    // keys that another metric has released
)

// Filters returns the distinct filters of a deployment's metrics in order of first use. Filter i
// corresponds to bit i of event.Event.Passes and Label.Passes.
func Filters(metrics []MetricSpec) []string {
	var filters []string
	for i := range metrics {
		if f := metrics[i].Filter; f != "" && !slices.Contains(filters, f) {
			filters = append(filters, f)
		}
	}
	return filters
}

// Route returns the name that determines the release shards of the metric's cells: KeysFrom if that
// is set, and otherwise Name. A metric and the metric that supplies its keys thus share shards.
func (m *MetricSpec) Route() string {
	if m.KeysFrom != "" {
		return m.KeysFrom
	}
	return m.Name
}

// HasTarget reports whether the metric has a target. Without a target, every count is as precise as
// the budget allows and Release.Met is always false.
func (m *MetricSpec) HasTarget() bool { return m.Relative > 0 || m.Absolute > 0 }

// MostEvents is the largest number of events per user and key that a window counts if the metric
// has no cap.
const MostEvents = 1 << 30

// Bounds returns the limits on one user's contribution to one count. Without a cap, the number of
// events is limited to MostEvents and, unless the metric is a sum, to what a full bucket pays for.
func (m *MetricSpec) Bounds() metrickind.Bounds {
	events := int64(m.MaxEventsPerKey)
	if events == 0 {
		events = MostEvents
		if kind := metrickind.Of(m.Kind); !kind.Sums() {
			events = int64(min(MostEvents, m.affordable()))
		}
	}
	return metrickind.Bounds{Events: events, Min: m.Min, Max: m.Max}
}

// affordable returns the largest contribution to one count that a full bucket pays for, at least 1.
func (m *MetricSpec) affordable() uint64 {
	if m.Burst == 0 || m.Top.IsZero() {
		return math.MaxUint64
	}
	most := new(big.Int).Lsh(new(big.Int).SetUint64(uint64(m.Burst)), units.Mu2Bits)
	if most.Quo(most, m.Top.Big()).Sqrt(most); most.IsUint64() {
		return max(1, most.Uint64())
	}
	return math.MaxUint64
}

// Allowance returns the metric's allowance within an account.
func (m *MetricSpec) Allowance() accounts.Allowance {
	return accounts.Allowance{Burst: m.Burst, Refill: m.Refill, Horizon: m.Horizon}
}

// Most returns the largest contribution of one user to one count. The metric's bounds and the size
// of a full bucket limit it.
func (m *MetricSpec) Most() uint64 {
	kind := metrickind.Of(m.Kind)
	if kind.Sums() && m.Min == 0 && m.Max == 0 { // no range is set
		return m.affordable()
	}
	return min(uint64(kind.Sensitivity(m.Bounds())), m.affordable())
}

// Digest returns the SHA-256 of an injective encoding of all fields.
func (m MetricSpec) Digest() [32]byte {
	w := newWriter(nil, KindMetricSpec)
	m.layout(w)
	return sha256.Sum256(w.out)
}

func (m *MetricSpec) layout(w *wire) {
	w.fields("metric name", &m.Name, "metric kind", &m.Kind, "metric filter", &m.Filter, "base metric", &m.Of)
	w.fields("window", &m.WindowSize, "slide", &m.WindowSlide, "lateness", &m.Lateness, "skew", &m.Skew,
		"slack", &m.Slack, "keys per user", &m.MaxKeysPerUser, "events per key", &m.MaxEventsPerKey,
		"least value", &m.Min, "greatest value", &m.Max)
	w.fields("ladder kind", &m.LadderKind, "ladder factor", &m.LadderFactor, "first precision", &m.First,
		"top precision", &m.Top)
	w.fields("relative target", &m.Relative, "absolute target", &m.Absolute, "confidence", &m.Confidence,
		"key mode", &m.KeyMode, "source of keys", &m.KeysFrom)
	list(w, &m.PublicKeys, 1, "public keys", func(key *[]byte, w *wire) { w.bytes(key, MaxKeyBytes, "public keys") })
	ascend(w, m.PublicKeys, "public keys", func(a, b *[]byte) int { return bytes.Compare(*a, *b) })
	w.fields("key delta", &m.DeltaKey, "burst", &m.Burst, "refill", &m.Refill, "horizon", &m.Horizon,
		"period", &m.Period)
}
