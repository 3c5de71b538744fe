package deployment

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/release"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Deployment is a valid configuration with the numbers computed from it. It is passive data, from
// which every stage of a run is constructed. Compile makes a Deployment, which is then read-only
// and safe for concurrent use.
type Deployment struct {
	Config  Config                // with its defaults filled in
	Budget  budgets.Budget        // budget of every user
	Metrics []CompiledMetric      // in configuration order; each is followed by the metrics derived from it
	Events  schemas.EventIdentity // assumptions about records
	Sums    Sums                  // selects the events whose values must be kept one by one
}

// CompiledMetric is a configured or derived metric with the numbers computed for it.
type CompiledMetric struct {
	Spec   schemas.MetricSpec // definition
	Digest [32]byte           // digest of Spec
	Plan   *noisereduction.Plan
	Extra  []schemas.MetricSpec // further components of its counts
	Scale  *metrickind.Scale    // scale of the trees of its counts; nil if they have none
}

// Compile checks a configuration, fills in its defaults, and computes the budget, the metrics'
// allotments, ladders and digests. It contacts no broker. Errors: *ConfigError names the field.
func Compile(cfg Config) (*Deployment, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	d := &Deployment{Config: cfg}
	if err := setBudget(d); err != nil {
		return nil, err
	}
	parts, err := split(&cfg, d.Budget)
	if err != nil {
		return nil, err
	}
	for i := range cfg.Metrics {
		compiled, err := compileMetric(d, &cfg.Metrics[i], parts[i])
		if err != nil {
			return nil, inMetric(i, err)
		}
		d.Metrics = append(d.Metrics, compiled...)
	}
	specs := d.Specs()
	if d.Config.Events.Format.Filters = schemas.Filters(specs); len(d.Config.Events.Format.Filters) > maxFilters {
		return nil, Invalid("Metrics", "they have %d different filters, and at most %d are possible: use one filter "+
			"for several metrics, or two deployments", len(d.Config.Events.Format.Filters), maxFilters)
	}
	if err := checkFormat(d); err != nil {
		return nil, err
	}
	if err := cfg.checkCounts(); err != nil { // after checkFormat: counts may use the events' registry
		return nil, err
	}
	d.Sums = sumsOf(specs)
	_, err = spend.NewRules(d.Budget, cfg.Keys.UserHash.Reveal(), specs, cfg.Shards, cfg.ReleaseShards, cfg.LedgerSlots)
	return d, err
}

// CheckNew returns an error if no new deployment can begin with the configuration. An existing
// deployment may still be able to continue with it.
func (d *Deployment) CheckNew() error {
	if _, err := budgets.ParseAccountant(d.Config.Privacy.Accountant); err != nil {
		return Invalid("Privacy.Accountant", "%v. If the deployment has begun, correct %s and %s", err,
			field("Kafka.Brokers"), field("Outputs.Control"))
	}
	return nil
}

// Sums selects the events whose values are kept one by one: those that count in a metric whose kind
// is in metrickind.Valued.
type Sums struct {
	all     bool   // every event: at least one of these metrics has no filter
	filters uint64 // bit set of the filters of the other metrics
}

func sumsOf(metrics []schemas.MetricSpec) Sums {
	var s Sums
	filters := schemas.Filters(metrics)
	for i := range metrics {
		switch m := &metrics[i]; {
		case !metrickind.Of(m.Kind).Values():
		case m.Filter == "":
			s.all = true
		default:
			s.filters |= 1 << slices.Index(filters, m.Filter)
		}
	}
	return s
}

// Includes reports whether a metric of a kind with values counts the event.
func (s *Sums) Includes(e *event.Event) bool { return s.all || e.Passes&s.filters != 0 }

// checkFormat sets Deployment.Events. It returns an error if no decoder reads the event format. An
// encoding with schemas, such as Avro, needs either a schema file or a registry.
func checkFormat(d *Deployment) (err error) {
	e := &d.Config.Events
	if d.Events, err = e.Format.Identity(e.Registry.identity()); err != nil {
		var bad *event.FormatError
		if errors.As(err, &bad) {
			return d.formatError(bad)
		}
		return Invalid("Events", "%v", err)
	}
	switch format := event.EncodingOf(e.Format.Format); {
	case format.Schemas() && e.Format.Schema == "" && e.Registry == nil:
		return Invalid("Events.Format.Schema", "%s events need the schema that they were written with: give an %s "+
			"file, or a registry", format.Name, format.SchemaFile)
	case format.Schemas() && e.Format.Schema != "" && e.Registry != nil:
		return Invalid("Events.Registry", "%s events take their schema from a file or from a registry: remove one of "+
			"the two", format.Name)
	case !format.Schemas() && e.Registry != nil:
		return Invalid("Events.Registry", "only %s events have a schema: remove the registry",
			event.Listed(event.Encoding.Schemas, " and "))
	case e.Registry != nil:
		return e.Registry.check("Events.Registry")
	}
	return nil
}

