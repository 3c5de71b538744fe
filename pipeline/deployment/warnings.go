package deployment

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"sort"
	"time"

	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

const (
	// manyUsers is more users than are behind one key in one window of any stream that a single
	// deployment could have: what only such a count could reach, no count reaches.
	manyUsers = 1_000_000
	year      = 365 * 24 * time.Hour
	// lifelong is longer than any user contributes.
	lifelong = 100 * year
)

// Warnings returns what is valid in a configuration, and under which next to nothing is promised to
// users, nothing can be released, or nothing as exact as was asked for, or a filter compares what
// is never equal: each with a value that would change it, where one was found. It looks at
// no data. Empty for nearly every deployment.
func Warnings(d *Deployment) []*ConfigError {
	all := append(weakPromise(&d.Config.Privacy), unreliableUser(&d.Config.Events.Format)...)
	lifetimes := Lifetimes(d)
	at := 0 // of the metric in d.Metrics
	for i := range d.Config.Metrics {
		m, c := &d.Config.Metrics[i], &d.Metrics[at]
		if reason := d.Config.Events.Format.NeverEqual(m.Filter); reason != "" {
			all = append(all, &ConfigError{Field: "metrics." + m.Name + ".filter", Reason: reason})
		}
		if lifetimes[at].Windows == 0 {
			all = append(all, neverAdmitted(d, m, at))
		} else if u := judge(&d.Config, m, c); u != usable {
			field, reason := describe(u, m, c)
			all = append(all, &ConfigError{Field: "metrics." + m.Name + "." + field, Reason: reason + remedy(d, i, u)})
		}
		at += 1 + len(besideMetric(m, c.Spec, allotment{}))
	}
	return all
}

// unreliableUser warnings a user field that is the time or the value as well: its contents change
// from event to event, so that each event is a user of its own, and no person is protected.
func unreliableUser(f *event.Format) []*ConfigError {
	for _, other := range []string{"time", "value"} {
		if slices.Contains(f.FieldsOf(other), f.User) {
			return []*ConfigError{{Field: "events.user", Reason: fmt.Sprintf(
				"%q is also the %s, so that the events of one person look like those of many users and nothing protects the person: name the field with the person's id", f.User, other)}}
		}
	}
	return nil
}

// neverAdmitted says that one window costs more than the whole budget, and at which σ it would
// not. Only an explicit ladder.sigma can be like that. at is the index of m in d.Metrics.
func neverAdmitted(d *Deployment, m *Metric, at int) *ConfigError {
	worst, _ := m.worst(d.Metrics[at].Spec.Top, besideOf(d, m, at)).Float64()
	budget, _ := new(big.Int).Sub(accountUnits(d.Budget.Mu2), keptOf(d)).Float64()
	return &ConfigError{Field: "metrics." + m.Name + ".ladder.sigma", Reason: fmt.Sprintf(
		"a user who contributes as much as the bounds allow costs %.3g times the whole budget in one window, and never counts: set ladder.sigma: %s, which pays for one window, or lower the bounds",
		worst/budget, atLeastText(m.Ladder.Sigma*math.Sqrt(worst/budget)))}
}

// useless says in what way a metric's counts are of no use.
type useless int

const (
	usable         useless = iota
	hidden                 // no private key passes its threshold
	vague                  // the most exact count says nothing
	beyondTarget           // no count meets the absolute target
	beyondLifetime         // the budget is divided over more windows than anybody lives
)

// judge says whether the counts of a metric are of use. No data enter.
func judge(cfg *Config, m *Metric, c *CompiledMetric) useless {
	most := manyUsers * float64(m.contribution())
	switch {
	case m.Keys.Mode == KeysPrivate && c.Plan.Threshold() > most:
		return hidden
	case c.Plan.Within() > most:
		return vague
	case m.Target.Relative == 0 && m.Target.Absolute > 0 && math.IsInf(c.Plan.MeetableFrom(), 1):
		return beyondTarget
	case cfg.Privacy.Period == 0 && m.Ladder.Sigma == 0 && float64(m.LastAtLeast)*float64(m.Slide) > float64(lifelong):
		return beyondLifetime
	}
	return usable
}

