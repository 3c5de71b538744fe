package schemas

import (
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// PastGeneration holds the parts of an earlier generation that later generations need. They do not
// include its turns, because no window spans a change.
type PastGeneration struct {
	Metrics []MetricIdentity // meanings of names, which later generations must keep
	// Lateness, Skew and Slack, in milliseconds, apply to the records before Below, even when those
	// records are read again.
	Lateness, Skew, Slack int64
	Below                 []Boundary // cuts of the generation's last turn, by partition, ascending
}

// Boundary is an offset in a partition of the events topic.
type Boundary struct {
	Partition int32
	Offset    int64
}

// MetricIdentity is the meaning of a metric's name. It is fixed for the life of a deployment: a
// metric with a different identity needs a different name.
type MetricIdentity struct {
	Name, Kind, Filter, Of, KeyMode, KeysFrom string
	// Fields describes the event fields that the metric and its filter read, as EventIdentity does.
	Fields                  string
	WindowSize, WindowSlide int64
}

// Identity returns the identity of the header's metric i.
func (h *Header) Identity(i int) MetricIdentity {
	m := &h.Metrics[i]
	id := MetricIdentity{Name: m.Name, Kind: m.Kind, Filter: m.Filter, Of: m.Of, KeyMode: m.KeyMode,
		KeysFrom: m.KeysFrom, WindowSize: m.WindowSize, WindowSlide: m.WindowSlide}
	fields := []string{h.Events.Key, h.Events.Time}
	if metrickind.Of(m.Kind).Values() {
		fields = append(fields, h.Events.Value)
	}
	if i := slices.Index(Filters(h.Metrics), m.Filter); i >= 0 && i < len(h.Events.Filters) {
		fields = append(fields, h.Events.Filters[i])
	}
	id.Fields = strings.Join(fields, "; ")
	return id
}

// MetricAllowance is the allowance of a named metric.
type MetricAllowance struct {
	Metric string
	accounts.Allowance
}

// Allowances returns the allowances of all metrics, in order.
func (h *Header) Allowances() (all []MetricAllowance) {
	for i := range h.Metrics {
		all = append(all, MetricAllowance{h.Metrics[i].Name, h.Metrics[i].Allowance()})
	}
	return all
}

// AsPast returns the parts of this generation that later generations need, except Below.
func (h *Header) AsPast() PastGeneration {
	p := PastGeneration{}
	if len(h.Metrics) > 0 {
		p.Lateness, p.Skew, p.Slack = h.Metrics[0].Lateness, h.Metrics[0].Skew, h.Metrics[0].Slack
	}
	for i := range h.Metrics {
		p.Metrics = append(p.Metrics, h.Identity(i))
	}
	return p
}

// Generation changes a deployment at the end of a turn: Header applies from turn Header.FromTurn
// onward. A Generation is valid only if its epoch is the last EPOCH before it and every turn before
// FromTurn is settled. It revokes every CLOSE from FromTurn onward; these turns have published
// nothing.
type Generation struct {
	Epoch     int64
	CountsEnd []int64 // by release shard: the offset of the generation's first count
	Header    Header
}

func (*Generation) controlKind() Kind { return KindGeneration }

func (g *Generation) layout(w *wire) {
	w.int(&g.Epoch, "epoch")
	w.ints(&g.CountsEnd, "ends of counts")
	g.Header.layout(w)
	w.check(g.Header.Generation >= 2 && g.Header.FromTurn >= 1 && len(g.Header.Past) > 0,
		"a generation without a predecessor")
}

// layoutPast encodes or decodes a header's fields about earlier generations.
func (h *Header) layoutPast(w *wire) {
	w.fields("first turn", &h.FromTurn, "start of the first turn", &h.SliceStart)
	list(w, &h.Past, 5, "past generations", (*PastGeneration).layout)
	list(w, &h.Before, 4, "allowances before", func(a *MetricAllowance, w *wire) {
		w.fields("metric", &a.Metric, "burst", &a.Burst, "refill", &a.Refill, "horizon", &a.Horizon)
	})
}

func (p *PastGeneration) layout(w *wire) {
	list(w, &p.Metrics, 9, "metrics", (*MetricIdentity).layout)
	w.fields("lateness", &p.Lateness, "skew", &p.Skew, "slack", &p.Slack)
	list(w, &p.Below, 2, "boundaries", func(b *Boundary, w *wire) {
		w.fields("partition", &b.Partition, "boundary", &b.Offset)
	})
}

func (m *MetricIdentity) layout(w *wire) {
	w.fields("metric", &m.Name, "kind", &m.Kind, "filter", &m.Filter, "base metric", &m.Of, "key mode", &m.KeyMode,
		"source of keys", &m.KeysFrom, "fields", &m.Fields, "window", &m.WindowSize, "slide", &m.WindowSlide)
}