// formatError converts an error in the events' format to an error in the configuration.
func (d *Deployment) formatError(bad *event.FormatError) error {
	for i := range d.Config.Metrics {
		filter := slices.Index(d.Config.Events.Format.Filters, d.Config.Metrics[i].Filter)
		if filter >= 0 && bad.Field == fmt.Sprintf("filters[%d]", filter) {
			return inMetric(i, Invalid("Filter", "%s", bad.Reason))
		}
	}
	path := "Events.Format."
	for part := range strings.SplitSeq(bad.Field, "_") {
		path += strings.ToUpper(part[:1]) + part[1:]
	}
	return Invalid(path, "%s", bad.Reason)
}

// compileMetric returns the compiled metric, followed by the metrics derived from it.
func compileMetric(d *Deployment, m *Metric, a allotment) ([]CompiledMetric, error) {
	t := d.Config.Time
	spec := schemas.MetricSpec{
		Name: m.Name, Kind: m.Kind, Filter: m.Filter,
		WindowSize: m.Window.Milliseconds(), WindowSlide: m.Slide.Milliseconds(),
		Lateness: t.Lateness.Milliseconds(), Skew: t.Skew.Milliseconds(), Slack: t.Slack.Milliseconds(),
		MaxKeysPerUser: uint32(m.MaxKeysPerUser), MaxEventsPerKey: uint32(m.MaxEventsPerKey),
		Min: m.Min, Max: m.Max,
		LadderKind: m.Ladder.Kind, LadderFactor: m.Ladder.Factor,
		First: a.first, Top: a.top,
		Relative: m.Target.Relative, Absolute: m.Target.Absolute, Confidence: m.Target.Confidence,
		KeyMode: m.Keys.Mode, KeysFrom: m.Keys.From, PublicKeys: m.publicKeys(), DeltaKey: a.deltaKey,
		Burst: a.allowance.Burst, Refill: a.allowance.Refill, Horizon: a.allowance.Horizon,
	}
	if kind := metrickind.Of(m.Kind); kind.Tree != nil && m.Target.Absolute > 0 {
		spec.Relative, spec.Absolute = kind.Tree.Aim(m.scale(), m.ranks(), m.Target.Absolute, m.Target.Confidence), 0
	}
	if d.Config.Privacy.Period > 0 {
		spec.Period = d.Config.Privacy.Period.String()
	}
	first, err := compileSpec(spec)
	if err == nil {
		first.Extra, err = extraSpecs(m, spec)
		first.Scale = m.scale()
	}
	if err != nil {
		return nil, err
	}
	all := []CompiledMetric{first}
	for _, spec := range derivedSpecs(m, spec, a) {
		compiled, err := compileSpec(spec)
		if err != nil {
			return nil, err
		}
		all = append(all, compiled)
	}
	return all, nil
}

// derivedSpecs returns the definitions of the metrics derived from a metric: its share of counted
// events, if configured, and its statistics.
func derivedSpecs(m *Metric, spec schemas.MetricSpec, a allotment) (all []schemas.MetricSpec) {
	if m.Counted != nil {
		share, target := spec, m.Counted.Target
		share.Name, share.Kind, share.Of = countedName(m.Name), metrickind.Sharing().Name, m.Name
		share.MaxKeysPerUser, share.MaxEventsPerKey, share.Min, share.Max = 2, uint32(a.countedEvents), 0, 0
		share.Burst, share.Refill, share.Horizon = a.counted.Burst, a.counted.Refill, a.counted.Horizon
		share.LadderKind, share.LadderFactor = "adaptive", 2
		share.KeyMode, share.KeysFrom, share.DeltaKey = KeysPublic, "", units.Delta{}
		share.PublicKeys = [][]byte{[]byte(metrickind.EventsCounted), []byte(metrickind.EventsLeftOut)}
		share.First, share.Top = a.countedFirst, a.countedTop
		share.Relative, share.Absolute, share.Confidence = target.Relative, target.Absolute, target.Confidence
		all = append(all, share)
	}
	return append(all, m.statistics(spec)...)
}