// describe returns the field that makes a metric's counts useless, and what that means.
func describe(u useless, m *Metric, c *CompiledMetric) (field, reason string) {
	field = "last_at_least"
	said := fmt.Sprintf("%d windows leave so little precision for one of them that ", m.LastAtLeast)
	switch {
	case m.Ladder.FirstSigma > 0 && u == hidden:
		field, said = "ladder.first_sigma", fmt.Sprintf("the first rung, at a σ of %v, is so coarse that ", m.Ladder.FirstSigma)
	case m.Ladder.Sigma > 0:
		field, said = "ladder.sigma", fmt.Sprintf("a σ of %v is so coarse that ", m.Ladder.Sigma)
	}
	within := c.Plan.Within()
	switch u {
	case hidden:
		return field, fmt.Sprintf("%sa key is only released with a count above %.0f: more than a million users who contribute as much as the bounds allow", said, c.Plan.Threshold())
	case vague:
		return field, fmt.Sprintf("%sthe most exact count has an error of ± %.0f: the contributions of more than a million users", said, within)
	case beyondTarget:
		return "target.absolute", fmt.Sprintf("no count can meet it: the most exact one has an error of ± %s at %v %%, more than ± %v; absolute: %s can be met",
			atLeastText(within), 100*m.Target.Confidence, m.Target.Absolute, atLeastText(within))
	}
	years := float64(m.LastAtLeast) * float64(m.Slide) / float64(year)
	return field, fmt.Sprintf("the budget is divided over %d windows, which take %.0f years: no user contributes for so long", m.LastAtLeast, years)
}

// remedy returns what would end a warning about metric i, as the end of a sentence: the first of
// some changes that does. "" where none does.
func remedy(d *Deployment, i int, u useless) string {
	budget := d.Budget
	works := func(change func(m *Metric)) bool {
		cfg := d.Config
		cfg.Metrics = append([]Metric(nil), cfg.Metrics...)
		m := &cfg.Metrics[i]
		change(m)
		if len(m.Keys.List) > 1 {
			m.Keys.List = m.Keys.List[:1] // no figure depends on them
		}
		parts, err := split(cfg.Metrics, budget)
		if err != nil {
			return false
		}
		compiled, err := compileMetric(&Deployment{Config: cfg, Budget: budget}, m, parts[i])
		if err != nil {
			return false
		}
		return judge(&cfg, m, &compiled[0]) != u
	}
	m := &d.Config.Metrics[i]
	yearly := max(int(year/m.Slide), 1)
	most := sort.Search(m.LastAtLeast, func(n int) bool { return !works(func(m *Metric) { m.LastAtLeast = n + 1 }) })
	switch {
	case most > yearly && m.LastAtLeast > yearly:
		return fmt.Sprintf("; last_at_least: %d is a year of windows", yearly)
	case most > 0 && most < m.LastAtLeast:
		return fmt.Sprintf("; last_at_least: %d or less avoids this", most)
	case m.Ladder.FirstSigma > 0 && works(func(m *Metric) { m.Ladder.FirstSigma = 0 }):
		return "; leaving ladder.first_sigma out avoids this"
	}
	if m.Ladder.Sigma > 0 {
		for sigma := m.Ladder.Sigma; sigma > 1e-3; sigma /= 2 {
			if works(func(m *Metric) { m.Ladder.Sigma = sigma }) {
				return fmt.Sprintf("; ladder.sigma: %.3g avoids this", sigma)
			}
		}
	}
	return remedyByEpsilon(d, works, &budget)
}

// remedyByEpsilon looks for an ε, up to a thousand times the present one and as long as it is not
// doubtful itself. works is asked with the budget of each.
func remedyByEpsilon(d *Deployment, works func(func(*Metric)) bool, budget *budgets.Budget) string {
	p := &d.Config.Privacy
	for times := 2.0; times <= 1024 && Recommended(p.Epsilon*times, p.Delta); times *= 2 {
		more, err := budgets.NewBudget(p.Epsilon*times, p.Delta, d.Budget.Accountant, p.DeltaKeys)
		if err == nil {
			more, err = more.Plan(p.Planned)
		}
		if err != nil {
			return ""
		}
		if *budget = more; works(func(*Metric) {}) {
			return fmt.Sprintf("; privacy.epsilon: %.3g avoids this", p.Epsilon*times)
		}
	}
	return ""
}
