package schemas

import (
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// PastGeneration is what later generations must know of an earlier one. No window reaches over a
// change, so that is nothing of its turns.
type PastGeneration struct {
	Metrics []MetricIdentity // names that keep their meaning
	// Lateness, Skew and Slack, in milliseconds, decide about the records below Below, even if they
	// are read again.
	Lateness, Skew, Slack int64
	// Below is the cut of the generation's last turn, by partition, ascending.
	Below []Boundary
}

// Boundary is an offset in a partition of the events topic.
type Boundary struct {
	Partition int32
	Offset    int64
}

// MetricIdentity is the fixed meaning of a metric's name for a deployment's whole life: a metric
// with another identity must have another name.
type MetricIdentity struct {
	Name, Kind, Filter, Of, KeyMode, KeysFrom string
	// Fields lists the fields of an event that the metric reads, including its filter's, with their
	// places and decodings, see EventIdentity.
	Fields                  string
	WindowSize, WindowSlide int64
}

// Identity returns the identity of the header's metric i.
func (h *Header) Identity(i int) MetricIdentity {
	m := &h.Metrics[i]
	id := MetricIdentity{Name: m.Name, Kind: m.Kind, Filter: m.Filter, Of: m.Of, KeyMode: m.KeyMode,
		KeysFrom:   m.KeysFrom,
		WindowSize: m.WindowSize, WindowSlide: m.WindowSlide}
	fields := []string{h.Events.Key, h.Events.Time}
	if metrickind.Of(m.Kind).Values() {
		fields = append(fields, h.Events.Value)
	}
	if at := slices.Index(Filters(h.Metrics), m.Filter); at >= 0 && at < len(h.Events.Filters) {
		fields = append(fields, h.Events.Filters[at])
	}
	id.Fields = strings.Join(fields, "; ")
	return id
}

// MetricAllowance is the allowance of a metric.
type MetricAllowance struct {
	Metric string
	accounts.Allowance
}

// Allowances returns the allowances of all metrics, in their order.
func (h *Header) Allowances() (all []MetricAllowance) {
	for i := range h.Metrics {
		all = append(all, MetricAllowance{h.Metrics[i].Name, h.Metrics[i].Allowance()})
	}
	return all
}

// AsPast returns what later generations keep of this one.
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

// Generation changes a deployment at the end of a turn: its Header is in force from the turn
// Header.FromTurn. It counts only if its epoch is the last EPOCH before it and every turn before
// FromTurn is settled. It revokes every CLOSE of FromTurn and later turns, which have published
// nothing.
type Generation struct {
	Epoch int64
	// CountsEnd is the offset, by release shard, at which the counts of the generation begin.
	CountsEnd []int64
	Header    Header
}

func (*Generation) controlKind() Kind { return KindGeneration }

func (g *Generation) layout(w *wire) {
	w.int(&g.Epoch, "epoch")
	w.ints(&g.CountsEnd, "ends of counts")
	g.Header.layout(w)
	w.check(g.Header.Generation >= 2 && g.Header.FromTurn >= 1 && len(g.Header.Past) > 0,
		"a generation without one before it")
}

// layoutPast moves a header's fields about earlier generations.
func (h *Header) layoutPast(w *wire) {
	w.uint(&h.FromTurn, "first turn")
	w.int(&h.SliceStart, "start of the first turn")
	list(w, &h.Past, 5, "past generations", (*PastGeneration).layout)
	list(w, &h.Before, 4, "allowances before", func(a *MetricAllowance, w *wire) {
		w.text(&a.Metric, "metric")
		w.uint((*uint64)(&a.Burst), "burst")
		w.uint((*uint64)(&a.Refill), "refill")
		w.int(&a.Horizon, "horizon")
	})
}

func (p *PastGeneration) layout(w *wire) {
	list(w, &p.Metrics, 9, "metrics", (*MetricIdentity).layout)
	for _, ms := range [...]*int64{&p.Lateness, &p.Skew, &p.Slack} {
		w.int(ms, "lateness")
	}
	list(w, &p.Below, 2, "boundaries", func(b *Boundary, w *wire) {
		w.int32(&b.Partition, "partition")
		w.int(&b.Offset, "boundary")
	})
}

func (m *MetricIdentity) layout(w *wire) {
	for _, text := range [...]*string{&m.Name, &m.Kind, &m.Filter, &m.Of, &m.KeyMode, &m.KeysFrom, &m.Fields} {
		w.text(text, "metric")
	}
	w.int(&m.WindowSize, "window")
	w.int(&m.WindowSlide, "slide")
}