// extraSpecs returns the definitions of the further components of a metric's counts.
func extraSpecs(m *Metric, first schemas.MetricSpec) (all []schemas.MetricSpec, err error) {
	for _, kind := range m.extraSums() {
		sum := componentOf(first, kind)
		if sum.Top, err = units.PrecisionFromBig(topOf(kind, first.Bounds(), first.Top, m.scale())); err != nil {
			return nil, fmt.Errorf("computing the precision of metric %s: %w", sum.Name, err)
		}
		sum.First = sum.Top
		if least, err := release.ExtraPrecision(&first, &sum, first.First); err != nil ||
			least.Cmp(leastExtra) < 0 {
			return nil, Invalid("Max", "the range from min to max is too wide for the budget: give values in a "+
				"coarser unit, or move min and max closer together")
		}
		all = append(all, sum)
	}
	if tree := metrickind.Of(first.Kind).Tree; tree != nil {
		nodes := componentOf(first, metrickind.Of(m.nodesKind()))
		nodes.PublicKeys = schemas.EdgeKeys(m.edges())
		if nodes.Top, err = units.PrecisionFromBig(topOfNodes(first.Top)); err != nil {
			return nil, fmt.Errorf("computing the precision of metric %s: %w", nodes.Name, err)
		}
		nodes.First = nodes.Top
		all = append(all, nodes)
	}
	return all, nil
}

// componentOf returns the definition of a component of a metric's counts. It has the precisions of
// the first component until the caller sets its own.
func componentOf(first schemas.MetricSpec, kind metrickind.Kind) schemas.MetricSpec {
	part := first
	part.Name, part.Kind, part.Of = kind.Beside(first.Name), kind.Name, first.Name
	part.LadderKind, part.LadderFactor = "geometric", 2
	part.Relative, part.Absolute = 0, 0
	part.MaxEventsPerKey = uint32(first.Bounds().Events)
	part.Burst, part.Refill, part.Horizon = 0, 0, 0
	part.KeyMode, part.KeysFrom, part.PublicKeys, part.DeltaKey = KeysFrom, first.Route(), nil, units.Delta{}
	return part
}

// leastExtra is slightly above the lowest precision at which a further component can be drawn.
var leastExtra = units.Precision{Lo: 1 << 10}

// countedName returns the name under which a metric's share of counted events is released.
func countedName(metric string) string { return metrickind.Sharing().Beside(metric) }

func compileSpec(spec schemas.MetricSpec) (CompiledMetric, error) {
	plan, err := release.PlanOf(&spec)
	if err != nil {
		return CompiledMetric{}, Invalid("", "%v", err)
	}
	return CompiledMetric{Spec: spec, Digest: spec.Digest(), Plan: plan}, nil
}

// Metric returns the compiled metric with the given name, or nil.
func (d *Deployment) Metric(name string) *CompiledMetric {
	for i := range d.Metrics {
		if d.Metrics[i].Spec.Name == name {
			return &d.Metrics[i]
		}
	}
	return nil
}

// Specs returns the definitions of the deployment's metrics, in the order of Deployment.Metrics,
// followed by the definitions of further components.
func (d *Deployment) Specs() []schemas.MetricSpec {
	specs := make([]schemas.MetricSpec, len(d.Metrics))
	for i := range d.Metrics {
		specs[i] = d.Metrics[i].Spec
	}
	for i := range d.Metrics {
		specs = append(specs, d.Metrics[i].Extra...)
	}
	return specs
}

// Plans returns the ladders of Deployment.Metrics, in the same order.
func (d *Deployment) Plans() []*noisereduction.Plan {
	plans := make([]*noisereduction.Plan, len(d.Metrics))
	for i := range d.Metrics {
		plans[i] = d.Metrics[i].Plan
	}
	return plans
}

// FirstWindow returns the time at which the first windows of a deployment begin, in UTC. It rounds
// start down to a multiple of LeastSlide on the clock of Time.WindowZone.
func FirstWindow(d *Deployment, start time.Time) time.Time {
	return time.UnixMilli(wallclock.Of(d.Config.Time.WindowZone).Truncate(start.UnixMilli(), LeastSlide(d))).UTC()
}

// LeastSlide returns the least slide of all metrics, in milliseconds.
func LeastSlide(d *Deployment) int64 {
	least := int64(math.MaxInt64)
	for i := range d.Metrics {
		least = min(least, d.Metrics[i].Spec.WindowSlide)
	}
	return least
}
