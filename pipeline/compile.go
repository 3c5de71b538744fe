package pipeline

import (
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Deployment is a configuration that has been checked and computed: budget,
// ladders, digests. It is read-only and safe for concurrent use.
type Deployment struct {
	cfg     Config
	budget  state.Budget
	metrics []CompiledMetric
	rules   *spend.Rules
}

// CompiledMetric is a metric with everything that was computed for it.
type CompiledMetric struct {
	Spec   schemas.MetricSpec
	Digest [32]byte
	Plan   *noisereduction.Plan
}

// Metrics are the deployment's metrics in configuration order.
func (d *Deployment) Metrics() []CompiledMetric { return d.metrics }

// Budget is every user's budget.
func (d *Deployment) Budget() state.Budget { return d.budget }

// Config is the configuration with its defaults filled in.
func (d *Deployment) Config() Config { return d.cfg }

// Compile checks a configuration and computes budget, ladders and digests.
// Errors: *ConfigError names the field.
func Compile(cfg Config) (*Deployment, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if _, err := schemas.NewEventDecoder(cfg.Events.Format); err != nil {
		return nil, invalid("events", "%v", err)
	}
	d := &Deployment{cfg: cfg}
	if err := d.setBudget(); err != nil {
		return nil, err
	}
	parts, err := split(cfg.Metrics, d.budget)
	if err != nil {
		return nil, err
	}
	var specs []schemas.MetricSpec
	for i := range cfg.Metrics {
		m, err := d.compileMetric(&cfg.Metrics[i], parts[i])
		if err != nil {
			return nil, err
		}
		d.metrics = append(d.metrics, m)
		specs = append(specs, m.Spec)
	}
	d.rules, err = spend.NewRules(d.budget, cfg.Keys.UserHash, specs, cfg.Shards, cfg.ReleaseShards, cfg.LedgerSlots)
	return d, err
}

func (d *Deployment) setBudget() error {
	p := &d.cfg.Privacy
	accountant, err := state.ParseAccountant(p.Accountant)
	if err != nil {
		return invalid("privacy.accountant", "%v", err)
	}
	private := false
	for i := range d.cfg.Metrics {
		private = private || d.cfg.Metrics[i].Keys.Mode == KeysPrivate
	}
	switch {
	case private && p.DeltaKeys == 0:
		p.DeltaKeys = p.Delta / 10
	case !private && p.DeltaKeys != 0:
		return invalid("privacy.delta_keys", "no metric has private keys: leave it out")
	}
	d.budget, err = state.NewBudget(p.Epsilon, p.Delta, accountant, p.DeltaKeys)
	if err != nil {
		return invalid("privacy", "%v", err)
	}
	return nil
}

func (d *Deployment) compileMetric(m *Metric, a allotment) (CompiledMetric, error) {
	t := d.cfg.Time
	spec := schemas.MetricSpec{
		Name: m.Name, Kind: m.Kind,
		WindowSize: m.Window.Milliseconds(), WindowSlide: m.Window.Milliseconds(),
		Lateness: t.Lateness.Milliseconds(), Skew: t.Skew.Milliseconds(), Slack: t.Slack.Milliseconds(),
		MaxKeysPerUser: uint32(m.MaxKeysPerUser), MaxEventsPerKey: uint32(m.MaxEventsPerKey),
		LadderKind: m.Ladder.Kind, LadderFactor: m.Ladder.Factor,
		First: a.first, Top: a.top,
		Relative: m.Target.Relative, Absolute: m.Target.Absolute, Confidence: m.Target.Confidence,
		KeyMode: m.Keys.Mode, PublicKeys: m.publicKeys(), DeltaKey: a.deltaKey,
	}
	ladder := noisereduction.Spec{Kind: noisereduction.Kind(m.Ladder.Kind), Factor: m.Ladder.Factor, First: a.first, Top: a.top, Target: m.Target}
	if m.Keys.Mode == KeysPrivate {
		ladder.Private = &noisereduction.Private{Contribution: uint64(m.MaxEventsPerKey), DeltaKey: a.deltaKey}
	}
	plan, err := noisereduction.Compile(ladder)
	if err != nil {
		return CompiledMetric{}, invalid("metrics."+m.Name, "%v", err)
	}
	return CompiledMetric{Spec: spec, Digest: spec.Digest(), Plan: plan}, nil
}

// header is what a run's HEADER must say.
func (d *Deployment) header() schemas.Header {
	h := schemas.Header{
		Generation:    1,
		UserHash:      schemas.KeyFingerprintOf("user-hash", d.cfg.Keys.UserHash),
		Budget:        d.budget,
		Shards:        uint32(d.cfg.Shards),
		ReleaseShards: uint32(d.cfg.ReleaseShards),
		LedgerSlots:   uint32(d.cfg.LedgerSlots),
		EventsTopic:   d.cfg.Events.Topic,
		UserField:     d.cfg.Events.Format.User,
		Topics: schemas.Topics{
			Counts: d.cfg.Outputs.Counts, Control: d.cfg.Outputs.Control,
			Ledger: d.cfg.Outputs.Ledger, DeadLetter: d.cfg.Outputs.DeadLetter,
		},
	}
	for _, k := range d.cfg.Keys.Noise {
		h.NoiseKeys = append(h.NoiseKeys, schemas.KeyFingerprint{ID: k.ID, FromTurn: 1, Fingerprint: schemas.KeyFingerprintOf("noise", k.Secret)})
	}
	for _, m := range d.metrics {
		h.Metrics = append(h.Metrics, m.Spec)
	}
	return h
}
